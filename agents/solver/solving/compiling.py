"""Compile something in a thread of its own, as compilation cannot be interrupted."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from threading import Lock, Thread
from time import monotonic

PAUSE = 0.05
"""Seconds between two looks whether somebody still wants to wait."""


class Compiling:
    """A compilation that goes on whether or not somebody waits for it."""

    def __init__(self, prepare: Callable[[], None]) -> None:
        self._prepare = prepare
        self._raised: list[BaseException] = []
        self._thread = Thread(target=self._run, name="compile")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._prepare()
        except BaseException as error:
            self._raised.append(error)

    def wait(self, seconds: float) -> bool:
        """Wait for it, so long at most; returns whether it is done, and raises what it raised."""
        self._thread.join(None if seconds == inf else max(0.0, seconds))
        return self.done

    @property
    def done(self) -> bool:
        """Tell whether it is done; raises what it raised."""
        if self._raised:
            raise self._raised[0]
        return not self._thread.is_alive()


class Later:
    """A compilation that begins when it is first needed. It is waited for until a third of the time left is over."""

    def __init__(self, prepare: Callable[[], None], end: float) -> None:
        self._prepare, self._end = prepare, end
        self._lock = Lock()
        self._compiling: Compiling | None = None
        self._began = self._until = 0.0
        self.seconds = 0.0
        """That were spent waiting."""

    def ready(self, cancelled: Callable[[], bool]) -> bool:
        """Begin, and wait until it is done, no longer than until `cancelled`; returns whether it is done.

        Several threads may call this, and raise what it raised.
        """
        with self._lock:
            if self._compiling is None:
                self._began = monotonic()
                self._until = self._began + (self._end - self._began) / 3
                self._compiling = Compiling(self._prepare)
        while not self._compiling.wait(min(PAUSE, self._until - monotonic())):
            if monotonic() >= self._until or cancelled():
                return False
            self.seconds = monotonic() - self._began
        return True
