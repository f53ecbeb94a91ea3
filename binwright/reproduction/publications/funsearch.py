"""FunSearch (Romera-Paredes and others 2024): online bin packing of the OR-Library's and of Weibull's items."""

import numpy as np

from binwright.agents.solver.model.bounds import l2
from binwright.reproduction.claims import Value
from binwright.reproduction.measures import Runs, above
from binwright.workloads.offline import DRAWN, items_of


def excess(runs: Runs, agent: str) -> Value:
    """Measure by how many percent the bins of all instances exceed the bound L2 of Martello and Toth.

    Published instances leave nothing to chance: what is printed is to be the same number.
    """
    instance = runs.condition.partition("=")[2].lower().replace("or", "binpack").replace(" ", "-")
    instances = (items_of(instance, seed) for seed in runs.of(agent)["seed"])
    bounds = np.array([l2(np.sort(items), room) for items, room in instances], np.float64)
    result = above(runs.values(agent, "servers_used_end"), bounds)
    if instance not in DRAWN or result.low is None or result.high is None:
        return Value(round(100 * result.mean, 2), None, None, result.seeds)
    return Value(100 * result.mean, 100 * result.low, 100 * result.high, result.seeds)
