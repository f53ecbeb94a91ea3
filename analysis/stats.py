"""Means with intervals, and paired comparison."""

from __future__ import annotations

from math import inf, nan, sqrt

import numpy as np
from scipy.special import stdtrit

from simcore.vocabulary import Floats

CONFIDENCE = 0.95


def mean_interval(values: Floats) -> tuple[float, float]:
    """Mean and half width of its 95 % t interval; the half width of a single value is infinite.

    Values that are all the same give a half width of 0, NaN anywhere gives NaN.
    """
    n = len(values)
    if n == 0:
        return nan, nan
    mean = float(np.mean(values))
    if n == 1:
        return mean, inf
    return mean, float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * float(np.std(values, ddof=1)) / sqrt(n)


def differ(values: Floats, others: Floats) -> bool:
    """Do paired values differ, as far as a 95 % t interval of the mean difference can tell?"""
    mean, half = mean_interval(values - others)
    return abs(mean) > half
