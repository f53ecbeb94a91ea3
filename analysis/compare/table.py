"""The table at the end of a run: which agent did better, and whether the seeds can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.analysis.compare.family import Bools, Family, in_words
from binwright.analysis.compare.sheet import Cell, Sheet
from binwright.analysis.compare.statistics import FEWEST, by_count, differences, mean_interval
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results import escaping
from binwright.analysis.results.columns import Groups
from binwright.analysis.results.combined import points_as_agents
from binwright.analysis.results.folder import as_written, telling_keys
from binwright.analysis.results.metric_choice import TOLERANCE
from binwright.simcore.types import Floats

if TYPE_CHECKING:
    import polars as pl
    import rich.table

    from binwright.analysis.results.folder import ResultsFolder

BEST, TIED = "*", "="


@dataclass(frozen=True, slots=True)
class Entry:
    """Holds mean and half width over the seeds; `mark` is `*` for the best, `=` for what the seeds can't tell from it.

    Where there is no chance in a value, it is `exact`.
    """

    mean: float
    half: float
    mark: str = ""
    exact: bool = False

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

    Of one agent and a sweep, the points are the rows. The metrics are by default those that vary, the headline metrics
    first; `same` says what does not, and which keys of the sweep have no column, because they go with others. `heading`
    gives what people read in place of the name of an agent or a key.
    """

    def __init__(self, results: ResultsFolder, metrics: Sequence[Metric] = ()) -> None:
        results = points_as_agents(results)
        self.swept = telling_keys(results.runs, results.swept)
        self.heading, self._added, self._row = results.heading, results.columns.added, results.row_heading
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
        heads = groups.heads.rows()
        self.rows = [
            TableRow(tuple(head[:-1]), head[-1], runs, failed, tuple(column[number] for column in columns))
            for number, (head, runs, failed) in enumerate(
                zip(heads, groups.runs.tolist(), groups.failed.tolist(), strict=True)
            )
        ]

    @property
    def headings(self) -> list[str]:
        return [*map(self.heading, self.swept), self._row, "runs", *(metric.heading for metric in self.metrics)]

    @property
    def sheet(self) -> Sheet:
        """The table as texts."""
        metrics = [
            metric.comparable([entry.mean for row in self.rows if (entry := row.entries[number])])
            for number, metric in enumerate(self.metrics)
        ]
        rows = []
        for row in self.rows:
            done = row.runs - row.failed
            cells = [Cell(as_written(value)) for value in row.point] + [Cell(self.heading(row.agent))]
            cells.append(Cell(f"{done}/{row.runs}" if row.failed else str(row.runs), done, "wrong" * bool(row.failed)))
            for metric, entry in zip(metrics, row.entries, strict=True):
                style = "best" if entry and entry.mark == BEST else ""
                cells.append(Cell(entry.write(metric), metric.plain(entry.mean), style) if entry else Cell("-"))
            rows.append(cells)
        words = len(self.swept) + 1
        shown = [place for place, one in enumerate(self.metrics) if one.table == "harm"]
        shown += [place for place, one in enumerate(self.metrics) if one.name in self._added]
        foremost = [words + 1, *(words + 1 + place for place in shown)] if self.metrics else []
        meanings = ["a key of the sweep"] * len(self.swept) + ["", "finished runs", *(one.meaning for one in metrics)]
        headings = [*map(self._short, self.swept), *self.headings[len(self.swept) :]]
        groups = [row.point for row in self.rows]
        return Sheet(headings, rows, words, groups=groups, foremost=foremost, meanings=meanings)

    def texts(self) -> list[list[str]]:
        """Return the cells as they are shown, row by row."""
        return self.sheet.texts

    @property
    def family(self) -> str:
        """Which comparisons the p-values are corrected for, in words; "" where nothing was tested."""
        return in_words(self._tested, apart=bool(self.swept)) if self._tested else ""

    @property
    def legend(self) -> str:
        """Say in a sentence what the values are, and what the marks mean."""
        entries = [entry for row in self.rows for entry in row.entries if entry]
        random = [
            entry
            for row in self.rows
            for metric, entry in zip(self.metrics, row.entries, strict=True)
            if entry and not entry.exact and not metric.timed
        ]
        seeds = max((row.runs - row.failed for row in self.rows), default=0)
        marks = {entry.mark for entry in entries}
        several = len({row.agent for row in self.rows}) > 1
        if not random and any(entry.exact for entry in entries):
            return f"Exact: nothing was drawn, other seeds give the same{f'; {BEST} best' * (BEST in marks)}."
        said = f"Mean ± half of the 95 % interval over {seeds} seeds" if seeds > 1 else "One seed"
        said += ", exact without ±" * (seeds > 1 and any(entry.exact for entry in entries))
        if seeds < FEWEST:
            return f"{said}{f', not tested: {FEWEST} are needed' * several}."
        if TIED in marks:
            said += f"; {BEST} best, {TIED} not significantly different from it"
        elif BEST in marks:
            said += f"; {BEST} significantly better than all others"
        elif several and any(metric.better != "neither" for metric in self.metrics):
            said += "; no significant differences"
        return f"{said}{f' (p .05, {self.family})' * bool(self.family and several)}."

    def rich(self, width: int) -> rich.table.Table:
        """Lay the table out for a terminal: as many metrics as fit its width, the others are named below."""
        return self.sheet.terminal(width, caption=" ".join(filter(None, [self.same, self.legend])))

    def __str__(self) -> str:
        return f"{self.sheet.markdown()}\n\n{escaping.markdown(f'{self.same} {self.legend}')}\n"

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
