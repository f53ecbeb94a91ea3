"""What a batch says while it goes on: done, failed, rate, time left."""

from __future__ import annotations

from threading import Timer
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.progress import BarColumn, Progress, TextColumn

from binwright.commands.console import notes, say

if TYPE_CHECKING:
    from scenarios.run.going import Told

EVERY = 10.0
"""Seconds between lines where there is no terminal to keep one alive on."""
LONG = 60.0
"""Seconds after which it is said of a run that it is not kept: whoever waits for it should know."""
STARTING = "no run has finished yet; what is new on this machine is compiled first, which may take a minute"


class Live:
    """A line on stderr that lives from entering to leaving the `with`; call it with every row, `told` with progress.

    `total` runs, `done` of them before; those are not part of the rate, and neither are the first `jobs` after them,
    which wait for workers and compilation. Without a terminal it is a line every EVERY seconds, and none of a short
    batch; if no run finishes for so long, one says what may be the reason.
    """

    def __init__(self, total: int, done: int, jobs: int) -> None:
        self._total, self._before, self._rows, self._failed = total, done, 0, 0
        self._jobs = jobs
        self._going: dict[str, Told] = {}
        self._lost: set[str] = set()
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"),
            console=notes, transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task("runs", total=total, text="")
        self._silence = Timer(EVERY, self._say, [STARTING])
        self._silence.daemon = True

    def __enter__(self) -> Self:
        self._warm = self._said = monotonic()
        if notes.is_terminal:
            self._bar.start()
        self._silence.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._silence.cancel()
        if notes.is_terminal:
            self._bar.stop()

    def __call__(self, row: dict[str, Any]) -> None:
        self._rows += 1
        self._failed += row["status"] != "done"
        if self._rows > self._before:
            self._silence.cancel()
        self._going.pop(row.get("run", ""), None)
        if self._rows == self._before + self._jobs:
            self._warm = monotonic()
        self._say_now_and_then()

    def told(self, told: Told) -> None:
        """Note how far a run is; say where one goes on, and once of every agent why its long runs begin anew, if so."""
        self._silence.cancel()
        if told.again and told.run not in self._going:
            say(f"a run of {told.agent} goes on from {told.begun / max(1, told.of):.1%}")
        self._going[told.run] = told
        if told.lost and told.seconds > LONG and told.agent not in self._lost:
            self._lost.add(told.agent)
            said = f"a run of {told.agent} begins anew when it is interrupted: {told.lost}"
            say(said)
        self._say_now_and_then()

    def _say_now_and_then(self) -> None:
        if notes.is_terminal or monotonic() - self._said >= EVERY:
            self._say(self.text())

    def _say(self, text: str) -> None:
        if notes.is_terminal:
            self._bar.update(self._task, completed=self._rows + sum(map(_share, self._going.values())), text=text)
        else:
            self._said = monotonic()
            say(text)

    def text(self) -> str:
        """Say it in a line, such as `312 of 1000, 2 failed, 95 runs/s, 7 s left`."""
        parts = [f"{self._rows} of {self._total}"]
        if self._failed:
            parts.append(f"{self._failed} failed")
        new, seconds = self._rows - self._before - self._jobs, monotonic() - self._warm
        if new > 0 and seconds > 0:
            rate = new / seconds
            parts.append(f"{rate:.3g} runs/s" if rate >= 1 else f"{60 * rate:.2g} runs/min")
            parts.append(f"{duration((self._total - self._rows) / rate)} left")
        if going := list(self._going.values()):
            parts.append(f"under way: {', '.join(f'{_share(each):.1%}' for each in going)}")
            if new <= 0 and all(each.requests > each.begun for each in going):
                left = max(each.seconds * (each.of - each.requests) / (each.requests - each.begun) for each in going)
                parts.append(f"{duration(left)} left of {'it' if len(going) == 1 else 'them'}")
        return ", ".join(parts)


def _share(told: Told) -> float:
    return told.requests / max(1, told.of)


def duration(seconds: float) -> str:
    """For people: `7 s`, `12 min`, `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
