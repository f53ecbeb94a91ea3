"""The answer in words: who is best, by how much, and whether the seeds can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from math import inf
from typing import Any

import numpy as np

from binwright.analysis.compare.differences import BETTER, WORSE, Differences
from binwright.analysis.compare.finding import finding
from binwright.analysis.compare.statistics import FEWEST, differences
from binwright.analysis.compare.table import BEST, EXACT, TIED, Table, TableRow
from binwright.analysis.figures.figure_data import number
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results.folder import ResultsFolder, as_written
from binwright.simcore.errors import ResultsError, UserError

MAIN = 3
"""So many metrics are answered in words, the first of the table, and all that are harm."""
NAMED = 4
"""So many agents are named, and the others counted, unless there is one more only."""

ONE_SEED = " One seed says nothing about chance: give the scenario more <code>replications</code>."
FEW_SEEDS = (
    f" Differences are tested from {FEWEST} seeds in common on: give the scenario more <code>replications</code>."
)


def answer(results: ResultsFolder, table: Table) -> list[str]:
    """Write a paragraph of HTML for every main metric."""
    if not len(results.done):
        return ["No run finished: there is nothing to compare."]
    first = results.choose().first
    main = [
        (number, metric)
        for number, metric in enumerate(table.metrics)
        if metric in first and metric.better != "neither" and not metric.timed
    ]
    main = [*main[:MAIN], *(one for one in main[MAIN:] if one[1].table == "harm")]
    if len({row.agent for row in table.rows}) == 1:
        return [*_alone(table, main)]
    if table.swept:
        return [_swept(table, number, metric) for number, metric in main]
    said = [_compared(results, table, number, metric) for number, metric in main]
    for note in (ONE_SEED, FEW_SEEDS):  # once, below all that it is about
        if sum(text.endswith(note) for text in said) > 1:
            said = [*(text.removesuffix(note) for text in said), note.strip()]
    return said


def _alone(table: Table, main: list[tuple[int, Metric]]) -> Iterator[str]:
    agent = f"<strong>{escape(table.heading(table.rows[0].agent))}</strong> alone was run: nothing is compared."
    if table.swept:
        yield f"{agent} The table has its figures at {len(table.rows)} points."
        return
    figures = (
        f"{escape(metric.heading)} {escape(entry.show(metric))}"
        for number, metric in main
        if (entry := table.rows[0].entries[number])
    )
    yield f"{agent} Over its seeds: {'; '.join(figures)}."


def _ranked(rows: list[TableRow], number: int, metric: Metric) -> list[TableRow]:
    """Return the rows with a value, the best first."""
    sign = -1 if metric.better == "higher" else 1
    found = [(sign * entry.mean, row) for row in rows if (entry := row.entries[number])]
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def _compared(results: ResultsFolder, table: Table, number: int, metric: Metric) -> str:
    """Say how the best by mean stands beside all others: paired by seed, p-values corrected for all of them."""
    ranked = _ranked(table.rows, number, metric)
    entry = ranked[0].entries[number]
    assert entry is not None
    mean, heading = escape(entry.show(metric)), escape(metric.heading)
    equal = [row.agent for row in _leading(ranked, number)]
    best, others = equal[0], [row.agent for row in ranked if row.agent not in equal]
    if len(equal) > 1 and not others:
        return f"All agents have the same {heading}: {mean}."
    first = f"<strong>{escape(table.heading(best))}</strong> has the {_extreme(metric)} {heading}: {mean}."
    if len(equal) > 1:
        names = " and ".join(f"<strong>{name}</strong>" for name in _named(table, equal))
        first = f"{names} have the same {_extreme(metric)} {heading}: {mean}."
    if not others:
        return f"{first} No other agent finished a run."
    if entry.alone:
        return first + ONE_SEED
    try:
        frame = Differences(results, best, [metric.name], all_pairs=True).frame
    except ResultsError as error:
        return f"{first} It cannot be compared: {escape(error.problem)}."
    found = {row["agent"]: row for row in frame.iter_rows(named=True)}
    told = [agent for agent in others if found[agent]["verdict"] in (BETTER, WORSE)]
    if not any(found[agent]["test"] for agent in others):
        return first + FEW_SEEDS
    if not told:
        return f"{first} No other agent differs significantly."
    text = f"{first} That is {_by(metric, found[told[0]])} than {escape(table.heading(told[0]))} ({_p(found[told[0]])})"
    if all(found[agent]["test"] == "exact" for agent in others):
        return f"{text}. {EXACT}, and there is no chance in the ranking: {_ranking(table, number, metric)}."
    text += f"; {_names(table, told[1:])} {_differ(told[1:])} significantly, too." if told[1:] else "."
    unsure = [agent for agent in others if agent not in told]
    return text + (f" {_names(table, unsure)} {_differ(unsure, negated=True)} significantly." if unsure else "")


def _differ(agents: list[str], *, negated: bool = False) -> str:
    if negated:
        return "does not differ" if len(agents) == 1 else "do not differ"
    return "differs" if len(agents) == 1 else "differ"


def _leading(ranked: list[TableRow], number: int) -> list[TableRow]:
    """Return those of the ranked rows that have the value of the first, as far as floats know."""
    values = np.array([entry.mean for row in ranked if (entry := row.entries[number])])
    same = differences(values[:, None], values[:1, None])[:, 0] == 0
    return [row for row, one in zip(ranked, same.tolist(), strict=True) if one]


def _ranking(table: Table, number: int, metric: Metric) -> str:
    """List all agents, the best first, with their values; `=` between those that are equal."""
    ranked = _ranked(table.rows, number, metric)
    parts = []
    while ranked:
        equal = _leading(ranked, number)
        entry = equal[0].entries[number]
        assert entry is not None
        parts.append(f"{' = '.join(escape(table.heading(row.agent)) for row in equal)} {escape(entry.show(metric))}")
        ranked = ranked[len(equal) :]
    return ", ".join(parts)


def _extreme(metric: Metric) -> str:
    return "highest" if metric.better == "higher" else "lowest"


def _by(metric: Metric, row: dict[str, Any]) -> str:
    half = inf if row["test"] == "exact" else (row["diff_high"] - row["diff_low"]) / 2
    points = " percentage points" if metric.unit == "%" else ""
    return f"{escape(metric.write(abs(row['diff']), half))}{points} {'more' if row['diff'] < 0 else 'less'}"


def _p(row: dict[str, Any]) -> str:
    """Write the p-value that decided, the same as in every table."""
    p = row["p"]
    if p is None:
        return "exactly"
    return "p&nbsp;&lt;&nbsp;0.001" if p < 0.001 else f"p&nbsp;=&nbsp;{p:.3f}"


def _swept(table: Table, number: int, metric: Metric) -> str:
    """Say how often each agent is the best of its point, in the words of figures, and where."""
    said = finding(table, metric) or f"All agents have the same {metric.heading} at all points"
    told = by_point(table, number, metric)
    return f"{escape(said)}.{told and f' In detail: {told}'}"


def _names(table: Table, agents: list[str]) -> str:
    """Names some, and says how many more there are."""
    names = _named(table, agents)
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _named(table: Table, agents: list[str]) -> list[str]:
    """Names some, and counts the others."""
    names = [escape(table.heading(agent)) for agent in agents]
    return names if len(names) <= NAMED + 1 else [*names[:NAMED], f"{len(names) - NAMED} more"]


MOST = 12
"""More lines than that say less than the table."""
NOBODY: tuple[str, ...] = ()
Found = tuple[Any, tuple[str, ...]]
"""A value of the key that the answer runs over, and the best there, with those without a significant difference."""


def by_point(table: Table, column: int, metric: Metric) -> str:
    """Say along a swept key who is the best, in a line for each combination of the others' values.

    The key is the first with the most numbers, or else the last one. Nothing is said where that takes too many lines,
    or where the best is one agent everywhere, or nobody.
    """
    along = _along(table)
    lines: dict[tuple[Any, ...], dict[Any, list[TableRow]]] = {}
    for row in table.rows:
        others = (*row.point[:along], *row.point[along + 1 :])
        lines.setdefault(others, {}).setdefault(row.point[along], []).append(row)
    if len(lines) > MOST:
        return ""
    keys = [table.heading(key) for at, key in enumerate(table.swept) if at != along]
    answers = {
        others: [(value, _best(rows, column, metric)) for value, rows in _in_order(points)]
        for others, points in lines.items()
    }
    different = {frozenset(agents) for found in answers.values() for _, agents in found}
    if len(different) == 1 and len(next(iter(different))) < 2:
        return ""
    said = []
    for others, found in answers.items():
        where = ", ".join(f"{key} {as_written(value)}" for key, value in zip(keys, others, strict=True))
        said.append(f"{escape(where)}{': ' if where else ''}{_told(table, table.swept[along], found)}.")
    return said[0] if len(said) == 1 else f"<ul>{''.join(f'<li>{line}</li>' for line in said)}</ul>"


def _along(table: Table) -> int:
    """Choose the key that the answer runs over."""
    values = [{row.point[at] for row in table.rows} for at in range(len(table.swept))]
    counts = [len(some) if all(map(_is_number, some)) else 0 for some in values]
    return counts.index(max(counts)) if max(counts) > 1 else len(counts) - 1


def _is_number(value: object) -> bool:
    try:
        number(value)
    except UserError:
        return False
    return True


def _in_order(points: dict[Any, list[TableRow]]) -> list[tuple[Any, list[TableRow]]]:
    """Sort points by their value where that is a number."""
    if all(map(_is_number, points)):
        return sorted(points.items(), key=lambda pair: number(pair[0]))
    return list(points.items())


def _best(rows: Sequence[TableRow], column: int, metric: Metric) -> tuple[str, ...]:
    """Return the best agents of a point and those without a significant difference, the best first; may be nobody."""
    sign = -1 if metric.better == "higher" else 1
    entries = [(entry, row.agent) for row in rows if (entry := row.entries[column])]
    if not any(entry.mark == BEST for entry, _ in entries):
        return NOBODY
    marked = [(sign * entry.mean, agent) for entry, agent in entries if entry.mark in (BEST, TIED)]
    return tuple(agent for _, agent in sorted(marked, key=lambda pair: pair[0]))


def _told(table: Table, key: str, found: Sequence[Found]) -> str:
    """Join neighbours with the same answer: `up to 20 first-fit; from 24 on no significant difference`."""
    spans = [[value for value, _ in some] for _, some in groupby(found, key=lambda one: frozenset(one[1]))]
    parts, at = [], 0
    for span in spans:
        agents = found[at][1]
        who = " or ".join(f"<strong>{escape(table.heading(agent))}</strong>" for agent in agents)
        parts.append(f"{_where(span, at == 0, at + len(span) == len(found))} {who or 'no significant difference'}")
        at += len(span)
    return f"by {escape(table.heading(key))}, {'; '.join(parts)}"


def _where(span: Sequence[Any], first: bool, last: bool) -> str:
    low, high = escape(as_written(span[0])), escape(as_written(span[-1]))
    if first and last:
        return "everywhere" if len(span) > 1 else f"at {low}"
    if len(span) == 1:
        return f"at {low}"
    if not _is_number(span[0]):
        return f"at {escape(', '.join(map(as_written, span)))}"
    return f"up to {high}" if first else f"from {low} on" if last else f"from {low} to {high}"
