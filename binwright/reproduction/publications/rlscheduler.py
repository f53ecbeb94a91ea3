"""RLScheduler (Zhang and others 2020): orders of a batch queue on two logs of the model of Lublin and Feitelson."""

from __future__ import annotations

from binwright.reproduction.claims import Value
from binwright.reproduction.measures import Runs, exact


def slowdown(runs: Runs, agent: str) -> Value:
    """Measure the mean bounded slowdown of the sequences."""
    return exact(runs.values(agent, "slowdown_mean"), 2)


def utilisation(runs: Runs, agent: str) -> Value:
    """Divide the work of all jobs by what the machine has until the last one starts, when that program stops."""
    hours, makespan = runs.values(agent, "hours"), runs.values(agent, "makespan")
    return exact(runs.values(agent, "utilisation_cpu") * makespan / (3600 * hours), 3)
