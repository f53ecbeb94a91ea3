"""Writes what the tables of several benchmarks have in their cells."""

from __future__ import annotations

from analysis.compare.statistics import mean_interval
from simcore.vocabulary import Floats


def cell(values: Floats, decimals: int = 2, signed: bool = False) -> str:
    """Write the mean of values, float64 [n], ± half of its 95 % interval where there are several."""
    mean, half = mean_interval(values)
    said = f"{mean:{'+' if signed else ''}.{decimals}f}"
    return said if len(values) < 2 else f"{said} ± {half:.{decimals}f}"
