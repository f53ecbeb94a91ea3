"""Decides as SchedRL does, in a kernel: the advantage of every place by one network over the whole cluster."""

from __future__ import annotations

import numpy as np

from binwright.agents.heuristics.servers.candidates import candidates
from binwright.agents.learned.numa.mlp import dense
from binwright.agents.learned.numa.replay_buffer import exploring, write
from binwright.simcore.jit import kernel
from binwright.simcore.types import Amounts, Floats, Ints

HIDDEN, WIDTH = 2, 128
"""Layers that the two streams share, and their units, if nothing else is said."""


def trunk(capacity: Ints, width: int = WIDTH, hidden: int = HIDDEN) -> tuple[int, ...]:
    """Return the sizes of the shared layers, which see what is free, the demand, and whether it is spread."""
    return (capacity.size + capacity.shape[2] + 1, *(width,) * hidden)


@kernel
def best_of(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, shape: Floats, codes: Ints
) -> int:
    """Return the candidate with the largest advantage, the first of equals.

    `weights` are what decisions need, `shape` how many shared layers there are, and their units.
    """
    servers, nodes, resources = free.shape
    hidden, width = int(shape[0]), int(shape[1])
    longest, count = max(width, free.size + resources + 1), 0
    x, y = np.empty(longest), np.empty(longest)
    for server in range(servers):
        for node in range(nodes):
            for r in range(resources):
                x[count] = free[server, node, r] / capacity[server, node, r]
                count += 1
    for r in range(resources):
        x[count] = demand[r] / capacity[0, 0, r]
        count += 1
    x[count] = spread
    count += 1
    at = 0
    for _ in range(hidden):
        at = dense(x, count, weights, at, y, width, True)
        x, y, count = y, x, width
    dense(x, count, weights, at, y, servers * nodes, False)
    best = codes[0]
    for code in codes:
        if y[code] > y[best]:
            best = code
    return int(best)


@kernel
def sched_rl(free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, shape: Floats) -> int:
    """Decide as a `Scan` with numbers, for the cluster of the training only."""
    codes = candidates(free, capacity, demand, spread, 0, 0)
    return best_of(free, capacity, demand, spread, weights, shape, codes) if len(codes) else -1


@kernel
def sched_rl_exploring(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, shape: Floats, trajectory: Floats
) -> int:
    """Do the same, but now and then take another place, and write all to the trajectory: changes `trajectory`."""
    codes = candidates(free, capacity, demand, spread, 0, 0)
    code = exploring(codes, trajectory)
    if code < 0 and len(codes):
        code = best_of(free, capacity, demand, spread, weights, shape, codes)
    write(free, demand, spread, codes, code, trajectory)
    return code
