"""What a command says while it goes on: a line that lives on a terminal, and now and then a line elsewhere."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, suppress
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

import rich.live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from binwright.commands.console import note, notes, saying_to
from binwright.simcore.compiling import now_compiled

if TYPE_CHECKING:
    from binwright.scenarios.run.progress import RunProgress

EVERY = 10.0
"""Seconds between lines where there is no terminal to keep one alive on."""
KNOWN, SLOWER = 0.1, 15.0
"""The share from which on an estimate is one number, and how many times as long it may take before."""
BAR = 20
"""Columns of the bar."""


class StatusLine:
    """One line on a terminal's stderr, from entering to leaving the `with`: how far `what` is.

    It has a bar if there is a `total`, of which so much is `done`, then what is `said`. While kernels are compiled it
    says so. Without a terminal it says once what is waited for, if nothing is `heard` for EVERY seconds.
    """

    def __init__(self, what: str, total: float | None = None, said: str = "") -> None:
        self.what, self.total, self.done, self.said = what, total, 0.0, said
        self.alive = False
        self._within = ExitStack()
        self._began = self._printed = monotonic()
        self._silence = Timer(EVERY, self._explain)
        self._silence.daemon = True

    def __enter__(self) -> Self:
        with ExitStack() as within:
            stream = sys.stderr  # also while a run prints elsewhere
            within.enter_context(saying_to(stream))
            self.alive = stream.isatty() and not (notes.quiet or notes.is_dumb_terminal)
            if self.alive:
                self._terminal = stream.fileno()
                shown = rich.live.Live(
                    console=notes,
                    get_renderable=self._laid_out,
                    transient=True,
                    redirect_stdout=False,
                    redirect_stderr=False,
                )
                within.enter_context(shown)
            self._within = within.pop_all()
        self._silence.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._silence.cancel()
        with suppress(OSError):  # the terminal is gone
            self._within.close()

    def heard(self) -> None:
        """Note that something is heard, so that nobody has to be told why there is silence."""
        self._silence.cancel()

    def drawing(self, figure: str) -> None:
        """Note which figure is being drawn."""
        self.said = f"drawing {figure}"

    def text(self) -> str:
        """Say how far it is, and what is compiled."""
        return ", ".join(filter(None, (self.far(), now_compiled())))

    def far(self) -> str:
        """Say how far it is."""
        return self.said

    def now_and_then(self, prefix: str = "") -> None:
        """Without a terminal, say how far it is if EVERY seconds have passed since the last time."""
        if not self.alive and monotonic() - self._printed >= EVERY:
            self._printed = monotonic()
            note(f"{prefix}{self.text()}")

    def _explain(self) -> None:
        if not self.alive and (text := self.text()):
            note(f"{self.what}: {text}")

    def _laid_out(self) -> Table:
        """Lay it out in one row, however narrow the terminal is; COLUMNS may say that it is wider than it is."""
        width = min(notes.width, os.get_terminal_size(self._terminal).columns or notes.width) - 1
        parts: list[Any] = [self.what]
        words, left = Text(self.text()), width - len(self.what) - 1
        if self.total is not None and words.cell_len + 1 + BAR <= left:
            parts.append(ProgressBar(total=self.total, completed=self.done, width=BAR))
            left -= BAR + 1
        words.truncate(max(0, left), overflow="ellipsis")
        row = Table.grid(padding=(0, 1, 0, 0))
        for _ in (*parts, words):
            row.add_column(no_wrap=True)
        row.add_row(*parts, words)
        return row


class Live(StatusLine):
    """The line of a batch: call it with every row, `on_progress` with how far runs are.

    `total` runs, `done` of them before; those are not part of the rate, and neither are the first `jobs` after them,
    which wait for workers and compilation.
    """

    def __init__(self, total: int, done: int, jobs: int) -> None:
        super().__init__("runs", total)
        self._runs, self._before, self._jobs = total, done, jobs
        self._rows = self._failed = 0
        self._warm = monotonic()
        self._going: dict[str, RunProgress] = {}

    def __call__(self, row: dict[str, Any]) -> None:
        self._rows += 1
        self._failed += row["status"] != "done"
        if self._rows > self._before:
            self.heard()
        self._going.pop(row.get("run", ""), None)
        if self._rows == self._before + self._jobs:
            self._warm = monotonic()
        self._counted()

    def anew(self) -> None:
        """Begin to count anew: all that is done will be told again."""
        self._rows = self._before = self._failed = 0
        self._going = {}

    def on_progress(self, progress: RunProgress) -> None:
        """Note how far a run is."""
        self.heard()
        self._going[progress.run] = progress
        self._counted()

    def _counted(self) -> None:
        self.done = self._rows + sum(map(_share, self._going.values()))
        self.now_and_then()

    def far(self) -> str:
        """Say how far it is, as in `312 of 1000, 2 failed, 95 runs/s, 7 s left`."""
        parts = [f"{self._rows} of {self._runs}"]
        if self._failed:
            parts.append(f"{self._failed} failed")
        new, seconds = self._rows - self._before - self._jobs, monotonic() - self._warm
        if new > 0 and seconds > 0:
            rate, share = new / seconds, (self._rows - self._before) / max(1, self._runs - self._before)
            parts.append(f"{rate:.3g} runs/s" if rate >= 1 else f"{60 * rate:.2g} runs/min")
            parts.append(f"{remaining((self._runs - self._rows) / rate, share)} left")
        if going := list(self._going.values()):
            parts.append(f"under way: {', '.join(f'{_share(each):.1%}' for each in going)}")
            if new <= 0 and all(each.requests > each.begun for each in going):
                left = max(each.seconds * (each.of - each.requests) / (each.requests - each.begun) for each in going)
                parts.append(f"{remaining(left, min(map(_share, going)))} left")
        return ", ".join(parts)


def remaining(seconds: float, share: float) -> str:
    """Say how long what is left takes: a range until a tenth is done, because what comes first may be short."""
    return duration(seconds) if share >= KNOWN else f"{duration(seconds / 2)} to {duration(SLOWER * seconds)}"


def _share(progress: RunProgress) -> float:
    return progress.requests / max(1, progress.of)


class CountProgress(StatusLine):
    """The line of something that takes an unknown number of runs: call it with the row of each.

    Tell it that it `looked` at a size; without a terminal that is a line whenever twice as much time has passed.
    """

    def __init__(self) -> None:
        super().__init__("runs")
        self._rows = self._looks = 0
        self._next = self._began + EVERY

    def __call__(self, row: dict[str, Any]) -> None:
        self.heard()
        self._rows += 1

    def looked(self) -> None:
        """Note that there was another look."""
        self._looks, now = self._looks + 1, monotonic()
        if not self.alive and now >= self._next:
            self._next = now + (now - self._began)
            note(f"{self.what}: {self.text()}")

    def far(self) -> str:
        """Say how far it is, as in `120 in 40 s, 12 sizes tried`."""
        tried = f", {self._looks:,} sizes tried" * (self._looks > 0)
        return f"{self._rows:,} in {duration(monotonic() - self._began)}{tried}"


class Iterations(StatusLine):
    """The line of trainings: tell it how many of `total` iterations they have `reached`, `done` of them before."""

    def __init__(self, total: int, done: int) -> None:
        super().__init__("iterations", total, f"{done:,} of {total:,}")
        self.done, self._all = done, total
        self._first: tuple[float, int] | None = None

    def reached(self, done: int, where: str) -> None:
        """Note that so many are done, the last one there; the first one, which waits for compilation, is no pace."""
        self.heard()
        now = monotonic()
        began, before = self._first = self._first or (now, done)
        parts = [f"{done:,} of {self._all:,}", where]
        if done > before:
            seconds = (self._all - done) * (now - began) / (done - before)
            parts.append(f"{remaining(seconds, done / self._all)} left")
        self.done, self.said = done, ", ".join(parts)


def duration(seconds: float) -> str:
    """For people: `7 s`, `12 min`, `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
