"""Rows of a table that cannot be read, collected so that they can all be named, or left out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

SHOWN = 8
"""Lines of a fault that are named."""


class Fault(NamedTuple):
    """Says what is wrong in a column, and in which lines; `value` is that of the first one."""

    problem: str
    key: str
    value: Any
    lines: list[int]

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.lines[:SHOWN])) + (", ..." if len(self.lines) > SHOWN else "")
        many = f"lines {shown} ({len(self.lines):,} rows)" if len(self.lines) > 1 else f"line {shown}"
        return f"{self.key}: {self.problem} (got {self.value!r}), {many}"


_faults: ContextVar[list[Fault] | None] = ContextVar("_faults", default=None)


@contextmanager
def collecting() -> Iterator[list[Fault]]:
    """Within, rows that cannot be read are noted and left out, and not refused."""
    found: list[Fault] = []
    token = _faults.set(found)
    try:
        yield found
    finally:
        _faults.reset(token)


def collected() -> list[Fault] | None:
    """Return what was noted so far; None where such rows are refused."""
    return _faults.get()


def lines_of(faults: list[Fault]) -> set[int]:
    """Return all lines in which something is wrong."""
    return {line for fault in faults for line in fault.lines}
