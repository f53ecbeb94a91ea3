"""What is being compiled in this process: so that whoever waits can be told.

It is noted where kernels are compiled, and looked at by what shows progress.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

STREAK = 2.0
"""Seconds between two kernels that are one wait."""


class Compiling(NamedTuple):
    """Says which `kernel` is compiled, for whom, and since which monotonic time kernels have been for them."""

    kernel: str
    whom: str
    since: float

    def __str__(self) -> str:
        whom = f" for {self.whom}" if self.whom else ""
        return f"compiling{whom}, once on this machine: {monotonic() - self.since:.0f} s so far ({self.kernel})"


_whom = ContextVar("whom", default="")
_lock = RLock()
_going: dict[int, Compiling] = {}
"""By thread of this process."""
_last: dict[tuple[int, str], tuple[float, float]] = {}
"""Of threads and whom they compiled for: since when, and until when."""


@contextmanager
def awaited_by(whom: str) -> Iterator[None]:
    """Say for whom kernels are compiled within it: an agent, for one."""
    token = _whom.set(whom)
    try:
        yield
    finally:
        _whom.reset(token)


@contextmanager
def compiling(kernel: str) -> Iterator[None]:
    """Note that this kernel is compiled within it, or that another process is waited for which compiles it."""
    _kernels.append((kernel, monotonic()))
    try:
        yield
    finally:
        _kernels.pop()


def _note(who: int, found: Compiling | None) -> None:
    if found:
        _going[who] = found
    else:
        _going.pop(who, None)


def now_compiled() -> Compiling | None:
    """Return what has been waited for longest."""
    with _lock:
        return min(_going.values(), key=lambda each: each.since, default=None)
