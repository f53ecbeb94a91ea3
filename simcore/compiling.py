"""What is being compiled, in this process and in those that work for it: so that whoever waits can be told.

It is noted where kernels are compiled, and looked at by what shows progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock, get_ident
from time import monotonic
from typing import NamedTuple

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


Hear = Callable[["Compiling | None"], None]

_whom = ContextVar("whom", default="")
_lock = RLock()
_going: dict[object, Compiling] = {}
"""By thread of this process, or by what names another process."""
_last: dict[tuple[int, str], tuple[float, float]] = {}
"""Of threads and whom they compiled for: since when, and until when."""
_hears: list[Hear] = []


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
    thread = get_ident()
    with _lock:
        if outermost := thread not in _going:
            key, now = (thread, _whom.get()), monotonic()
            since, until = _last.get(key, (now, now))
            _note(thread, Compiling(kernel, key[1], now if now - until > STREAK else since))
    try:
        yield
    finally:
        if outermost:
            with _lock:
                _last[key] = _going[thread].since, monotonic()
                _note(thread, None)


def elsewhere(process: object, found: Compiling | None) -> None:
    """Note what another process compiles now; `None`: nothing."""
    with _lock:
        _note(process, found)


def _note(who: object, found: Compiling | None) -> None:
    if found:
        _going[who] = found
    elif _going.pop(who, None) is None:
        return
    for hear in _hears:
        hear(found)


@contextmanager
def telling(hear: Hear) -> Iterator[None]:
    """Have `hear` called with all that is noted in this process within it."""
    _hears.append(hear)
    try:
        yield
    finally:
        _hears.remove(hear)


def now_compiled() -> Compiling | None:
    """Return what has been waited for longest."""
    with _lock:
        return min(_going.values(), key=lambda each: each.since, default=None)
