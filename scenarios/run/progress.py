"""A run under way: tells how far it is, and is kept, so that the next command goes on from there."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple, TypeAlias

from binwright.scenarios.build.plan import Run
from binwright.scenarios.run.checkpoints import Keeper
from binwright.simcore.engine import Simulation
from binwright.simcore.memmap import release_pages

KEPT_EVERY = 60.0
"""Seconds between two times that a run is kept."""
SHARE = 0.05
"""Of its time a run may spend on being kept, about: where it takes long, that happens less often."""
TOLD_EVERY = 1.0
"""Seconds between two times that it is told how far a run is."""
SHORT, LONG = 0.25, 1.0
"""The seconds that a portion of a run should take."""
PORTION = 1024
"""Decisions of the first portion of a compiled run. Agents in Python may think long: theirs has one."""


class RunProgress(NamedTuple):
    """Says how far a run is: `requests` of `of` arrived, `seconds` after it began or went on with `begun` of them.

    `kept` says that it was kept just now; `lost` what keeps it from being kept, empty if nothing does; `again` whether
    it went on from where it was kept.
    """

    run: str
    agent: str
    seed: int
    requests: int
    of: int
    seconds: float
    begun: int = 0
    kept: bool = False
    lost: str = ""
    again: bool = False
    batch: int = 0


OnProgress: TypeAlias = Callable[[RunProgress], None]


class Reporter:
    """Says now and then how far a run is, and keeps it: a callback of `binwright.simcore.play.Watchers`.

    With `keeper` the run is kept; without one, `lost` says why not. `portion` is after how many decisions it is called
    first; then the time that decisions take says how many there are from call to call.
    """

    def __init__(
        self,
        simulation: Simulation,
        run: Run,
        on_progress: OnProgress,
        keeper: Keeper | None,
        lost: str,
        portion: int = 1,
    ) -> None:
        self._simulation, self._on_progress, self._keeper = simulation, on_progress, keeper
        self._began = self._told = monotonic()
        self._due = self._began + KEPT_EVERY
        self._portion, self._called = portion, 0.0
        spec = run.agent.label, run.seed
        again = keeper is not None and keeper.again
        self._so_far = RunProgress(
            run.name, *spec, 0, len(simulation.workload), 0.0, simulation.offered, False, lost, again
        )

    def __call__(self) -> int:
        now = monotonic()
        if self._called:
            self._adapt(now - self._called)
        kept = self._keeper is not None and (now >= self._due or self._keeper.many)
        if self._keeper and kept:
            self._keeper.keep()
            took = monotonic() - now
            self._due = now + took + max(KEPT_EVERY, took / SHARE)
        if kept or now >= self._told + TOLD_EVERY:
            self._told = now
            release_pages(here_and_there=True)
            self._on_progress(
                self._so_far._replace(requests=self._simulation.offered, seconds=now - self._began, kept=kept)
            )
        self._called = monotonic()
        return self._portion

    def _adapt(self, seconds: float) -> None:
        """Make the next portion shorter or longer, after one that took so long."""
        if seconds > LONG:
            self._portion = max(1, self._portion // 2)
        elif seconds < SHORT:
            self._portion *= 2
