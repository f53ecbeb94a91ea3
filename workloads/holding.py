"""Finds how long requests must be held for a load: what a cluster would hold if everything offered were placed."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor

from binwright.simcore.errors import WorkloadError
from binwright.workloads.demands import Demands

LONGEST = 10**9
"""The most steps that a request may be held."""


def average_load(demands: Demands, capacity: Mapping[str, float], holding: int) -> float:
    """Return the load that requests held 1..`holding` steps put on a cluster with this `capacity` of cpu and mem.

    It is what the cluster would hold in the long run if everything offered, one request a step, were placed at once,
    whether it fits or not; a share of the capacity, averaged over cpu and mem. With the holding times of the fabric
    experiments of arXiv:2106.02412 the uniform demand has .988 on alpha and beta and .96 on gamma and delta, where 95 %
    was printed.
    """
    return _offered(demands, capacity) * (holding + 1) / 2


def _offered(demands: Demands, capacity: Mapping[str, float]) -> float:
    """Return the load that a request adds on average while it is held."""
    demand = dict(zip(("cpu", "mem"), demands.law().mean, strict=True))
    for name in demand:
        if not capacity.get(name, 0) > 0:
            raise WorkloadError(
                f"the cluster has no {name}", key="workload.load", remedy="Load is the mean of those of cpu and mem."
            )
    return sum(demand[name] / capacity[name] for name in demand) / len(demand)


def find_holding(demands: Demands, capacity: Mapping[str, float], load: float) -> int:
    """Find the bound of holding times, in steps, whose `average_load` is nearest to `load`; of two the shorter."""
    least, most = (average_load(demands, capacity, holding) for holding in (1, LONGEST))
    if not least <= load <= most:
        remedy = "Offer larger requests, or take a smaller cluster." if load > most else "Take a larger cluster."
        held = f"every request were held {LONGEST:,} steps" if load > most else "every request lasted one step"
        raise WorkloadError(
            f"no holding time gives this load: if {held}, it would be {most if load > most else least:.1%}",
            key="workload.load",
            value=load,
            remedy=remedy,
        )
    exact = 2 * load / _offered(demands, capacity) - 1
    near = (max(1, floor(exact)), min(LONGEST, floor(exact) + 1))
    return min(near, key=lambda holding: abs(average_load(demands, capacity, holding) - load))
