"""Compile something in a thread of its own, as compilation cannot be interrupted."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from threading import Thread


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
        if self._raised:
            raise self._raised[0]
        return not self._thread.is_alive()

    def done(self) -> bool:
        """Tell whether it is done."""
        return not self._thread.is_alive() and not self._raised
