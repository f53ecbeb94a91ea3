"""How a published metric is read from our runs."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import isfinite

import numpy as np
import polars as pl
from scipy.stats import trim_mean

from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.results.folder import ResultsFolder
from binwright.analysis.results_api import Results
from binwright.fabric.fragmentation import CAUSES, USABLE
from binwright.reproduction.claims import Value, keys_of
from binwright.simcore.types import Floats, Ints
from binwright.workloads.offline import DRAWN, items_of


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
        """Compute an SQL expression of columns, the first of these that can be, of an agent's runs, float64 [seeds]."""
        return column_of(self.of(agent), columns)


Measure = Callable[[Runs, str], Value]
"""Reads a value from the runs of a condition, for a published agent."""


def column_of(runs: pl.DataFrame, columns: Sequence[str]) -> Floats:
    """Compute the first of these SQL expressions whose columns there are, float64 [runs]."""
    expressions = map(pl.sql_expr, columns)
    first = next(each for each in expressions if set(each.meta.root_names()) <= set(runs.columns))
    return runs.select(first).to_series().to_numpy().astype(np.float64)


def averaged(values: Sequence[float] | Floats) -> Value:
    """Average the values of seeds, with the 95 % interval of their mean."""
    mean, half = mean_interval(np.array(values, np.float64))
    low, high = (float(mean - half), float(mean + half)) if isfinite(half) else (None, None)
    return Value(float(mean), low, high, len(values))


def exact_of(column: str, digits: int = 15, trimmed: float = 0.0) -> Measure:
    """Measure the mean of an SQL expression of columns, of runs that leave nothing to chance: there is no interval.

    It is rounded as it is printed; a share `trimmed` of the runs is left out at each end.
    """

    def measure(runs: Runs, agent: str) -> Value:
        values = runs.values(agent, column)
        return Value(round(float(trim_mean(values, trimmed)), digits), None, None, len(values))

    return measure


def mean_of(*columns: str, rows: int = 0) -> Measure:
    """Measure the mean of an SQL expression of columns of runs.parquet, the first of these that can be computed.

    Runs that end within so many `rows` of one trace end by the same events: they are a block of `of_blocks`.
    """

    def measure(runs: Runs, agent: str) -> Value:
        values = runs.values(agent, *columns)
        if not rows:
            return averaged(values)
        mean, low, high = of_blocks(values, np.ones(len(values)), ends_of(runs.of(agent)["windows"]) // rows)
        return Value(1 + mean, 1 + low, 1 + high, len(values))

    return measure


def gain_of(base: str, *columns: str, rows: int = 0) -> Measure:
    """Measure by how many percent such a mean is above that of the agent `base`, paired by seed.

    With `rows`, the runs of `base` that end within so many rows of one trace are a block of `of_blocks`.
    """

    def measure(runs: Runs, agent: str) -> Value:
        both = set(runs.of(agent)["seed"]) & set(runs.of(base)["seed"])
        own, other = (runs.of(name).filter(pl.col("seed").is_in(both)) for name in (agent, base))
        gain, *ends, seeds = above(values := column_of(own, columns), others := column_of(other, columns))
        if rows:
            gain, *ends = of_blocks(values, others, ends_of(other["windows"]) // rows)
            seeds = len(values)
        # Rounded, so that no gain is 0, whatever floats make of it.
        low, high = (None if end is None else round(100 * end, 9) for end in ends)
        return Value(round(100 * gain, 9), low, high, seeds)

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
    drawn = np.random.default_rng(0).multinomial(len(names), np.full(len(names), 1 / len(names)), size=10_000)
    low, high = np.percentile((drawn * own).sum(axis=1) / (drawn * other).sum(axis=1) - 1, [2.5, 97.5]).tolist()
    return float(own.sum() / other.sum() - 1), low, high


def ends_of(windows: pl.Series) -> Ints:
    """Read in a column `windows` the last row of its trace that each run met, int64 [runs]."""
    ends: Ints = windows.str.split("-").list.last().cast(pl.Int64).to_numpy()
    return ends


def share_of_placed(which: str) -> Measure:
    """Measure the share of the placed requests of which something is true, in SQL."""

    def measure(runs: Runs, agent: str) -> Value:
        placed = (runs.results.requests(run).filter(pl.col("servers") > 0) for run in runs.of(agent)["run"])
        return averaged([requests.select(pl.sql_expr(which).mean()).item() for requests in placed])

    return measure


def tiers(runs: Runs, agent: str) -> Value:
    """Measure by what share more of the servers' links is used than of the racks'.

    It is the ratio of the means over all seeds: single runs leave the racks' links next to empty.
    """
    columns = ("server-rack", "rack-fabric")
    return above(*(runs.values(agent, f'"allocation_{tier}_decisions_last_20"') for tier in columns))


def when_arrived(what: str) -> Measure:
    """Measure what is `held` of all devices, or `fragmented` of those that are free, in percent.

    It is the mean over the decisions at which as many devices had been asked for as the condition says, `arrived=90%`.
    """

    def measure(runs: Runs, agent: str) -> Value:
        percent = int(keys_of(runs.condition)["arrived"].rstrip("%"))
        values = []
        for run in runs.of(agent)["run"]:
            devices = runs.results.devices(run)
            held, free, arrived = (devices[name].to_numpy() for name in ("allocated", "free", "arrived"))
            fragments = devices.select(f"fragments_{cause}" for cause in CAUSES).to_numpy()
            usable = fragments[:, USABLE] / np.maximum(fragments.sum(axis=1), 1e-9)
            share = 100 * held / (held + free) if what == "held" else 100 * (1 - usable)
            at = np.rint(100 * arrived / (held + free)) == percent
            if at.any():
                values.append(float(share[at].mean()))
        return averaged(values) if values else Value(np.nan, None, None, 0)

    return measure


def excess(runs: Runs, agent: str) -> Value:
    """Measure by how many percent the bins of all instances exceed the bound L2 of Martello and Toth.

    Published instances leave nothing to chance: what is printed is to be the same number.
    """
    from binwright.agents.solver.model.bounds import l2

    instance = runs.condition.partition("=")[2].lower().replace("or", "binpack").replace(" ", "-")
    instances = (items_of(instance, seed) for seed in runs.of(agent)["seed"])
    bounds = np.array([l2(np.sort(items), room) for items, room in instances], np.float64)
    result = above(runs.values(agent, "servers_used_end"), bounds)
    if instance not in DRAWN or result.low is None or result.high is None:
        return Value(round(100 * result.mean, 2), None, None, result.seeds)
    return Value(100 * result.mean, 100 * result.low, 100 * result.high, result.seeds)
