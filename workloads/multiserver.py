"""Requests that may need several servers and bandwidth between them, one per step: the published fabric experiments.

Demands, bandwidths and lifetimes have a random stream each, and every request takes one uniform of each: a change of
one part moves no other, and more requests continue fewer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from binwright.simcore.errors import WorkloadError
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Ints, Workload
from binwright.workloads.demands import Demands

RESOURCES = ("cpu", "mem")


@dataclass(frozen=True, slots=True)
class MultiServerRequests:
    """`requests` requests, one every `step` seconds, each held for an integer 1..`holding` of steps, uniformly.

    `bandwidth` is the range, uniform and with both ends, of what a request needs on every link between its servers, in
    the unit of link capacities: the server-rack links of the published topologies have 1. Nothing is checked here.

    Whole seconds as `step` keep times exact, so that what ends when a request arrives has ended.
    """

    requests: int
    demand: Demands
    holding: int
    bandwidth: tuple[float, float] = (0.1, 1.0)
    step: float = 1.0

    def draw(self, resources: tuple[str, ...], seed: int) -> Workload:
        """Draw the workload of a seed, for a cluster's resources (cpu, mem, in any order; others are not needed).

        Request i has the id i and arrives at i steps. An engine that waits for room may offer it later.
        """
        n = self.requests
        demand = self._demand(resources, seed)
        low, high = (round(end * QUANTUM) for end in self.bandwidth)
        return Workload(
            resources,
            np.arange(n, dtype=np.float64) * self.step,
            (1 + _below(self.holding, n, seed, "lifetimes")).astype(np.float64) * self.step,
            demand,
            np.arange(n),
            low + _below(high - low + 1, n, seed, "bandwidth"),
        )

    def _demand(self, resources: tuple[str, ...], seed: int) -> Ints:
        missing = [name for name in RESOURCES if name not in resources]
        if missing:
            raise WorkloadError(
                f"the cluster has no {' and no '.join(missing)}",
                key="cluster",
                value=list(resources),
                remedy="These requests need cpu and mem: give the servers both.",
            )
        units = self.demand.law().at(stream(seed, "workload", "demands").random(self.requests))
        demand = np.zeros((self.requests, len(resources)), np.int64)
        demand[:, [resources.index(name) for name in RESOURCES]] = units * QUANTUM
        return demand


def _below(end: int, n: int, seed: int, use: str) -> Ints:
    """Uniform integers 0..end - 1, int64 [n], from one uniform each."""
    return (stream(seed, "workload", use).random(n) * end).astype(np.int64)
