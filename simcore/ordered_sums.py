"""Adds up numbers in an order that depends on nothing but how many they are.

Matrix products (`@`, `np.dot`) add up in as many parts as BLAS has threads, and in an order that differs from processor
to processor: their last digits do, too. So no result comes from one of floats.
"""

from typing import Any

import numpy as np
import numpy.typing as npt


def dot(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> float:
    """Add up the products of two columns [n]."""
    return float(np.multiply(left, right, dtype=np.float64).sum())


def rows_dot(rows: npt.NDArray[Any], column: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Add up the products of each of `rows` [n, k] and a column [k], float64 [n]."""
    sums: npt.NDArray[np.float64] = np.multiply(rows, column, dtype=np.float64).sum(axis=1)
    return sums
