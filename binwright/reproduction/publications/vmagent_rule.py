"""The rule that VMAgent's program calls BestFit."""

from __future__ import annotations

from binwright.agents.rules.cheapest_place import cheapest
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.jit import inlined
from binwright.simcore.types import Amounts, Ints


@cheapest
def best_fit_of_vmagent(free: Ints, capacity: Ints, demand: Amounts, spread: bool, node: int) -> int:
    """Prefer the node that keeps most, in billionths of its scarcer resource; of a spread request, the first node."""
    return -kept(free[node], capacity[node], demand, len(free) if spread else 1)


@inlined
def kept(free: Ints, capacity: Ints, demand: Amounts, parts: int) -> int:
    """Return the least share of a resource that a node has left after it takes one of so many parts."""
    least = 1_000_000_000
    for r in range(len(demand)):
        if capacity[r] > 0:
            share = 1e9 * (free[r] * parts - demand[r]) / (capacity[r] * parts)
            least = min(least, int(share + 0.5))
    return least


class BestFitOfVMAgent(ScanAgent):
    """The node that keeps the largest share of its scarcer resource: the opposite of Best-Fit."""

    reference = "Sheng and others 2021, VMAgent: best_fit_action in schedgym/sched_env.py"
    scan = staticmethod(best_fit_of_vmagent)
