"""What keeps an agent from taking a batch with it: a limit to what it thinks, and a place for what it prints."""

from __future__ import annotations

import ctypes
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

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
    """Send what this thread prints into a file, which is there if it prints, or, without a file, nowhere.

    Within `alone` it is what the whole process prints, and the processes that it starts.
    """
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
        with _descriptors_to(printed):
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
        with _descriptors_to(None):
            yield
    finally:
        if before:
            _taken[thread] = before


@contextmanager
def alone() -> Iterator[TextIO]:
    """Within, this process prints nothing but what it does for runs, and what goes to the stream that this gives.

    So `printing` can take all of it: also what libraries in C write, other threads, and processes that an agent starts.
    The stream is what stderr was before; nobody else holds it, so that nothing comes between what is written there.
    Where Python's streams are not those of the process, as in a notebook, they are all that `printing` takes.
    """
    if _usual or not _are_descriptors():
        yield sys.stderr
        return
    stream = os.fdopen(os.dup(2), "w", 1, sys.stderr.encoding, "replace")
    _usual[:] = [os.dup(1), os.dup(2)]
    try:
        yield stream
    finally:
        _point(_usual)
        for descriptor in _usual:
            os.close(descriptor)
        _usual.clear()
        with suppress(OSError):  # the terminal is gone
            stream.close()


_lock = threading.Lock()
_C = ctypes.CDLL(None)
_usual: list[int] = []
"""Within `alone`, copies of the descriptors 1 and 2 as they were before."""


def _are_descriptors() -> bool:
    """Tell whether Python's streams are the process's own."""
    try:
        return (sys.stdout.fileno(), sys.stderr.fileno()) == (1, 2)
    except (AttributeError, OSError, ValueError):
        return False


@contextmanager
def _descriptors_to(printed: _Printed | None) -> Iterator[None]:
    """Within `alone`, point the descriptors 1 and 2 to a file, or to what they were before."""
    if not _usual:
        yield
        return
    _flush()
    before = [os.dup(1), os.dup(2)]
    try:
        _point([printed.descriptor] * 2 if printed else _usual)
        yield
    finally:
        _flush()
        _point(before)
        for descriptor in before:
            os.close(descriptor)


def _point(to: list[int]) -> None:
    for descriptor, target in enumerate(to, 1):
        os.dup2(target, descriptor)


def _flush() -> None:
    """Write what Python and C keep back to where it belongs."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    _C.fflush(None)


class _Printed:
    """A file that is opened when something is written, as text or as bytes; it is not left behind empty."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._opened: int | None = None

    @property
    def descriptor(self) -> int:
        if self._opened is None:
            if self._file:
                self._file.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND if self._file else os.O_WRONLY
            self._opened = os.open(self._file or os.devnull, flags, 0o666)
        return self._opened

    def write(self, content: bytes) -> None:
        while content and self._file:
            content = content[os.write(self.descriptor, content) :]

    def close(self) -> None:
        if self._opened is not None:
            empty = not os.fstat(self._opened).st_size
            os.close(self._opened)
            if self._file and empty:
                self._file.unlink(missing_ok=True)


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
