"""What a figure is drawn from: the runs that were asked for, with means and intervals over their seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.compare.groups import EQUAL, SAME, UNTESTED, Groups
from binwright.analysis.compare.statistics import FEWEST
from binwright.analysis.compare.table import Table, finding
from binwright.analysis.figures import Venue
from binwright.analysis.figures.style import Look, Width, looks, points
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results.columns import Choice, metric_named
from binwright.analysis.results.escaping import cut
from binwright.analysis.results.folder import ResultsFolder, as_written, telling_keys
from binwright.simcore.errors import ResultsError, UserError, suggest
from binwright.simcore.extras import pl
from binwright.simcore.types import Floats
from binwright.simcore.units import BANDWIDTH, COUNT, CPU, DATA, SHARE, TIME

Point = tuple[Any, ...]
Row = tuple[Point, str]
"""A point of the sweep and an agent."""
LOOK = ("style", "width", "titles")
"""Options that say how a figure looks; `figures` in a scenario says the same."""
LONGEST = 32
"""Letters of a name in a figure; of longer ones the middle is left out."""
CLOCK = Metric("time", "time", "s")
"""The axis of a figure over time."""
BARS = 48
"""More bars than that nobody reads."""
MOST = 8
"""So many panels at most: who has more says which with `where`, `agents` or `metrics`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Says what is asked of a figure; a kind looks at those options that concern it.

    `metrics` and `agents` by name (default: what the kind is about, and everyone), `where` the points of a sweep with
    these values (as text) or one `seed`, `x` the swept key to draw or rank over, `baseline` the agent that others
    are compared with (default: the first).

    The others say how it looks, in place of all that the scenario's `figures` says where `style` is one of them.
    """

    metrics: Sequence[str] = ()
    agents: Sequence[str] = ()
    where: Sequence[tuple[str, str]] = ()
    x: str = ""
    baseline: str | None = None
    width: Width | None = None
    style: Venue | None = None
    titles: bool | None = None


class Average(NamedTuple):
    """Holds a mean over `seeds` float64 [n], and the ends of the interval to draw: of one seed both are the mean."""

    mean: float
    low: float
    high: float
    seeds: Floats

    def arms(self, scale: float) -> tuple[float, float]:
        """Return how far the interval reaches below and above the mean, times `scale`."""
        return scale * (self.mean - self.low), scale * (self.high - self.mean)


class FigureData:
    """Gives a figure its runs.

    `results` are those that `options` leave, `title` their name, `runs` those of them that finished, `look` how their
    agents look, `swept` are the keys that still vary, `points` their values in order of appearance.
    """

    def __init__(self, results: ResultsFolder, options: Options) -> None:
        self.options = options
        self.look: dict[str, Look] = looks(results.runs["agent"])
        self.results = copy(results)
        self.results.runs = _filtered(results, options)
        self.runs: pl.DataFrame = self.results.done
        if not len(self.runs):
            remedy = "Column `error` of runs.parquet says why."
            raise ResultsError("no run finished", file=results.folder, remedy=remedy)
        self.swept = [key for key in results.swept if self.runs[key].n_unique() > 1]
        self._groups, self.title = Groups(self.runs, self.swept), results.name
        present = set(self.runs["agent"])
        self.agents: list[str] = [name for name in results.runs["agent"].unique(maintain_order=True) if name in present]
        self.points: list[Point] = list(dict.fromkeys(self.runs.select(self.swept).rows())) if self.swept else [()]

    def finding(self, metric: Metric) -> str:
        """Say who is the best by a metric, in the words of a title; which results these are, where there is nobody."""
        return finding(Table(self.results, [metric]), metric) or self.title

    def captioned(self, *notes: str) -> str:
        """Say below a title which results these are, what is averaged, and what else there is to know."""
        return "; ".join(filter(None, (f"{self.title}: {self.caption}", *notes)))

    def by_mean(self, metric: Metric) -> list[str]:
        """Sort the agents by their mean over all points, the best first; by where neither way is, the highest."""
        result: dict[str, list[float]] = {agent: [] for agent in self.agents}
        for (_, agent), average in self.averages(metric.name).items():
            result[agent].append(average.mean if metric.better == "lower" else -average.mean)
        return sorted(self.agents, key=lambda agent: sum(result[agent]) / len(result[agent]) if result[agent] else inf)

    @cached_property
    def choice(self) -> Choice:
        """The metrics that tables show of these runs."""
        return self.results.choose()

    @property
    def headlines(self) -> list[str]:
        """The metrics that figures draw first: where nothing varies, scheduled requests if runs stop, or acceptance."""
        stop = "stopped" in self.runs.columns and self.runs["stopped"].sum()
        result = [metric.name for metric in self.choice.first if metric.table != "harm"]
        return result or ["scheduled" if stop else "acceptance"]

    @property
    def harm(self) -> list[str]:
        """The metrics of what was done to requests that ran, of which there is some: no default leaves them out."""
        return [metric.name for metric in self.choice.first if metric.table == "harm"]

    @property
    def caption(self) -> str:
        """What is averaged over what."""
        counts = sorted(self.runs.group_by([*self.swept, "agent"]).len()["len"].unique())
        if counts == [1]:
            return "one seed"
        seeds = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        return f"mean and 95 % interval over {seeds} seeds"

    def metric(self, name: str) -> Metric:
        """Describe a column of the runs as a metric."""
        return metric_named(name, self.runs, self.results.metrics)

    def metrics(self, default: Sequence[str]) -> list[Metric]:
        """Return the metrics that were asked for, or else those of `default` that there are."""
        wanted = self.options.metrics or [name for name in default if name in self.runs.columns]
        return [self.metric(name) for name in wanted]

    def averages(self, metric: str) -> dict[Row, Average]:
        """Average a metric over the seeds by point and agent; those without a value are left out."""
        known, heads = self.metric(metric), self._groups.heads.rows()
        values, _, mean, half = self._groups.means(known)
        ends = np.transpose([mean, *known.ends(mean, np.where(np.isinf(half), 0.0, half))]).tolist()
        return {
            (tuple(point), agent): Average(mean, low, high, seeds[~np.isnan(seeds)])
            for (*point, agent), (mean, low, high), seeds in zip(heads, ends, values, strict=True)
            if not np.isnan(seeds).all()
        }

    def seeded(self) -> Iterator[tuple[Point, str, dict[int, str]]]:
        """Yield the names of the runs by point and agent, then by seed in order."""
        for key, group in self.runs.sort("seed").group_by([*self.swept, "agent"], maintain_order=True):
            yield key[:-1], str(key[-1]), dict(group.select("seed", "run").rows())

    def one_seed(self, agents: Sequence[str]) -> tuple[int, dict[str, str]]:
        """Return the first seed that all of these agents finished at the only point, and their runs of it, by agent."""
        self.few_points(1)
        runs = {agent: runs for _, agent, runs in self.seeded() if agent in agents}
        if not (shared := set.intersection(*map(set, runs.values()))):
            remedy = "Choose agents with --agents."
            raise ResultsError("no seed was finished by all agents", file=self.results.folder, remedy=remedy)
        return min(shared), {agent: runs[agent][min(shared)] for agent in agents}

    def heading(self, name: str) -> str:
        """Return what people read in place of the name of an agent or a key, as far as there is room."""
        return cut(self.results.heading(name), LONGEST)

    def name(self, point: Point) -> str:
        """Say a point in words: `uniform · servers 20`, without keys that follow from others."""
        return self.label(telling_keys(self.runs, self.swept), dict(zip(self.swept, point, strict=True)))

    def label(self, keys: Sequence[str], values: Mapping[str, Any]) -> str:
        """Say values of swept keys in words; a name needs no key before it."""
        words = []
        for key in keys:
            of_key = self.runs[key].unique().to_list()
            are_names = all(isinstance(value, str) and value[:1].isalpha() for value in of_key)
            is_name = are_names and self.numbers(key) is None
            words.append(f"{'' if is_name else self.results.short(key) + ' '}{as_written(values[key])}")
        return " · ".join(words)

    def facets(self, keys: Sequence[str]) -> list[str]:
        """Return the swept keys that still vary where `keys` do not: what a line over `keys` must not mix."""
        others = [key for key in self.swept if key not in keys]
        if not keys:
            return telling_keys(self.runs, others)
        counts = self.runs.group_by(keys).n_unique().select(others)
        return telling_keys(self.runs, [key for key in others if (counts[key] > 1).any()])

    def few_points(self, most: int = MOST) -> list[Point]:
        """Return the points, if there are few enough to draw a panel each."""
        self.check_few(len(self.points), most, "one point" if most == 1 else f"{most} points at most")
        return self.points

    def few_agents(self, most: int = MOST) -> list[str]:
        """Return the agents, if there are few enough to draw a panel each."""
        self.check_few(len(self.agents), most, f"{most} agents at most")
        return self.agents

    def check_few(self, count: int, most: int, what: str) -> None:
        """Refuse what are more than can be read."""
        if count > most:
            remedy = "Choose some with --where KEY=VALUE, --agents or --metric."
            raise ResultsError(f"{what} can be drawn, not {count}", file=self.results.folder, remedy=remedy)

    def numbers(self, key: str) -> dict[Any, tuple[float, str]] | None:
        """Turn the values of a swept key into numbers with their unit; None when some are not numbers."""
        try:
            return {value: number(value) for value in self.runs[key].unique(maintain_order=True)}
        except UserError:
            return None


def _filtered(results: ResultsFolder, options: Options) -> pl.DataFrame:
    """Return the runs of the points and agents that were asked for: of one key any value, of all keys one."""
    runs, folder = results.runs, results.folder
    wanted: dict[str, list[str]] = {}
    for key, value in options.where:
        if key not in (known := [*results.swept, "seed"]):
            raise ResultsError("was not swept", file=folder, key=f"--where {key}", remedy=suggest(key, known))
        values = results.runs[key].unique(maintain_order=True).cast(pl.String).drop_nulls().to_list()
        if value not in values:
            remedy = suggest(value, values)
            raise ResultsError("no run has this value", key=f"--where {key}", value=value, remedy=remedy)
        wanted.setdefault(key, []).append(value)
    for key, texts in wanted.items():
        runs = runs.filter(pl.col(key).cast(pl.String).is_in(texts))
    if not len(runs):
        raise ResultsError("no run has these values together", file=folder, key="--where", remedy="Leave one out.")
    known = results.runs["agent"].unique(maintain_order=True).to_list()
    for agent in options.agents:
        if agent not in known:
            raise ResultsError("was not run", file=folder, key=f"--agents {agent}", remedy=suggest(agent, known))
    return runs.filter(pl.col("agent").is_in(list(options.agents))) if options.agents else runs


def number(value: object) -> tuple[float, str]:
    """Turn a swept value into a number of base units: "10 min" is (600, "s"); a share is in percent."""
    for measure in (COUNT, SHARE, TIME, DATA, CPU, BANDWIDTH):
        try:
            result = measure.parse(value)
            return (100 * result, "%") if measure is SHARE else (result, measure.base)
        except UserError as error:
            last = error
    raise last


@dataclass(frozen=True)
class Verdicts:
    """Holds the differences of one metric to `baseline`; `is_same` has (metric, row) of several that do not differ.

    `means` by row are the averages of the differences on each seed, with intervals around 0 where a difference is not
    significant. `family` says what p-values are corrected for, "" where nothing was tested.
    """

    baseline: str
    means: Mapping[Row, Average]
    is_same: frozenset[tuple[str, Row]]
    family: str
    is_tested: bool

    def caption(self, mark: str, baseline: str) -> str:
        """Say what the mark means that rows have which do not differ."""
        if not self.is_tested:
            return f"not tested: {FEWEST} seeds are needed"
        if not self.family:
            return f"{mark}: equal to {baseline}; exact, as nothing is random"
        return f"{mark}: not significantly different from {baseline} (p > .05, {self.family})"


def verdicts(chosen: FigureData, metrics: Sequence[Metric]) -> Verdicts | None:
    """Compare with the baseline asked for, or the best by the first metric; None where there is nobody to compare."""
    first = metrics[0].name
    baseline = chosen.options.baseline or chosen.by_mean(metrics[0])[0]
    # A baseline that the results chose is corrected for all pairs.
    is_chosen = chosen.options.baseline is None
    comparison = Comparison(chosen.results, baseline, [metric.name for metric in metrics], all_pairs=is_chosen)
    means, frame = dict[Row, Average](), comparison.frame
    rows = frame.filter(pl.col("metric") == first).iter_rows(named=True)
    for row, paired in zip(rows, comparison.paired[first], strict=True):
        if row["pairs"]:
            at = tuple(row[key] for key in chosen.swept), row["agent"]
            low, high = (row["diff"] if end is None else end for end in (row["diff_low"], row["diff_high"]))
            means[at] = Average(row["diff"], low, high, paired[~np.isnan(paired)])
    if not means:
        return None
    is_tested = bool(frame["test"].is_not_null().any())
    same = frame.filter(pl.col("verdict").is_in([SAME, UNTESTED, EQUAL]) & is_tested)
    rows_of_same = same.select("metric", "agent", *chosen.swept).iter_rows()
    is_same = frozenset((metric, (tuple(point), agent)) for metric, agent, *point in rows_of_same)
    return Verdicts(baseline, means, is_same, comparison.family, is_tested)


# -- what several kinds draw -------------------------------------------------------------------------------------------


def curve(ax: Axes, line: Sequence[tuple[float, Average]], scale: float, look: Look) -> None:
    """Draw a curve with the 95 % interval of every value."""
    ax.errorbar(
        [x for x, _ in line],
        [scale * average.mean for _, average in line],
        yerr=np.transpose([average.arms(scale) for _, average in line]),
        color=look[0],
        marker=look[1],
        markersize=3.5,
        linewidth=1.0,
        elinewidth=0.8,
        capsize=1.5,
    )


def named_rows(ax: Axes, chosen: FigureData, rows: Sequence[tuple[Point, str]], *, named: bool = True) -> list[float]:
    """Place the bars of these points and agents, top down; writes their names, and a point's above its bars."""
    places: list[float] = []
    at = 0.0
    for number, (point, _) in enumerate(rows):
        if chosen.swept and (number == 0 or rows[number - 1][0] != point):
            at += 1.3 if number else 0.0
            if named:
                label = ax.text(0.01, at - 1, chosen.name(point), va="center", fontsize=points(), zorder=9)
                label.set_transform(ax.get_yaxis_transform())
                label.set_in_layout(False)  # it goes on over the next panels, and takes no room from them
                label.set_bbox({"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5})  # over other lines
        places.append(at)
        at += 1
    ax.set_yticks(places, [chosen.heading(agent) if named else "" for _, agent in rows])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(places) + 0.7, -1.7 if chosen.swept else -0.7)
    return places
