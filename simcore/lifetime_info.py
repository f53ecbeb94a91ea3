"""What agents may know of how long requests stay: predictions, which may be asked again, or nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import AgentError


@dataclass(frozen=True, eq=False)
class LifetimeInfo:
    """What agents are told about a workload: `expected` float64 [n] seconds, NaN where it is hidden.

    `ask(row, first, elapsed)` predicts again: `first` is what was expected, and the request still runs after `elapsed`.
    Without it everything is hidden.
    """

    expected: npt.NDArray[np.float64]
    ask: Callable[[int, float, float], float] | None = None

    @property
    def hidden(self) -> bool:
        """Whether agents are told nothing."""
        return self.ask is None

    def again(self, row: int, elapsed: float) -> float:
        """Ask again about one that still runs after `elapsed` seconds; returns how long it stays in all."""
        if self.ask is None:
            raise unknown()
        first = float(self.expected[row])
        return first if elapsed <= 0 else max(elapsed, self.ask(row, first, elapsed))


@dataclass(slots=True)
class LifetimeOracle:
    """Answers the agents of one run, which know requests by their rows in its record.

    `back` has, for every request that was sent back, the row of the workload and how long it ran, each time.
    """

    foresight: LifetimeInfo
    back: dict[int, tuple[int, Sequence[float]]] = field(default_factory=dict)
    speeds: Any = None

    def __call__(self, row: int, elapsed: float) -> float:
        """Return how long the request of a row is expected to stay in all, now that it still runs after `elapsed`."""
        source, parts = self.back.get(row, (row, ()))
        done = self.speeds.done(row, elapsed) if self.speeds else elapsed
        lifetime = self.foresight.again(source, sum(parts) + done)
        for part in parts:  # one after another, as the engine takes them from what is true
            lifetime -= part
        return self.speeds.stays(row, lifetime) if self.speeds else max(0.0, lifetime)


def unknown() -> AgentError:
    """Make the error that says that a lifetime is hidden."""
    return AgentError(
        "how long requests stay is hidden: write `knowledge: {lifetimes: known}` into the scenario, or how they are "
        "predicted, and `needs_lifetimes = True` into the agent, or take one that does without"
    )
