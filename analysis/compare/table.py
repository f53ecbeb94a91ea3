"""The table at the end of a run: which agent did better, and whether the seeds can tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from binwright.analysis.compare.comparison import joint_note, mean_of
from binwright.analysis.compare.groups import BASELINE, DIFFERENT, EXACT, Groups, in_words
from binwright.analysis.compare.sheet import Cell, Sheet, hidden
from binwright.analysis.compare.statistics import FEWEST, differences
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results import escaping
from binwright.analysis.results.columns import TOLERANCE
from binwright.analysis.results.folder import ResultsFolder, as_written, points_as_agents, telling_keys
from binwright.simcore.extras import pl
from binwright.simcore.units import many_of

if TYPE_CHECKING:
    import rich.table

BEST, TIED = "*", "="
Entry = Mapping[str, Any]
"""A row of `Groups.beside` with a `mark`: `*` for the best of its point, `=` for what the seeds cannot tell
from it, and "" where nothing is told apart."""


class TableRow(NamedTuple):
    """Holds the entries of one agent at one point of the sweep, one per metric; None where no run has a value."""

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
        self.heading, self._row = results.heading, results.row_heading
        self._short = results.short
        done, groups = results.done, Groups(results.runs, self.swept)
        choice = results.choose()
        self.metrics = list(metrics) or [*choice.first, *choice.others]
        notes = [joint_note(done, choice.same, points=bool(self.swept))] if not metrics else []
        if follow := [self._short(key) for key in results.swept if key not in self.swept]:
            notes.append(f"{', '.join(follow)} go with {', '.join(map(self._short, self.swept))}.")
        self.same = " ".join(filter(None, notes))
        beside = [groups.beside(metric) for metric in self.metrics]
        self.family = in_words(max((size for *_, size in beside), default=0), apart=bool(self.swept))
        """Which comparisons the p-values are corrected for, in words; "" where nothing was tested."""
        columns = [_marked(metric, groups, frame) for metric, (frame, *_) in zip(self.metrics, beside, strict=True)]
        counts = groups.heads.rows(), groups.runs.tolist(), groups.failed.tolist()
        self.rows = [
            TableRow(tuple(point), agent, runs, failed, entries)
            for (*point, agent), runs, failed, *entries in zip(*counts, *columns, strict=True)
        ]

    @property
    def sheet(self) -> Sheet:
        """The table as texts."""
        sizes = [
            metric.shared_size(entry["mean"] for row in self.rows if (entry := row.entries[number]))
            for number, metric in enumerate(self.metrics)
        ]
        rows = []
        for row in self.rows:
            done = row.runs - row.failed
            cells = [Cell(as_written(value)) for value in row.point] + [Cell(self.heading(row.agent))]
            cells.append(Cell(f"{done}/{row.runs}", "wrong") if row.failed else Cell(str(row.runs)))
            for metric, size, entry in zip(self.metrics, sizes, row.entries, strict=True):
                mark = entry["mark"] if entry else ""
                text = mean_of(metric, entry, size) if entry else "-"
                cells.append(Cell(f"{text} {mark}".rstrip(), "best" if mark == BEST else ""))
            rows.append(cells)
        headings = [*map(self._short, self.swept), self._row, "runs", *(metric.heading for metric in self.metrics)]
        return Sheet(headings, rows, len(self.swept) + 1, groups=[row.point for row in self.rows])

    @property
    def legend(self) -> str:
        """Say in a sentence what the values are, and what the marks mean."""
        pairs = [pair for row in self.rows for pair in zip(self.metrics, row.entries, strict=True)]
        marks = {entry["mark"] for _, entry in pairs if entry}
        intervals = {entry["interval"] for metric, entry in pairs if entry and not metric.timed}
        if intervals == {EXACT}:
            return f"Exact: nothing was drawn, other seeds give the same{f'; {BEST} best' * (BEST in marks)}."
        seeds = max((row.runs - row.failed for row in self.rows), default=0)
        text = f"Mean ± half of the 95 % interval over {seeds} seeds" if seeds > 1 else "One seed"
        text += ", exact without ±" * (seeds > 1 and EXACT in intervals)
        is_alone = len({row.point for row in self.rows}) == len(self.rows)
        if is_alone or all(metric.better == "neither" for metric in self.metrics):
            return f"{text}."
        if not self.family:
            return f"{text}, not tested: {FEWEST} are needed."
        best = f"{BEST} best, {TIED} not significantly different from it"
        return f"{text}; {best if BEST in marks else 'no significant differences'} (p > .05, {self.family})."

    def rich(self, width: int) -> rich.table.Table:
        """Lay the table out for a terminal: as many metrics as fit its width, the others are named below."""
        sheet = self.sheet
        return sheet.terminal(width, caption=" ".join(filter(None, [self.same, self.legend, hidden([sheet], width)])))

    def __str__(self) -> str:
        return f"{self.sheet.markdown()}\n\n{escaping.markdown(f'{self.same} {self.legend}')}\n"

    _repr_markdown_ = __str__


def _marked(metric: Metric, groups: Groups, frame: pl.DataFrame) -> list[Entry | None]:
    """Mark the best of every point, and those that the seeds can't tell from it, in the frame of a metric.

    There are no marks where nothing is told apart, nor where neither higher nor lower is better. Agents with the same
    best mean are all the best.
    """
    mean, differs = frame["mean"].to_numpy(), frame["verdict"].is_in(DIFFERENT).fill_null(False).to_numpy()
    best = np.flatnonzero(frame["verdict"] == BASELINE)[groups.point]
    is_equal = differences(mean[:, None], mean[best][:, None])[:, 0] == 0
    is_marked = (np.bincount(groups.point, differs) > 0)[groups.point] & ~differs & (metric.better != "neither")
    marks = np.where(is_marked, np.where(is_equal, BEST, TIED), "")
    rows = frame.with_columns(mark=pl.Series(marks)).iter_rows(named=True)
    return [row if row["n"] else None for row in rows]


PHRASES = {
    "acceptance": "accepts most",
    "scheduled": "schedules most",
    "wait_mean": "waits least",
    "energy": "takes the least energy",
    "cost_month": "costs least",
    "servers": "needs the fewest servers",
    "servers_used": "uses the fewest servers",
}
"""What the best does by a metric; by another it has the highest or lowest of it."""
NAMED = 3
"""So many agents are named, and more are counted."""
Ranked = list[tuple[str, Entry]]
"""Of one point the names of the agents and their entries, the best first."""


def finding(table: Table, metric: Metric) -> str:
    """Say who is the best by a metric, by how much more than the last that differs significantly, and who ties.

    Of a sweep it says at how many points. It is "" where neither higher nor lower is better, where one agent is alone,
    and where all values are equal.
    """
    number = [each.name for each in table.metrics].index(metric.name)
    points: dict[tuple[Any, ...], Ranked] = {}
    for row in table.rows:
        if entry := row.entries[number]:
            points.setdefault(row.point, []).append((table.heading(row.agent), entry))
    sign = -1 if metric.better == "higher" else 1
    ranked = [sorted(result, key=lambda each: each[1]["mean"] * sign) for result in points.values() if len(result) > 1]
    if metric.better == "neither" or all(len(_best(result)) == len(result) for result in ranked):
        return ""
    entries = [entry for result in ranked for _, entry in result]
    is_tested, untested = any(entry["mark"] for entry in entries), ""
    if not is_tested and not all(entry["interval"] == EXACT for entry in entries):
        seeds = max(row.runs - row.failed for row in table.rows)
        if seeds >= FEWEST:
            return _none(metric, len(ranked))
        untested = f"; {many_of(seeds, 'seed')}, not tested: {FEWEST} are needed"
    return (_at_points(metric, ranked, is_tested) if len(ranked) > 1 else _at_point(metric, ranked[0])) + untested


def _none(metric: Metric, points: int) -> str:
    where = f" between agents at any of {points} points" if points > 1 else ""
    return f"By {metric.heading}, no significant difference{where}"


def _best(ranked: Ranked) -> list[str]:
    """Name those whose mean is the best."""
    best = ranked[0][1]["mean"]
    return [name for name, entry in ranked if abs(entry["mean"] - best) <= TOLERANCE * abs(best)]


def _effect(metric: Metric, ranked: Ranked) -> tuple[str, float]:
    """Name the worst of those that the seeds can tell from the best, and say how far it is from that.

    That is in percentage points of a share, else in percent of the last.
    """
    name, last = next(each for each in reversed(ranked) if each[1]["mark"] != TIED)
    best = ranked[0][1]["mean"]
    return name, 100 * abs(best - last["mean"]) / (1.0 if metric.unit == "%" else abs(last["mean"]) or abs(best))


def _short(effect: float) -> str:
    """Write an effect with two digits, and never as 1.1e+02."""
    return f"{float(f'{effect:.2g}'):,.15g}"


def _does(metric: Metric, agents: list[str]) -> str:
    text = PHRASES.get(metric.name, f"has the {'highest' if metric.better == 'higher' else 'lowest'} {metric.heading}")
    who = and_(agents) if len(agents) <= NAMED else f"{len(agents)} agents"
    if len(agents) > 1:
        verb, _, what = text.partition(" ")
        text = f"{'have' if verb == 'has' else verb.removesuffix('s')} {what}"
    return f"{who} {text}"


def _at_point(metric: Metric, ranked: Ranked) -> str:
    tied = [name for name, entry in ranked if entry["mark"] == TIED]
    them = and_(tied) if len(tied) <= NAMED else f"{len(tied)} of {len(ranked) - 1} others"
    tie = f"; {them} {'does' if len(tied) == 1 else 'do'} not differ significantly" * bool(tied)
    return f"{_does(metric, _best(ranked))}, {_ahead(metric, [_effect(metric, ranked)])}{tie}"


def _ahead(metric: Metric, effects: Sequence[tuple[str, float]]) -> str:
    """Say how far the best is from the last, whom it names unless they are many."""
    sizes = [size for _, size in effects]
    by, last = " to ".join(dict.fromkeys(map(_short, (min(sizes), max(sizes))))), dict(effects)
    unit = f"point{'s' * (by != '1')}" if metric.unit == "%" else "%"
    whom = " or ".join(last) if len(last) <= NAMED else "the last"
    return f"{by} {unit} {'above' if metric.better == 'higher' else 'below'} {whom}"


def _at_points(metric: Metric, points: list[Ranked], is_tested: bool) -> str:
    """Count the points at which each agent is best, and there those not significantly different from the first."""
    led: dict[tuple[str, ...], list[Ranked]] = {}
    for ranked in points:
        best = sorted(_best(ranked))
        is_clear = any(entry["mark"] for _, entry in ranked) if is_tested else len(best) < len(ranked)
        led.setdefault(tuple(best) if is_clear else (), []).append(ranked)
    nowhere = led.pop((), [])
    if not led:
        return _none(metric, len(points))
    (first, result), *others = sorted(led.items(), key=lambda values: -len(values[1]))
    where = f"{'all' if len(result) == len(points) else f'{len(result)} of'} {len(points)} points"
    tied = Counter(name for ranked in result for name, entry in ranked if entry["mark"] == TIED)
    them = [f"{name} at {count}" for name, count in tied.items()] if len(tied) <= NAMED else [f"{len(tied)} others"]
    tie = f" (not significantly different: {and_(them)})" * bool(tied)
    ahead = _ahead(metric, [_effect(metric, ranked) for ranked in result])
    parts = [f"{_does(metric, list(first))} at {where}, {ahead}{tie}"]
    parts += [f"{and_(list(names))} at {len(values)}" for names, values in others[:NAMED]]
    parts += [f"no significant difference at {len(nowhere)}"] * bool(nowhere)
    return "; ".join(parts)


def and_(names: list[str]) -> str:
    """Name several in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
