"""What the service lets clients have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from math import inf, nan
from typing import Any

from binwright.simcore.errors import UserError, suggest

PRIORITIES = 100
"""Priorities go from minus this to this."""


@dataclass(frozen=True)
class Limits:
    """`--limit NAME=NUMBER` changes one."""

    time: float = 60.0
    """Seconds that a search may ask for."""
    spare: float = 30.0
    """Seconds, of clock and of CPU, that a job has beyond its search, to compile and to verify."""
    memory: int = 2**30
    """Bytes that a job may take on top of what the compiled solver has."""
    balls: int = 100_000
    """Balls, and bins, of a problem."""
    dims: int = 1_000_000
    """Dimensions of a problem."""
    check: float = 5.0
    """Seconds that a check may take."""
    body: int = 2 * 2**20
    """Bytes of a request."""
    patience: float = 10.0
    """Seconds that a client has to send the body of a request."""
    queue: int = 1000
    """Jobs that wait or run."""
    checks: int = 100
    """Checks that wait or run."""
    streams: int = 100
    """Open streams of progress."""
    priority: int = 0
    """The highest priority that a submission may ask for."""
    store: int = 2 * 2**30
    """Bytes of problems and answers that are kept; the oldest answers go first."""


def changed(changes: Iterable[str]) -> Limits:
    """Change some limits: `memory=2e9`."""
    known: dict[str, Any] = {one.name: one.default for one in fields(Limits)}
    values: dict[str, Any] = {}
    for change in changes:
        name, _, text = change.partition("=")
        if name not in known:
            raise UserError("unknown limit", key=f"--limit {change}", remedy=suggest(name, known))
        try:
            values[name] = type(known[name])(float(text))
        except (ValueError, OverflowError):
            values[name] = nan
        if name == "priority":
            right, which = abs(values[name]) <= PRIORITIES, f"from -{PRIORITIES} to {PRIORITIES}"
        else:
            right, which = 0 < values[name] < inf, "above zero"
        if not right:
            raise UserError(f"is not a number {which}", key=f"--limit {change}", remedy=f"Write {name}=NUMBER.")
    return Limits(**values)
