"""The table at the end of a run: which agent did better, and whether the seeds can tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.analysis.compare.family import Bools, Family, in_words
from binwright.analysis.compare.statistics import by_count, differences, mean_interval
from binwright.analysis.compare.terminal import fitted, fitting
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results import escaping
from binwright.analysis.results.columns import Groups
from binwright.analysis.results.folder import as_written, telling_keys
from binwright.analysis.results.metric_choice import TOLERANCE
from binwright.simcore.types import Floats

if TYPE_CHECKING:
    import polars as pl
    import rich.table

    from binwright.analysis.results.folder import ResultsFolder

BEST, TIED = "*", "="
CUT = "The interval of a share ends at 0 and at 100 %, whatever ± says."
EXACT = "Nothing was drawn here: values are exact for these requests"


@dataclass(frozen=True, slots=True)
class Entry:
    """Holds mean and half width over the seeds; `mark` is `*` for the best, `=` for what the seeds can't tell from it.

    Where there is no chance in a value, it is `exact`.
    """

    mean: float
    half: float
    mark: str = ""
    exact: bool = False

    @property
    def alone(self) -> bool:
        """Whether nothing is known about how far chance might carry it."""
        return not (self.exact or isfinite(self.half))

    def show(self, metric: Metric) -> str:
        """Write the value for people."""
        return metric.exactly(self.mean) if self.exact else metric.write(self.mean, self.half)

    def write(self, metric: Metric) -> str:
        """Write the entry for people, with its mark."""
        return self.show(metric) + (self.mark and f" {self.mark}")


@dataclass(frozen=True, slots=True)
class TableRow:
    """Holds the entries of one agent at one point of the sweep, one per metric of the table."""

    point: tuple[Any, ...]
    agent: str
    runs: int
    failed: int
    entries: tuple[Entry | None, ...]


class Table:
    """Shows agents as rows and metrics as columns, for every point of the sweep. `str()` gives Markdown.

    The metrics are by default those that vary, the headline metrics first; `same` says what does not, and which keys of
    the sweep have no column, because they go with others. `heading` gives what people read in place of the name of an
    agent or a key.
    """

    def __init__(self, results: ResultsFolder, metrics: Sequence[Metric] = ()) -> None:
        self.swept = telling_keys(results.runs, results.swept)
        self.heading, self._added = results.heading, results.columns.added
        self._short = results.short
        done, groups = results.done, Groups(results.runs, self.swept)
        choice = results.choose()
        self.metrics = list(metrics) or [*choice.first, *choice.others]
        notes = [in_one_note(done, choice.same, points=bool(self.swept))] if not metrics else []
        if follow := [self._short(key) for key in results.swept if key not in self.swept]:
            notes.append(f"{', '.join(follow)} go with {', '.join(map(self._short, self.swept))}.")
        self.same = " ".join(filter(None, notes))
        families = [Family(groups, metric) for metric in self.metrics]
        self._tested = max((family.size for family in families), default=0)
        columns = [_column(metric, groups, family) for metric, family in zip(self.metrics, families, strict=True)]
        self.rows = [
            TableRow(tuple(point), agent, runs, failed, tuple(column[number] for column in columns))
            for number, (*point, agent, runs, failed) in enumerate(
                zip(
                    *groups.heads.to_dict(as_series=False).values(),
                    groups.runs.tolist(),
                    groups.failed.tolist(),
                    strict=True,
                )
            )
        ]
        self._several_seeds = any(row.runs - row.failed > 1 for row in self.rows)
        self._seeds_matter = _vary(done, [*self.swept, "agent"], self.metrics)

    @property
    def headings(self) -> list[str]:
        return [*map(self.heading, self.swept), "agent", "runs", *(metric.heading for metric in self.metrics)]

    def texts(self, escape: Callable[[str], str] = str) -> list[list[str]]:
        """Write the entries as they are shown, row by row; `escape` says how what users wrote is to stand there."""
        metrics = [
            metric.escaped(escape).comparable([entry.mean for row in self.rows if (entry := row.entries[number])])
            for number, metric in enumerate(self.metrics)
        ]
        return [
            [
                *(escape(as_written(value)) for value in row.point),
                escape(self.heading(row.agent)),
                f"{row.runs - row.failed}/{row.runs}" if row.failed else str(row.runs),
                *("-" if one is None else one.write(m) for one, m in zip(row.entries, metrics, strict=True)),
            ]
            for row in self.rows
        ]

    @property
    def family(self) -> str:
        """Which comparisons the p-values are corrected for, in words; "" where nothing was tested."""
        return in_words(self._tested, apart=bool(self.swept)) if self._tested else ""

    @property
    def legend(self) -> str:
        """What the marks mean."""
        return self._legend(range(len(self.metrics)))

    def _legend(self, shown: Sequence[int]) -> str:
        """Say what the marks mean that the metrics `shown` have."""
        entries = [entry for row in self.rows for number in shown if (entry := row.entries[number])]
        exact = [entry for entry in entries if entry.exact]
        chance = [
            entry
            for row in self.rows
            for number in shown
            if (entry := row.entries[number]) and not entry.exact and not self.metrics[number].timed
        ]
        notes = []
        if exact and chance and not self._several_seeds:
            notes.append(
                "Some agents drew nothing: their values are exact, and other seeds give the same. What another seed "
                "would give the others, this one does not tell."
            )
        elif exact:
            which = "Values without ± are exact: nothing in them was drawn" if chance else EXACT
            notes.append(f"{which}, and other seeds give the same.")
        if self._several_seeds:
            if chance or not exact:
                notes.append("Mean ± half of the 95 % interval over the seeds.")
                if any(self._is_cut(number) for number in shown):
                    notes.append(CUT)
            if chance and not exact and not self._seeds_matter:
                notes.append("All of these seeds gave the same.")
        elif not exact:
            notes.append("One seed: no intervals and no tests.")
        marks = {entry.mark for entry in entries}
        if TIED in marks:
            why = f" (p > .05, {self.family})" if self.family else ": not tested"
            notes.append(f"{BEST} best; {TIED} not significantly different from the best{why}.")
        elif BEST in marks:
            tested = self.family and (chance or not exact)
            told = f", significantly better than all others (p <= .05, {self.family})" if tested else ""
            notes.append(f"{BEST} best{told}.")
        if self._several_seeds and any(self._untold(number) for number in shown):
            said = f" (p > .05, {self.family})" if self.family and marks <= {""} else ""
            notes.append(f"No mark: no significant difference{said}.")
        return " ".join(notes)

    def _worst(self, number: int) -> str:
        """Say the largest mean of a metric that there is no room for."""
        metric = self.metrics[number]
        means = [(entry.mean, self.heading(row.agent)) for row in self.rows if (entry := row.entries[number])]
        most, agent = max(means)
        return f"No room for {metric.heading}: up to {metric.exactly(most)} ({agent})."

    def _is_cut(self, number: int) -> bool:
        """Tell whether the interval of an entry that is not exact would go on where no mean of the metric can be."""
        entries = [row.entries[number] for row in self.rows]
        return any(is_cut(self.metrics[number], one.mean, one.half) for one in entries if one and not one.alone)

    def _untold(self, number: int) -> bool:
        """Tell whether a metric that is better one way has values of several agents at a point, and no mark there."""
        if self.metrics[number].better == "neither":
            return False
        marks: dict[tuple[Any, ...], list[str]] = {}
        for row in self.rows:
            if entry := row.entries[number]:
                marks.setdefault(row.point, []).append(entry.mark)
        return any(len(found) > 1 and not any(found) for found in marks.values())

    def rich(self, width: int) -> rich.table.Table:
        """Lay the table out for a terminal: as many metrics as fit its width, the others are named below."""
        texts, first = self.texts(), len(self.swept) + 2
        harm = [first + number for number, metric in enumerate(self.metrics) if metric.table == "harm"]
        own = [first + number for number, metric in enumerate(self.metrics) if metric.name in self._added]
        foremost = [first, *harm, *own] if self.metrics else []
        headings = [*map(self._short, self.swept), *self.headings[len(self.swept) :]]
        fit = fitting(headings, texts, width, first=first, foremost=foremost)
        shown = [column - first for column in fit if column >= first]
        untold = [self._worst(column - first) for column in harm if column not in fit]
        return fitted(
            headings,
            texts,
            width,
            first=first,
            groups=[row.point for row in self.rows],
            styles=[["bold green" if text.endswith(BEST) else "" for text in line] for line in texts],
            foremost=foremost,
            caption=" ".join(filter(None, [self.same, *untold, self._legend(shown)])),
        )

    def __str__(self) -> str:
        heads = [escaping.markdown(heading) for heading in self.headings]
        lines = [heads, ["---"] * len(heads), *self.texts(escaping.markdown)]
        notes = " ".join(filter(None, [escaping.markdown(self.same), self.legend]))
        return "\n".join(f"| {' | '.join(line)} |" for line in lines) + f"\n\n{notes}\n"

    def _repr_markdown_(self) -> str:
        return str(self)


def in_one_note(done: pl.DataFrame, same: Sequence[Metric], *, points: bool) -> str:
    """Say the values of metrics that are the same for all agents, and at all `points` of a sweep; "" for none."""
    said = []
    for metric in same:
        values = done.drop_nulls(metric.name).unique("seed")[metric.name].cast(float).to_numpy()
        mean, half = mean_interval(values)
        half = inf if half <= TOLERANCE * abs(mean) else half  # the same in all seeds: ±0 would be of no interest
        heading = metric.heading.removesuffix(" %")
        percent = " %" if heading != metric.heading else ""
        said.append(f"{heading} {metric.write(mean, half)}{percent}")
    return f"The same for all agents{' at all points' if points else ''}: {', '.join(said)}." if said else ""


def is_cut(metric: Metric, mean: float, half: float) -> bool:
    """Tell whether an interval would go on where no mean of the metric can be."""
    return metric.ends(mean, half) != (mean - half, mean + half)


def _column(metric: Metric, groups: Groups, family: Family) -> list[Entry | None]:
    """Return a metric's entry for every group of runs; None where no finished run has a value."""
    values, exact = groups.matrix(metric.name), groups.exact(metric)
    mean, half = by_count(values, mean_interval, 2)
    half[exact] = 0.0
    best, tied = _standing(metric, groups, mean, family)
    marks = np.where(best, BEST, np.where(tied, TIED, ""))
    return [
        None if isnan(one) else Entry(one, interval, mark, sure)
        for one, interval, mark, sure in zip(mean.tolist(), half.tolist(), marks.tolist(), exact.tolist(), strict=True)
    ]


def _standing(metric: Metric, groups: Groups, mean: Floats, family: Family) -> tuple[Bools, Bools]:
    """Find the groups that are the best of their point, and those that the seeds can't tell from it.

    Both are bool [groups]. There are none where nothing is told apart, nor where neither higher nor lower is better.
    Agents with the same best mean are all the best.
    """
    there = ~np.isnan(mean)
    nobody = np.zeros(len(mean), bool)
    if metric.better == "neither" or not there.any():
        return nobody, nobody
    # NaN comes last, and the first of equals first.
    order = np.lexsort((-mean if metric.better == "higher" else mean, groups.point))
    first = np.unique(groups.point[order], return_index=True)[1]
    best = order[first][groups.point]
    told = family.beside(best).told
    marked = there & (np.bincount(groups.point, there & told) > 0)[groups.point]
    first = ~told & (differences(mean[:, None], mean[best][:, None])[:, 0] == 0)
    return marked & first, marked & ~told & ~first


def _vary(done: pl.DataFrame, groups: list[str], metrics: list[Metric]) -> bool:
    """Tell whether any metric that no clock measured depends on the seed."""
    import polars as pl

    names = [metric.name for metric in metrics if not metric.timed]
    counts = done.group_by(groups).agg(pl.col(names).n_unique()).select(names)
    return any((counts[name] > 1).any() for name in names)
