"""A metric that keeps the moves of a run, for tests to look at."""

from binwright import FinishedRun, metric
from binwright.simcore.moves import Moved

LOG: list[Moved] = []
"""The moves of the last run."""


@metric(heading="moves begun")
def logged(run: FinishedRun) -> int:
    """Keep them in `LOG`; returns how many there are."""
    assert run.moving
    LOG[:] = run.moving.log
    return len(LOG)
