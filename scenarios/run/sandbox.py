"""What keeps an agent from taking a batch with it: a limit to what it thinks, and a place for what it prints."""

import io
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

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
    """Send what Python prints in this thread into a file, which is there if it prints, or, without one, nowhere."""
    if file:
        file.unlink(missing_ok=True)
    thread, printed = threading.get_ident(), _Printed(file)
    with _lock:
        before = _taken.get(thread)
        _taken[thread] = printed
        for name in ("stdout", "stderr"):
            if not isinstance(getattr(sys, name), _Stream):
                setattr(sys, name, _Stream(getattr(sys, name)))
    try:
        yield
    finally:
        with _lock:
            if before:
                _taken[thread] = before
            else:
                del _taken[thread]
            for name in ("stdout", "stderr"):
                if not _taken and isinstance(stream := getattr(sys, name), _Stream):
                    setattr(sys, name, stream.usual)
        printed.close()


@contextmanager
def aloud() -> Iterator[None]:
    """Let this thread print as usual for a while, wherever `printing` sends what it prints."""
    thread = threading.get_ident()
    before = _taken.get(thread)
    if before:
        _taken[thread] = None
    try:
        yield
    finally:
        if before:
            _taken[thread] = before


_lock = threading.Lock()


class _Printed:
    """A file that is opened when something is written; without one, what is written is dropped."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._opened: BinaryIO | None = None

    def write(self, content: bytes) -> None:
        if self._file and content:
            if self._opened is None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._opened = self._file.open("ab")
            self._opened.write(content)
            self._opened.flush()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


_taken: dict[int, _Printed | None] = {}
"""Of threads whose text goes elsewhere, where to; `None` while it does not."""


class _Stream(io.TextIOBase):
    """One of the two streams that Python prints to: usual for all threads but those that are taken."""

    def __init__(self, usual: Any) -> None:
        self.usual = usual

    def write(self, text: str) -> int:
        if printed := _taken.get(threading.get_ident()):
            printed.write(text.encode("utf-8", "backslashreplace"))
        else:
            self.usual.write(text)
        return len(text)

    @property
    def buffer(self) -> Any:
        """What takes bytes."""
        return _Bytes() if _taken.get(threading.get_ident()) else self.usual.buffer

    def reconfigure(self, **how: Any) -> None:
        """Take other settings, as text files do."""
        if not _taken.get(threading.get_ident()):
            self.usual.reconfigure(**how)

    def flush(self) -> None:
        self.usual.flush()

    def isatty(self) -> bool:
        return not _taken.get(threading.get_ident()) and not self.usual.closed and bool(self.usual.isatty())

    def fileno(self) -> int:
        return int(self.usual.fileno())

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute there
        return str(getattr(self.usual, "encoding", "utf-8"))


class _Bytes(io.RawIOBase):
    """The bytes of a thread that is taken."""

    def write(self, content: Any) -> int:
        if printed := _taken.get(threading.get_ident()):
            printed.write(bytes(content))
        return len(content)

    def writable(self) -> bool:
        return True
