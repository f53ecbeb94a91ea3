"""A run under way: tells how far it is."""

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple, TypeAlias

from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.build.plan import Run
from binwright.simcore.memmap import release_pages

REPORT_EVERY = 1.0
"""Seconds between two times that it is told how far a run is."""
SHORT, LONG = 0.25, 1.0
"""The seconds that a portion of a run should take."""
PORTION = 1024
"""Decisions of the first portion of a compiled run. Agents in Python may think long: theirs has one."""


class RunProgress(NamedTuple):
    """Says how far a run is: `requests` of `of` arrived, `seconds` after its agent began."""

    run: str
    agent: str
    seed: int
    requests: int
    of: int
    seconds: float


OnProgress: TypeAlias = Callable[[RunProgress], None]


class Reporter:
    """Says now and then how far a run is: a callback of `binwright.fabric.run.play.Watchers`.

    `portion` is after how many decisions it is called first; then the time that decisions take says how many there are
    from call to call.
    """

    def __init__(self, simulation: Simulation, run: Run, on_progress: OnProgress, portion: int = 1) -> None:
        self._simulation, self._on_progress = simulation, on_progress
        self._began = self._reported = monotonic()
        self._portion, self._called = portion, 0.0
        self._so_far = RunProgress(run.name, run.agent.label, run.seed, 0, len(simulation.workload), 0.0)

    def __call__(self) -> int:
        now = monotonic()
        took = now - self._called
        if self._called and took > LONG:
            self._portion = max(1, self._portion // 2)
        elif self._called and took < SHORT:
            self._portion *= 2
        if now >= self._reported + REPORT_EVERY:
            self._reported = now
            release_pages(scattered=True)
            self._on_progress(self._so_far._replace(requests=self._simulation.offered, seconds=now - self._began))
        self._called = monotonic()
        return self._portion
