"""How a published metric is read from our runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import isfinite

import numpy as np
import polars as pl

from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.results.folder import ResultsFolder
from binwright.analysis.results_api import Results
from binwright.reproduction.claims import Value
from binwright.simcore.types import Floats, Ints

DRAWS = 10_000
"""How often blocks are drawn for an interval."""


@dataclass(frozen=True)
class Runs:
    """Holds the runs that answer a published condition, written `key=value;...`, which `title` says in words.

    `labels` maps published agents to ours.
    """

    results: Results
    labels: Mapping[str, str]
    title: str = ""
    condition: str = ""

    def of(self, agent: str) -> pl.DataFrame:
        """Select the finished runs of a published agent, by seed."""
        return self.results.done.filter(pl.col("agent") == self.labels[agent]).sort("seed")

    def named(self, agents: Sequence[str] = ()) -> ResultsFolder:
        """Give the results with published names instead of our labels, of these agents (default: all)."""
        renamed = copy(self.results)
        renamed.runs = pl.concat(
            self.results.runs.filter(pl.col("agent") == self.labels[agent]).with_columns(agent=pl.lit(agent))
            for agent in agents or self.labels
            if agent in self.labels
        )
        return renamed

    def values(self, agent: str, *columns: str) -> Floats:
        """Read a column, the first of these that there is, of an agent's finished runs, float64 [seeds]."""
        return _column(self.of(agent), columns)


Measure = Callable[[Runs, str], Value]
"""Reads a value from the runs of a condition, for a published agent."""


def averaged(values: Sequence[float] | Floats) -> Value:
    """Average the values of seeds, with the 95 % interval of their mean."""
    mean, half = mean_interval(np.array(values, np.float64))
    low, high = (float(mean - half), float(mean + half)) if isfinite(half) else (None, None)
    return Value(float(mean), low, high, len(values))


def exact(values: Floats, digits: int | None = None) -> Value:
    """Average values of which none is left to chance, rounded as it is printed: it is to be the same number."""
    mean = float(values.mean())
    return Value(mean if digits is None else round(mean, digits), None, None, len(values))


def mean_of(*columns: str, scale: float = 1.0, rows: int = 0) -> Measure:
    """Measure the mean of a column of runs.parquet, the first of these that there is, times `scale`.

    Runs that end within so many `rows` of one trace end by the same events: they are a block of `of_blocks`.
    """

    def measure(runs: Runs, agent: str) -> Value:
        values = scale * runs.values(agent, *columns)
        if not rows:
            return averaged(values)
        mean, low, high = of_blocks(values, np.ones(len(values)), ends_of(runs.of(agent)["windows"]) // rows)
        return Value(1 + mean, 1 + low, 1 + high, len(values))

    return measure


def gain_of(base: str, *columns: str, rows: int = 0) -> Measure:
    """Measure by how many percent the mean of such a column is above that of the agent `base`, paired by seed.

    With `rows`, the runs of `base` that end within so many rows of one trace are a block of `of_blocks`.
    """

    def measure(runs: Runs, agent: str) -> Value:
        pairs = runs.of(agent).join(runs.of(base), on="seed", suffix=" of base").sort("seed")
        column = next(each for each in columns if each in pairs.columns)
        own, other = (_column(pairs, (name,)) for name in (column, f"{column} of base"))
        gain, *ends, seeds = above(own, other)
        if rows:
            gain, *ends = of_blocks(own, other, ends_of(pairs["windows of base"]) // rows)
            seeds = len(own)
        # Rounded, so that no gain is 0, whatever floats make of it.
        low, high = (None if end is None else round(100 * end, 9) for end in ends)
        return Value(round(100 * gain, 9), low, high, seeds)

    return measure


def total_wait(trimmed: int = 0) -> Measure:
    """Measure the mean of the total waits of all runs, but a share of 1/`trimmed` at each end.

    Waits are whole seconds, so that their sum is exact.
    """

    def measure(runs: Runs, agent: str) -> Value:
        waits = sorted(runs.of(agent)["wait_total"].to_list())
        cut = len(waits) // trimmed if trimmed else 0
        inner = waits[cut : len(waits) - cut]
        return Value(sum(inner) / len(inner), None, None, len(waits))

    return measure


def above(own: Floats, other: Floats) -> Value:
    """Measure by what share the mean of values is above that of others, both [seeds], with the interval of that.

    The interval is that of the ratio of two means (delta method). There are no seeds in it where the other mean is 0.
    """
    if not len(other) or other.mean() == 0:
        return Value(float("nan"), None, None, 0)
    ratio = own.mean() / other.mean()
    spread, gain = averaged(own - ratio * other), float(ratio - 1)
    if spread.high is None:
        return Value(gain, None, None, len(own))
    half = float(abs(spread.high / other.mean()))
    return Value(gain, gain - half, gain + half, len(own))


def of_blocks(values: Floats, base: Floats, blocks: Ints) -> tuple[float, float, float]:
    """Compare means of which whole blocks depend on the same events: the ratio less one, and its 95 % interval.

    The interval is that of blocks drawn with replacement. All three arrays have one shape, and an entry of `blocks`
    says to which one the others belong.
    """
    names, of = np.unique(blocks, return_inverse=True)
    own, other = (np.bincount(of.ravel(), value.ravel(), len(names)) for value in (values, base))
    drawn = np.random.default_rng(0).multinomial(len(names), np.full(len(names), 1 / len(names)), DRAWS)
    low, high = np.percentile((drawn * own).sum(axis=1) / (drawn * other).sum(axis=1) - 1, [2.5, 97.5]).tolist()
    return float(own.sum() / other.sum() - 1), low, high


def ends_of(windows: pl.Series) -> Ints:
    """Read in a column `windows` the last row of its trace that each run met, int64 [runs]."""
    ends: Ints = windows.str.split("-").list.last().cast(pl.Int64).to_numpy()
    return ends


def _column(runs: pl.DataFrame, columns: Sequence[str]) -> Floats:
    """Read the first of these columns that there is, float64 [runs]."""
    return runs[next(each for each in columns if each in runs.columns)].to_numpy().astype(np.float64)
