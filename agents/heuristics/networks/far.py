"""Keeps which servers of a whole network are best for what a request still needs, while Best-Home answers it.

Many homes come to need the same, and look for it in other pods: there the best servers are the same for all of them.
"""

from __future__ import annotations

from agents.heuristics.networks.bounds import can_better
from agents.heuristics.networks.homes import FAR, NONE, WHOLE, Homes, worth
from simcore.jit import lean, lean_inlined

SERVER, COMPLETE, VALUE, COST = range(4)
"""Columns of `Homes.far`."""


@lean
def far_row(homes: Homes, bandwidth: int, level: int) -> int:
    """Return the row of `Homes.far` that has the best servers for what is needed; FAR when there is no room left."""
    needs, need, rows = homes.needs, homes.network.room.need, homes.asked[0]
    for row in range(rows):
        same = True
        for r in range(len(need)):
            same &= needs[row, r] == need[r]
        if same:
            return row
    if rows < FAR:
        homes.asked[0] += 1
        for r in range(len(need)):
            needs[rows, r] = need[r]
        _search(homes, bandwidth, level, rows)
    return int(rows)


@lean
def _search(homes: Homes, bandwidth: int, level: int, row: int) -> None:
    """Write the best servers with the bandwidth to a row: by completing, by value, and in order of racks."""
    tree, far, everything = homes.tree[level], homes.far[row], homes.there.shape[1] - 1
    leaves, last, weights, need, wanted = (
        len(tree) // 2,
        len(far) - 1,
        homes.weights,
        homes.network.room.need,
        homes.wanted,
    )
    far[:, SERVER] = NONE
    at = 1
    while at > 0:
        out = tree[at, everything] < bandwidth or tree[at, everything + 1] < 0
        if far[last, SERVER] >= 0:
            complete, value = far[last, COMPLETE] > 0, far[last, VALUE]
            out = out or not can_better(tree, weights, need, wanted, at, complete, value)
        if not out and at >= leaves:
            for place in range(homes.until[at - leaves], homes.until[at - leaves + 1]):
                if homes.there[place, everything] > 0 and homes.wires[place] >= bandwidth:
                    _enter(homes, row, place, bandwidth)
        at = after(at, leaves, out)


@lean_inlined
def after(at: int, leaves: int, out: bool) -> int:
    """Return the next place of a tree in order, after one that is left `out` with all below it or not; 0 at the end."""
    if not out and at < leaves:
        return 2 * at
    while at & 1:
        at //= 2
    return at + (at > 0)


@lean
def _enter(homes: Homes, row: int, place: int, bandwidth: int) -> None:
    """Enter the server at a place in a row, behind all that are as good, if it belongs there."""
    far = homes.far[row]
    given, cost, completes = worth(homes, place, bandwidth, False)
    value, at = WHOLE * given - cost, len(far)
    if given == 0 and not completes:
        return
    while at > 0 and (far[at - 1, SERVER] < 0 or (completes, value) > (far[at - 1, COMPLETE] > 0, far[at - 1, VALUE])):
        at -= 1
        if at + 1 < len(far):
            for column in range(far.shape[1]):
                far[at + 1, column] = far[at, column]
    if at < len(far):
        far[at, SERVER], far[at, COMPLETE] = homes.order[place], completes
        far[at, VALUE], far[at, COST] = value, cost
