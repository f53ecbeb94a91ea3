"""The rule that VMAgent's program calls BestFit."""

from __future__ import annotations

from binwright.agents.rules.cheapest_place import cheapest
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.types import Ints


@cheapest
def best_fit_of_vmagent(free: Ints, capacity: Ints, taken: Ints, node: int) -> int:
    """Prefer the node that keeps most, in billionths of its scarcer resource; of a spread request, the first node."""
    least, n = 1_000_000_000, max(node, 0)
    for r in range(taken.shape[1]):
        if capacity[n, r] > 0:
            least = min(least, int(1e9 * (free[n, r] - taken[n, r]) / capacity[n, r] + 0.5))
    return -least


class BestFitOfVMAgent(ScanAgent):
    """The node that keeps the largest share of its scarcer resource: the opposite of Best-Fit."""

    reference = "Sheng and others 2021, VMAgent: best_fit_action in schedgym/sched_env.py"
    scan = staticmethod(best_fit_of_vmagent)
