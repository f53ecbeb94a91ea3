"""Rows of a table that cannot be read, collected so that they can all be named, or left out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from binwright.simcore.extras import pl

SHOWN = 8
"""Lines of a fault that are named."""
NAMED = 10
"""So many further rows are named in which the same is wrong."""


class RowFault(NamedTuple):
    """Says what is wrong in a column, and in which lines; `value` is that of the first one."""

    problem: str
    key: str
    value: Any
    lines: list[int]

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.lines[:SHOWN])) + (", ..." if len(self.lines) > SHOWN else "")
        many = f"lines {shown} ({len(self.lines):,} rows)" if len(self.lines) > 1 else f"line {shown}"
        return f"{self.key}: {self.problem} (got {self.value!r}), {many}"


_faults: ContextVar[list[RowFault] | None] = ContextVar("_faults", default=None)


@contextmanager
def collecting() -> Iterator[list[RowFault]]:
    """Within, rows that cannot be read are noted and left out, and not refused."""
    found: list[RowFault] = []
    token = _faults.set(found)
    try:
        yield found
    finally:
        _faults.reset(token)


def collected() -> list[RowFault] | None:
    """Return what was noted so far; None where such rows are refused."""
    return _faults.get()


def lines_of(faults: list[RowFault]) -> set[int]:
    """Return all lines in which something is wrong."""
    return {line for fault in faults for line in fault.lines}


def also(frame: pl.DataFrame, broken: pl.Series) -> str:
    """Say in which other rows than the first of those that are broken the same is wrong; empty if in none."""
    rows = broken.arg_true().to_list()[1:]
    if not rows:
        return ""
    of = "line" if "line" in frame.columns else "id" if "id" in frame.columns else None
    some = [str(frame[of][row] if of else row) for row in rows[:NAMED]]
    what = {"line": "line", "id": "request", None: "row"}[of]
    more = ", ..." if len(rows) > NAMED else ""
    many = f"{len(rows):,} rows more" if len(rows) > 1 else "1 row more"
    return f", and so in {many} ({what}{'s' * (len(rows) > 1)} {', '.join(some)}{more})"
