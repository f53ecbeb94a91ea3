"""What keeps an agent from taking a batch with it: a limit to what it thinks, and a place for what it prints."""

import io
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, TextIO, cast

LOOKS = 4
"""How many times within the limit it is looked whether an agent got on."""
STARTING = 600.0
"""Seconds that an agent has to start, at least: kernels may be compiled then."""


class TooLong(BaseException):
    """An agent thought for longer than the limit. No `Exception`, since agents may catch those and go on."""


@contextmanager
def recursion() -> Iterator[None]:
    """Restore the recursion limit if an agent has lowered it; a higher one may be what it needs later."""
    before = sys.getrecursionlimit()
    try:
        yield
    finally:
        sys.setrecursionlimit(max(before, sys.getrecursionlimit()))


@contextmanager
def limited(seconds: float, state: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Raise `TooLong` when `state` has stayed the same for so many seconds, up to a quarter more.

    It hears signals, so it watches a main thread only, and code that returns to Python now and then. Afterwards there
    is as much recursion as before.
    """
    with recursion(), _timed(seconds, state):
        yield


@contextmanager
def _timed(seconds: float, state: Callable[[], object]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    seen, times, over = state(), 0, False

    def look(number: int, frame: FrameType | None) -> None:
        nonlocal seen, times
        now = state()
        times = times + 1 if now == seen else 0
        seen = now
        if times >= LOOKS and not over:
            times = 0  # the next time after as long again, since an agent may catch this one
            raise TooLong

    before = signal.signal(signal.SIGALRM, look)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds / LOOKS, seconds / LOOKS)
        yield
    finally:
        try:
            over = True
        finally:  # also if time was over just here
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


@contextmanager
def printing(file: Path | None) -> Iterator[None]:
    """Send what Python prints into a file, which is there if it prints, or, without one, nowhere.

    Only a main thread's runs do so: streams are the process's, and other threads would be taken as well.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if file:
        file.unlink(missing_ok=True)
    printed = _Printed(file)
    text = io.TextIOWrapper(cast(BinaryIO, printed), "utf-8", "backslashreplace", write_through=True)
    _usual.append((sys.stdout, sys.stderr))
    try:
        with redirect_stdout(text), redirect_stderr(text):
            yield
    finally:
        _usual.pop()
        printed.end()


@contextmanager
def aloud() -> Iterator[None]:
    """Print as usual for a while, wherever `printing` sends what is printed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stdout, stderr = _usual[0] if _usual else (sys.stdout, sys.stderr)
    with redirect_stdout(stdout), redirect_stderr(stderr):
        yield


_usual: list[tuple[TextIO, TextIO]] = []
"""Where what is printed went before each `printing` that goes on."""


class _Printed(io.RawIOBase):
    """Opens its file when something is written, and drops that without one; what comes after its end goes to stderr."""

    def __init__(self, file: Path | None) -> None:
        self._file, self._over = file, False
        self._opened: io.FileIO | None = None

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        if self._over:  # from a logger that an agent has made
            sys.stderr.write(bytes(content).decode("utf-8", "replace"))
        elif self._file:
            if self._opened is None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._opened = self._file.open("ab", buffering=0)
            self._opened.write(content)
        return len(content)

    def end(self) -> None:
        """Close the file."""
        self._over = True
        if self._opened is not None:
            self._opened.close()
