"""Draws random numbers in kernels."""

from __future__ import annotations

import numpy as np

from binwright.simcore.jit import kernel
from binwright.simcore.types import Floats


@kernel
def drawn(stream: Floats) -> float:
    """Return the next number of a stream, in [0, 1), by SplitMix64; changes `stream` float64 [2], a seed and a count.

    Whole numbers below 2**53, so that floats hold them exactly.
    """
    stream[1] += 1.0
    mixed = np.uint64(stream[0]) + np.uint64(stream[1]) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) / 2.0**53
