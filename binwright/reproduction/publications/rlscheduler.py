"""RLScheduler (Zhang and others 2020): orders of a batch queue on two logs of the model of Lublin and Feitelson."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from binwright.reproduction.claims import Value
from binwright.reproduction.measures import Measure, Runs
from binwright.simcore.types import Floats


def rounded(values: Callable[[Runs, str], Floats], digits: int) -> Measure:
    """Average what the sequences have, and round it as it is printed: without chance it is to be the same number."""

    def measure(runs: Runs, agent: str) -> Value:
        found = values(runs, agent)
        return Value(round(float(found.mean()), digits), None, None, len(found))

    return measure


slowdown = rounded(lambda runs, agent: runs.values(agent, "slowdown_mean"), 2)


@partial(rounded, digits=3)
def utilisation(runs: Runs, agent: str) -> Floats:
    """Divide the work of all jobs by what the machine has until the last one starts, when that program stops."""
    hours, makespan = runs.values(agent, "hours"), runs.values(agent, "makespan")
    found: Floats = runs.values(agent, "utilisation_cpu") * makespan / (3600 * hours)
    return found
