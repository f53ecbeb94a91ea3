"""The answer at every point of a sweep, in words: who is the best where, and where nobody can be told from the best."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import Any

from analysis.compare.table import BEST, TIED, Table, TableRow
from analysis.figures.figure_data import number
from analysis.measure.metric import Metric
from analysis.results.swept_values import as_written
from simcore.errors import UserError

MOST = 12
"""More lines than that say less than the table."""
NOBODY: tuple[str, ...] = ()
Found = tuple[Any, tuple[str, ...]]
"""A value of the key that the answer runs over, and who is the best there, with those that are not told from them."""


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
    """Return the best agents of a point and those not told from them, the best first; nobody where none is told."""
    sign = -1 if metric.better == "higher" else 1
    entries = [(entry, row.agent) for row in rows if (entry := row.entries[column])]
    if not any(entry.mark == BEST for entry, _ in entries):
        return NOBODY
    marked = [(sign * entry.mean, agent) for entry, agent in entries if entry.mark in (BEST, TIED)]
    return tuple(agent for _, agent in sorted(marked, key=lambda pair: pair[0]))


def _told(table: Table, key: str, found: Sequence[Found]) -> str:
    """Join neighbours with the same answer: `up to 20 first-fit; from 24 on nobody is told from the best`."""
    spans = [[value for value, _ in some] for _, some in groupby(found, key=lambda one: frozenset(one[1]))]
    parts, at = [], 0
    for span in spans:
        agents = found[at][1]
        who = " or ".join(f"<strong>{escape(table.heading(agent))}</strong>" for agent in agents)
        parts.append(f"{_where(span, at == 0, at + len(span) == len(found))} {who or 'nobody is told from the best'}")
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
