"""What one feature of a place is, for rules that are compiled: as `agents.formulas.program` has it for many places."""

from __future__ import annotations

from binwright.agents.formulas.vocabulary import (
    AFTER,
    CAPACITY,
    DEMAND,
    FREE_SHARE,
    LEAST,
    NODES,
    OTHER,
    PLACE,
    SHARE,
    SPREAD,
)
from binwright.simcore.jit import lean_numeric_inlined
from binwright.simcore.types import QUANTUM, Amounts, Ints


@lean_numeric_inlined
def feature(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, node: int, quantity: int, scope: int, r: int
) -> float:
    """Return what a `Feature` is for a request on `node` of a server; `free`, `capacity` int64 [nodes, resources]."""
    nodes = len(free)
    asked = 0
    for each in range(len(demand)):
        asked += demand[each] * (each == r)
    if quantity == NODES:
        return 1.0 * nodes
    if quantity == SPREAD:
        return 1.0 * spread
    if quantity == DEMAND:
        return asked / QUANTUM
    amount, installed, extreme, there = 0, 0, 0.0, False
    for n in range(nodes):
        own = spread or n == node
        if (scope == PLACE and not own) or (scope == OTHER and own):
            continue
        one, here = capacity[n, r] if quantity == CAPACITY else free[n, r], capacity[n, r]
        if own and (quantity in (AFTER, SHARE)):
            one -= asked // nodes + (n < asked % nodes) if spread else asked
        amount += one
        installed += here
        if scope >= LEAST and here > 0:
            value = one / (here if quantity in (SHARE, FREE_SHARE) else QUANTUM)
            if not there or (value < extreme if scope == LEAST else value > extreme):
                extreme = value
            there = True
    if scope >= LEAST:
        return extreme
    if quantity in (SHARE, FREE_SHARE):
        return amount / installed if installed > 0 else 0.0
    return amount / QUANTUM
