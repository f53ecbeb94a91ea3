"""What keeps an agent from taking a batch with it: a limit to what it thinks, and a place for what it prints."""

from __future__ import annotations

import io
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import IO

LOOKS = 4
"""How many times within the limit it is looked whether an agent got on."""
STARTING = 600.0
"""Seconds that an agent has to start, at least: kernels may be compiled then."""


class TooLong(BaseException):
    """An agent thought for longer than the limit. No `Exception`, since agents may catch those and go on."""


@contextmanager
def limited(seconds: float, state: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Raise `TooLong` when `state` has stayed the same for so many seconds, up to a quarter more.

    It hears signals, so it watches a main thread only, and code that returns to Python now and then.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    seen, times = state(), 0

    def look(number: int, frame: FrameType | None) -> None:
        nonlocal seen, times
        now = state()
        times = times + 1 if now == seen else 0
        seen = now
        if times >= LOOKS:
            raise TooLong

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, seconds / LOOKS, seconds / LOOKS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def printing(file: Path | None) -> Iterator[None]:
    """Send what this thread prints into a file, which is made if it prints, or, without a file, nowhere."""
    if file:
        file.unlink(missing_ok=True)
    with _Printed(file) as printed:
        out, err = _Of(printed, sys.stdout), _Of(printed, sys.stderr)
        with redirect_stdout(out), redirect_stderr(err):
            yield


class _Printed:
    """A file that is opened when something is written."""

    def __init__(self, file: Path | None) -> None:
        self._file, self._thread = file, threading.get_ident()
        self._opened: IO[str] | None = None

    def __enter__(self) -> _Printed:
        return self

    def __exit__(self, *how: object) -> None:
        if self._opened:
            self._opened.close()

    def takes(self) -> bool:
        """Is this the thread whose text it is? Others tell the user how far all is."""
        return threading.get_ident() == self._thread

    def write(self, text: str) -> None:
        if not self._file:
            return
        if not self._opened:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._opened = self._file.open("w", encoding="utf-8", errors="backslashreplace")
        self._opened.write(text)
        self._opened.flush()


class _Of(io.TextIOBase):
    """One of the two streams that Python prints to."""

    def __init__(self, printed: _Printed, usual: IO[str]) -> None:
        self._printed, self._usual = printed, usual

    def write(self, text: str) -> int:
        if self._printed.takes():
            self._printed.write(text)
        else:
            self._usual.write(text)
        return len(text)

    def flush(self) -> None:
        self._usual.flush()

    def isatty(self) -> bool:
        return not self._printed.takes() and self._usual.isatty()

    def fileno(self) -> int:
        return self._usual.fileno()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute there
        return str(getattr(self._usual, "encoding", "utf-8"))
