"""Decides as CVD-RL does, in a kernel: which candidate leaves the cluster most worth, by a network."""

from __future__ import annotations

from typing import Any

import numpy as np

from binwright.agents.heuristics.servers.candidates import candidates
from binwright.agents.learned.numa.mlp import dense
from binwright.agents.learned.numa.replay_buffer import exploring, write
from binwright.simcore.jit import kernel
from binwright.simcore.types import Amounts, Floats, Ints

NODES, RESOURCES = 2, 2
LAYERS, WIDTH = 6, 32
"""Of the network, if nothing else is said: layers with weights, and units of those between."""
BEST, INTERNAL, LOOKAHEAD, DECOMPOSITION, DEPTH, BREADTH, UNITS = range(7)
"""Places in `how`: candidates of Best-Fit and of `internal`; as 0 or 1 the other two operators; the network's layers
and units; and last, if it sees absolute sizes, the quanta of each resource that are 1 to it."""


def sizes(
    lookahead: bool, servers: int | None = None, width: int = WIDTH, layers: int = LAYERS, absolute: bool = False
) -> tuple[int, ...]:
    """Return the sizes of the layers of a network that sees one server, or without decomposition so many at once.

    Without looking ahead, of each server what the request takes is seen beside what is free, and the request itself.
    With `absolute` sizes what is free is seen as an amount, too.
    """
    return (inputs(lookahead, absolute) * (servers or 1), *(width,) * (layers - 1), 1)


@kernel
def inputs(ahead: bool, absolute: bool) -> int:
    """Return how many numbers of a server the network sees."""
    amounts = NODES * RESOURCES if absolute else 0
    return amounts + (NODES * RESOURCES if ahead else NODES * 2 * RESOURCES + RESOURCES + 1)


@kernel
def look(
    free: Any,
    capacity: Ints,
    server: int,
    node: int,
    demand: Amounts,
    spread: bool,
    ahead: bool,
    units: Floats,
    seen: Any,
    at: int,
) -> int:
    """Write what the network sees of a server to seen[at:end]; returns `end`.

    The request goes to `node`, or to both if `spread`, or nowhere for node -1. Of each node it is the free shares, with
    the request there if `ahead`; else those before and the shares that it takes, and at last the request: its shares of
    the first node, and whether it is spread. With `units` float64 [resources], not [0], it is also what is free of each
    node in these, and the request is in these. Which node is which makes no difference: the smaller numbers come first.
    `free` are quanta of any type.
    """
    absolute = len(units) > 0
    width = RESOURCES * (1 + (not ahead) + absolute)
    for n in range(NODES):
        for r in range(RESOURCES):
            takes = 0
            if node >= 0 and spread:
                takes = demand[r] // 2 + (n < demand[r] % 2)
            elif n == node:
                takes = demand[r]
            left, of = free[server, n, r], capacity[server, n, r]
            seen[at + n * width + r] = (left - takes if ahead else left) / of
            if not ahead:
                seen[at + n * width + RESOURCES + r] = takes / of
            if absolute:
                seen[at + (n + 1) * width - RESOURCES + r] = (left - takes if ahead else left) / units[r]
    for i in range(at, at + width):
        if seen[i] != seen[width + i]:
            if seen[i] > seen[width + i]:
                for j in range(at, at + width):
                    seen[j], seen[width + j] = seen[width + j], seen[j]
            break
    end = at + NODES * width
    if not ahead:
        for r in range(RESOURCES):
            seen[end + r] = demand[r] / (units[r] if absolute else capacity[server, 0, r])
        seen[end + RESOURCES] = spread
        end += RESOURCES + 1
    return end


@kernel
def look_around(
    free: Any,
    capacity: Ints,
    code: int,
    demand: Amounts,
    spread: bool,
    ahead: bool,
    units: Floats,
    whole: bool,
    seen: Any,
) -> int:
    """Write what the network sees of a choice: the server of `code` alone, or the `whole` cluster; returns how much."""
    chosen, end = code // NODES, 0
    if not whole:
        return look(free, capacity, chosen, code % NODES, demand, spread, ahead, units, seen, 0)
    for server in range(len(capacity)):
        node = code % NODES if server == chosen else -1
        end = look(free, capacity, server, node, demand, spread, ahead, units, seen, end)
    return end


@kernel
def said(count: int, weights: Floats, how: Floats, room: Floats) -> float:
    """Return what the network says of room[0, :count]; changes `room` float64 [2, inputs or units, the larger]."""
    x, y, at, width = room[0], room[1], 0, int(how[BREADTH])
    for _ in range(int(how[DEPTH]) - 1):
        at = dense(x, count, weights, at, y, width, True)
        x, y, count = y, x, width
    dense(x, count, weights, at, y, 1, False)
    value: float = y[0]
    return value


@kernel
def best_of(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, how: Floats, codes: Ints
) -> int:
    """Return the best candidate, the first of equals: by what its server gains, or undecomposed the cluster."""
    ahead, whole, units = how[LOOKAHEAD] > 0, how[DECOMPOSITION] == 0, how[UNITS:]
    seen = inputs(ahead, len(units) > 0) * (len(capacity) if whole else 1)
    room = np.empty((2, max(int(how[BREADTH]), seen)))
    best, best_gain, last, before = int(codes[0]), -np.inf, -1, 0.0
    for i in range(len(codes) if len(codes) > 1 else 0):
        server = codes[i] // NODES
        if not whole and server != last:
            count = look(free, capacity, server, -1, demand, spread, ahead, units, room[0], 0)
            last, before = server, said(count, weights, how, room)
        count = look_around(free, capacity, codes[i], demand, spread, ahead, units, whole, room[0])
        gain = said(count, weights, how, room) - before
        if gain > best_gain:
            best, best_gain = int(codes[i]), gain
    return best


@kernel
def cvd_rl(free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, how: Floats) -> int:
    """Decide as a `Scan` with numbers: the network's, and how to use it."""
    codes = candidates(free, capacity, demand, spread, int(how[BEST]), int(how[INTERNAL]))
    return best_of(free, capacity, demand, spread, weights, how, codes) if len(codes) else -1


@kernel
def cvd_rl_exploring(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, how: Floats, trajectory: Floats
) -> int:
    """Do the same, but now and then take another candidate, and write all to the trajectory: changes `trajectory`."""
    codes = candidates(free, capacity, demand, spread, int(how[BEST]), int(how[INTERNAL]))
    code = exploring(codes, trajectory)
    if code < 0 and len(codes):
        code = best_of(free, capacity, demand, spread, weights, how, codes)
    write(free, demand, spread, codes, code, trajectory)
    return code
