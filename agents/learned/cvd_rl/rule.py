"""Decides as CVD-RL does, in a kernel: which candidate leaves the cluster most worth, by a network."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from agents.learned.numa.mlp import dense
from agents.learned.numa.tape import exploring, write
from agents.rules.candidates import candidates
from simcore.jit import kernel
from simcore.vocabulary import Amounts, Floats, Ints

NODES, RESOURCES = 2, 2
LAYERS, WIDTH = 6, 32
"""Of the network: layers with weights, and units of those between."""
BEST, INTERNAL, LOOKAHEAD, DECOMPOSITION = range(4)
"""Places in `how`: candidates of Best-Fit and of `internal`, and as 0 or 1 the other two operators."""


def sizes(lookahead: bool) -> tuple[int, ...]:
    """Return the sizes of the layers. Without looking ahead, what the request takes is seen beside what is free."""
    return (NODES * RESOURCES * (1 if lookahead else 2), *(WIDTH,) * (LAYERS - 1), 1)


@kernel
def look(
    free: Any, capacity: Ints, server: int, node: int, demand: Amounts, spread: bool, ahead: bool, seen: Any
) -> int:
    """Write what the network sees of a server to seen[:count]; returns the count.

    The request goes to `node`, or to both if `spread`, or nowhere for node -1. Of each node it is the free shares, with
    the request there if `ahead`; else those before and the shares that it takes. Which node is which makes no
    difference: the smaller numbers come first. `free` are quanta of any type.
    """
    width = RESOURCES if ahead else 2 * RESOURCES
    for n in range(NODES):
        for r in range(RESOURCES):
            takes = 0
            if node >= 0 and spread:
                takes = demand[r] // 2 + (n < demand[r] % 2)
            elif n == node:
                takes = demand[r]
            left, of = free[server, n, r], capacity[server, n, r]
            seen[n * width + r] = (left - takes if ahead else left) / of
            if not ahead:
                seen[n * width + RESOURCES + r] = takes / of
    for i in range(width):
        if seen[i] != seen[width + i]:
            if seen[i] > seen[width + i]:
                for j in range(width):
                    seen[j], seen[width + j] = seen[width + j], seen[j]
            break
    return NODES * width


@kernel
def look_all(
    free: npt.NDArray[np.float32],
    capacity: Ints,
    demands: npt.NDArray[np.float32],
    spread: npt.NDArray[np.bool_],
    codes: Ints,
    ahead: bool,
    whole: bool,
    seen: npt.NDArray[np.float32],
) -> None:
    """Do the same for learning: writes seen[b], first all servers as they are if `whole`, then those of codes[b]."""
    for b in range(len(codes)):
        demand, row = (int(demands[b, 0]), int(demands[b, 1])), 0
        if whole:
            for server in range(len(capacity)):
                look(free[b], capacity, server, -1, demand, spread[b], ahead, seen[b, row])
                row += 1
        for code in codes[b]:
            look(free[b], capacity, code // NODES, code % NODES, demand, spread[b], ahead, seen[b, row])
            row += 1


@kernel
def worth(
    free: Ints,
    capacity: Ints,
    server: int,
    node: int,
    demand: Amounts,
    spread: bool,
    weights: Floats,
    ahead: bool,
    room: Floats,
) -> float:
    """Return what the network says of what `look` sees; changes `room` float64 [2, WIDTH]."""
    x, y, at = room[0], room[1], 0
    count = look(free, capacity, server, node, demand, spread, ahead, x)
    for _ in range(LAYERS - 1):
        at = dense(x, count, weights, at, y, WIDTH, True)
        x, y, count = y, x, WIDTH
    dense(x, count, weights, at, y, 1, False)
    value: float = y[0]
    return value


@kernel
def best_of(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, how: Floats, codes: Ints
) -> int:
    """Return the best candidate, the first of equals: by what the server gains, or undecomposed by its worth."""
    ahead, room = how[LOOKAHEAD] > 0, np.empty((2, WIDTH))
    best, best_gain, last, before = int(codes[0]), -np.inf, -1, 0.0
    for i in range(len(codes) if len(codes) > 1 else 0):
        server, node = codes[i] // NODES, codes[i] % NODES
        if how[DECOMPOSITION] > 0 and server != last:
            last, before = server, worth(free, capacity, server, -1, demand, spread, weights, ahead, room)
        gain = worth(free, capacity, server, node, demand, spread, weights, ahead, room) - before
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
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, how: Floats, tape: Floats
) -> int:
    """Do the same, but now and then take another candidate, and write all to the tape: changes `tape`."""
    codes = candidates(free, capacity, demand, spread, int(how[BEST]), int(how[INTERNAL]))
    code = exploring(codes, tape)
    if code < 0 and len(codes):
        code = best_of(free, capacity, demand, spread, weights, how, codes)
    write(free, demand, spread, codes, code, tape)
    return code
