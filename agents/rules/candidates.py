"""Finds the few places for a request that simple rules like best, for others to choose from: the top-k filter."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

from binwright.fabric.servers import fits_node, fits_spread
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.jit import inlined, kernel, lean
from binwright.simcore.types import Amounts, Ints

Named: TypeAlias = Literal["none", "best-fit", "internal", "both"]
Filter: TypeAlias = Named | dict[Literal["best-fit", "internal"], int]
"""Who names candidates: by name, with `k` of them, or how many by each."""
K = 5
SIZE = 2**60
"""What a size of room costs beside what is left: more than any server has of a resource, in quanta."""


def counts(filter: Filter, k: int | None) -> tuple[int, int]:
    """Return how many candidates Best-Fit names, and how many `internal`; 0 and 0 stand for all places.

    Of both, Best-Fit names two fifths, rounded down, but one at least: 1 + 2, 2 + 3, 2 + 5, 4 + 6.
    """
    if k is not None and k < 1:
        raise UserError("there must be a candidate", key="k", value=k, remedy="Give a number of 1 or more.")
    if isinstance(filter, dict):
        if k is not None:
            remedy = "Leave k out: the filter says how many there are."
            raise UserError("says again how many candidates there are", key="k", value=k, remedy=remedy)
        found = filter.get("best-fit", 0), filter.get("internal", 0)
        if min(found) < 0 or not sum(found) or filter.keys() - {"best-fit", "internal"}:
            remedy = "Give how many each names: {best-fit: 4, internal: 3}."
            raise UserError("no such filter", key="filter", value=filter, remedy=remedy)
        return found
    if filter not in get_args(Named):
        raise UserError("no such filter", key="filter", value=filter, remedy=suggest(filter, get_args(Named)))
    k = K if k is None else k
    if filter == "both":
        best = max(1, k * 2 // 5)
        return best, k - best
    return (k * (filter == "best-fit"), k * (filter == "internal"))


@kernel
def candidates(free: Ints, capacity: Ints, demand: Amounts, spread: bool, best: int, internal: int) -> Ints:
    """Return places on which the request fits, as codes of a `Scan`, int64 [any]; changes nothing.

    The `best` first ones in Best-Fit's order, then those of the `internal` first ones in the order of the agent
    `internal` that are not among them; as many as there are. All places by their number when both are 0.
    """
    if best + internal == 0:
        return _everywhere(free, demand, spread)
    codes, keys = np.empty(best + internal, np.int64), np.empty((best + internal, 2), np.int64)
    named = _first(free, capacity, demand, spread, False, codes, keys, 0, best)
    end = _first(free, capacity, demand, spread, True, codes, keys, named, internal)
    return codes[: _distinct(codes, named, end)]


@kernel
def _everywhere(free: Ints, demand: Amounts, spread: bool) -> Ints:
    """Return all places on which the request fits."""
    nodes: int = free.shape[1]
    codes, count = np.empty(len(free) * nodes, np.int64), 0
    for server in range(len(free)):
        for node in range(1 if spread else nodes):
            if fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand):
                codes[count] = server * nodes + node
                count += 1
    return codes[:count]


@lean
def _distinct(codes: Ints, named: int, end: int) -> int:
    """Leave out of codes[named:end] what is in codes[:named]; returns how many are left."""
    count = named
    for place in range(named, end):
        known = False
        for other in range(named):
            known |= codes[other] == codes[place]
        if not known:
            codes[count] = codes[place]
            count += 1
    return count


@lean
def _first(
    free: Ints,
    capacity: Ints,
    demand: Amounts,
    spread: bool,
    room: bool,
    codes: Ints,
    keys: Ints,
    start: int,
    most: int,
) -> int:
    """Write the `most` first places behind codes[:start]; returns how many codes there are then.

    A place comes first by the room that its server loses (only if `room`), then by what is left of the first resource
    on the server, both in one number of `keys`; then by the server's number. Of one server the fullest node is first,
    or the emptiest if `room`.
    """
    nodes: int = free.shape[1]
    end = start
    for server in range(len(free)):
        left = 0
        for node in range(nodes):
            left += free[server, node, 0]
        if left < demand[0] or most == 0:
            continue
        full = end == start + most
        if full and (left > keys[end - 1, 0] or (left == keys[end - 1, 0] and server * nodes > codes[end - 1])):
            continue
        for node in range(1 if spread else nodes):
            if not (fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand)):
                continue
            key = left
            if room:
                key += room_lost(free[server], capacity[server], demand, node, nodes, spread) * SIZE
            here = -free[server, node, 0] if room else free[server, node, 0]
            place = min(end, start + most - 1)
            if end == start + most and not _before(key, here, server, codes[place] // nodes, keys, place):
                continue
            end = place + 1
            while place > start and _before(key, here, server, codes[place - 1] // nodes, keys, place - 1):
                codes[place] = codes[place - 1]
                keys[place, 0], keys[place, 1] = keys[place - 1, 0], keys[place - 1, 1]
                place -= 1
            codes[place] = server * nodes + node
            keys[place, 0], keys[place, 1] = key, here
    return end


@lean
def _before(key: int, here: int, server: int, other: int, keys: Ints, place: int) -> bool:
    """Tell whether a place of `server` comes before the one at `place`, which is of the server `other`."""
    first: bool = server < other or (server == other and here < keys[place, 1])
    return key < keys[place, 0] or (key == keys[place, 0] and first)


@inlined
def room_lost(free: Ints, capacity: Ints, demand: Amounts, node: int, nodes: int, spread: bool) -> int:
    """Add up the `_sizes` that a server would lose: all its nodes have room for them now, and not afterwards.

    `free` and `capacity` int64 [nodes, resources] are of the server.
    """
    before = after = 4 + 2 + 1
    for n in range(nodes):
        parts = nodes if spread else int(n == node)
        for r in range(len(demand)):
            taken = demand[r] // parts + (n < demand[r] % parts) if parts else 0
            before &= _sizes(free[n, r], capacity[n, r])
            after &= _sizes(free[n, r] - taken, capacity[n, r])
    return before - after


@kernel
def _sizes(room: int, of: int) -> int:
    """Return for which sizes there is room, as bits: 4 for 80 % of capacity, 2 for 40 %, 1 for 20 %."""
    return 4 * (room * 100 >= of * 80) + 2 * (room * 100 >= of * 40) + (room * 100 >= of * 20)
