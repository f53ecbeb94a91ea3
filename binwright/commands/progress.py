"""What a command says while it goes on: a line that lives on a terminal, and now and then a line elsewhere."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from time import monotonic
from typing import Any, Self

import rich.live
from rich.text import Text

from binwright.commands.console import note, notes
from binwright.simcore.compiling import now_compiled

EVERY = 10.0
"""Seconds between lines where there is no terminal to keep one alive on."""


class StatusLine:
    """One line on a terminal's stderr, from entering to leaving the `with`: how far `what` is.

    It says `detail`, and which kernel is compiled.
    """

    def __init__(self, what: str, total: int = 0, detail: str = "") -> None:
        self.what, self.total, self.detail = what, total, detail
        self.alive = False
        self._live: rich.live.Live | None = None
        self._pace: tuple[float, int] | None = None
        self._printed = monotonic()

    def __enter__(self) -> Self:
        self.alive = sys.stderr.isatty() and not (notes.quiet or notes.is_dumb_terminal)
        if self.alive:
            self._terminal = sys.stderr.fileno()
            how: dict[str, Any] = {"transient": True, "redirect_stdout": False, "redirect_stderr": False}
            self._live = rich.live.Live(console=notes, get_renderable=self._laid_out, **how)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):  # the terminal is gone
            if self._live:
                self._live.stop()

    def drawing(self, figure: str) -> None:
        """Note which figure is being drawn."""
        self.detail = f"drawing {figure}"

    def left(self, done: int) -> str:
        """Say how long it takes until all is done, by the pace since the first call: what comes before compiles."""
        now = monotonic()
        began, first = self._pace = self._pace or (now, done)
        if not first < done < self.total or now == began:
            return ""
        return f"{duration((self.total - done) * (now - began) / (done - first))} left"

    def reached(self, done: int, *words: str) -> None:
        """Say that so many are done, and more words; without a terminal, if EVERY seconds have passed."""
        self.detail = ", ".join(filter(None, (f"{done:,} of {max(done, self.total):,}", *words, self.left(done))))
        self.now_and_then()

    def text(self) -> str:
        """Say how far it is, and what is compiled."""
        return ", ".join(filter(None, (self.far(), now_compiled())))

    def far(self) -> str:
        """Say how far it is."""
        return self.detail

    def now_and_then(self) -> None:
        """Without a terminal, say how far it is if EVERY seconds have passed since the last time."""
        if not self.alive and monotonic() - self._printed >= EVERY:
            self._printed = monotonic()
            note(f"{self.what}: {self.text()}")

    def _laid_out(self) -> Text:
        """Lay it out in one row, however narrow the terminal is; COLUMNS may say that it is wider than it is."""
        row = Text(f"{self.what} {self.text()}", no_wrap=True)
        columns = os.get_terminal_size(self._terminal).columns or notes.width
        row.truncate(min(notes.width, columns) - 1, overflow="ellipsis")
        return row


class Live(StatusLine):
    """The line of runs: call it with the row of each.

    Of a `total`, `before` were there already; without one it says how many there were in how long, and `detail`.
    """

    def __init__(self, total: int = 0, before: int = 0) -> None:
        super().__init__("runs", total)
        self._before, self._began = before, self._printed
        self._rows = self._failed = 0

    def __call__(self, row: dict[str, Any]) -> None:
        self._rows += 1
        self._failed += row["status"] != "done"
        self.now_and_then()

    def far(self) -> str:
        """Say how far it is, as in `312 of 1000, 2 failed, 7 s left`."""
        if not self.total:
            return f"{self._rows:,} in {duration(monotonic() - self._began)}" + (self.detail and f", {self.detail}")
        failed = f"{self._failed} failed" if self._failed else ""
        left = self.left(self._rows) if self._rows > self._before else ""
        return ", ".join(filter(None, (f"{self._rows} of {self.total}", failed, left)))


def duration(seconds: float) -> str:
    """Write how long that is for people, as an estimate deserves: `7 s`, `12 min`, `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
