"""How a published metric is read from our runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np
import polars as pl

from analysis.compare.statistics import mean_interval
from analysis.front import Results
from binwright.reproduction.verdict import Value
from simcore.vocabulary import Floats


@dataclass(frozen=True)
class Runs:
    """Holds the runs of one condition, written `key=value;...`; `labels` maps published agents to ours."""

    results: Results
    labels: Mapping[str, str]
    condition: str = ""

    def of(self, agent: str) -> pl.DataFrame:
        """Select the finished runs of a published agent, by seed."""
        return self.results.done.filter(pl.col("agent") == self.labels[agent]).sort("seed")

    def values(self, agent: str, column: str) -> Floats:
        """Read a column of the finished runs of a published agent, float64 [seeds]."""
        return self.of(agent)[column].to_numpy().astype(np.float64)


Measure = Callable[[Runs, str], Value]
"""Reads a value from the runs of a condition, for a published agent."""


def averaged(values: Floats) -> Value:
    """Average [seeds] values, with the 95 % interval of their mean."""
    mean, half = mean_interval(values)
    known = isfinite(half)
    low, high = (float(mean - half), float(mean + half)) if known else (None, None)
    return Value(float(mean), low, high, len(values))


def mean_of(column: str, scale: float = 1.0) -> Measure:
    """Measure the mean of a column of runs.parquet, times `scale`."""
    return lambda runs, agent: averaged(scale * runs.values(agent, column))


def gain_of(column: str, base: str) -> Measure:
    """Measure by how many percent the mean of a column is above that of the agent `base`, paired by seed.

    The interval is that of the ratio of two means (delta method).
    """

    def measure(runs: Runs, agent: str) -> Value:
        pairs = runs.of(agent).join(runs.of(base), on="seed", suffix=" of base").sort("seed")
        own, other = (pairs[name].to_numpy().astype(np.float64) for name in (column, f"{column} of base"))
        ratio = own.mean() / other.mean()
        spread = averaged(own - ratio * other)
        half = None if spread.high is None else 100 * spread.high / other.mean()
        gain = round(float(100 * (ratio - 1)), 9)  # no gain is 0, whatever floats make of it
        low, high = (None, None) if half is None else (gain - round(half, 9), gain + round(half, 9))
        return Value(gain, low, high, len(own))

    return measure
