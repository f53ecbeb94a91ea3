"""Finds the fewest moves that make room for a request on one place: MakeRoom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from binwright.simcore.jit import inlined, kernel
from binwright.simcore.moves import Move, Mover, Running
from binwright.simcore.types import Ints, Request, View

MOST = 3
"""More moves for one request are not looked for: the search would take too long."""
UNKNOWN, LEAVES, STAYS = range(3)
"""Whether a request has room on any other server than its own."""


class MakeRoom(Mover):
    """Moves the fewest requests off one place so that a request fits there, three at most.

    All places and all sets of requests there are tried; each of these goes to a place with room, in the order of their
    rows. Of equals the place with the lowest number wins, then the lowest rows, then the lowest places to go to. It
    plans nothing where no request needs room.
    """

    reference = "ours: exhaustive search over the requests of one place"
    reschedules = False

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        """Search with one move, then with two, then with three."""
        if request is None:
            return []
        order = np.argsort(running.server, kind="stable")
        server, node, demand = running.server[order], running.node[order], running.demand[order]
        first = np.searchsorted(server, np.arange(len(view.free) + 1))
        found = np.zeros((MOST, 2), np.int64)
        wanted, spread = np.array(request.demand), request.spread
        count = fewest(view.free.copy(), first, node, demand, wanted, spread, min(moves, MOST), found)
        nodes, plan = view.free.shape[1], []
        for item, place in found[:count].tolist():
            moved = running.request(int(running.row[order[item]]))
            plan.append(
                Move(moved.index, moved.across(place, nodes) if moved.spread else moved.on(*divmod(place, nodes)))
            )
        return plan


@inlined
def _has_room(free: Ints, server: int, node: int, demand: Ints) -> bool:
    """Tell whether a demand fits on a node, or spread over a server where the node is -1."""
    nodes, fits = free.shape[1], True
    for n in range(nodes if node < 0 else 1):
        for r in range(len(demand)):
            if node < 0:
                fits &= free[server, n, r] >= demand[r] // nodes + (n < demand[r] % nodes)
            else:
                fits &= free[server, node, r] >= demand[r]
    return fits


@inlined
def _free_up(free: Ints, server: int, node: int, demand: Ints, sign: int) -> None:
    """Give back what a demand holds (sign 1), or take it (sign -1); changes `free`."""
    nodes = free.shape[1]
    for n in range(nodes if node < 0 else 1):
        for r in range(len(demand)):
            if node < 0:
                free[server, n, r] += sign * (demand[r] // nodes + (n < demand[r] % nodes))
            else:
                free[server, node, r] += sign * demand[r]


@inlined
def _can_leave(free: Ints, server: int, node: int, demand: Ints) -> int:
    """Tell whether a request that is on a server has room on another one: `LEAVES` or `STAYS`."""
    for other in range(len(free)):
        for n in range(1 if node < 0 else free.shape[1]):
            if other != server and _has_room(free, other, -1 if node < 0 else n, demand):
                return LEAVES
    return STAYS


@kernel
def fewest(
    free: Ints, first: Ints, node: Ints, demand: Ints, wanted: Ints, spread: bool, most: int, found: Ints
) -> int:
    """Write to `found` int64 [most, 2] which requests move to which places, and return how many; 0 for no way.

    `free` int64 [servers, nodes, resources] is changed on the way. Requests `first[s]` to `first[s + 1]` lie on server
    s, on `node` [n], -1 where spread, with `demand` [n, resources]. A place is server * nodes + node, or a server.
    """
    servers, nodes = free.shape[0], free.shape[1]
    leaves = np.zeros(len(node), np.int8)
    chosen, at = np.zeros(most, np.int64), np.zeros(most, np.int64)
    for count in range(1, most + 1):
        for place in range(servers if spread else servers * nodes):
            server, target = (place, -1) if spread else (place // nodes, place % nodes)
            begin, end = first[server], first[server + 1]
            if end - begin < count:
                continue
            for k in range(count):
                chosen[k] = begin + k
            while True:
                for k in range(count):
                    _free_up(free, server, node[chosen[k]], demand[chosen[k]], 1)
                enough = _has_room(free, server, target, wanted)
                for k in range(count):
                    _free_up(free, server, node[chosen[k]], demand[chosen[k]], -1)
                for k in range(count if enough else 0):
                    if leaves[chosen[k]] == UNKNOWN:
                        leaves[chosen[k]] = _can_leave(free, server, node[chosen[k]], demand[chosen[k]])
                # -- where they go, the last one's place changing fastest; `at` is -1 where none is chosen yet
                level = 0 if enough else -1
                at[0] = -1
                while level >= 0:
                    item = chosen[level]
                    own = node[item]
                    width = 1 if own < 0 else nodes
                    home = server * width + max(own, 0)
                    if at[level] >= 0:
                        _free_up(free, server, own, demand[item], -1)
                        on = -1 if own < 0 else at[level] % width
                        _free_up(free, at[level] // width, on, demand[item], 1)
                    low, high = (
                        (server * width, (server + 1) * width) if leaves[item] == STAYS else (0, servers * width)
                    )
                    following = max(at[level] + 1, low)
                    while following < high:
                        on = -1 if own < 0 else following % width
                        if following != home and _has_room(free, following // width, on, demand[item]):
                            break
                        following += 1
                    if following >= high:
                        level -= 1
                        continue
                    at[level] = following
                    on = -1 if own < 0 else following % width
                    _free_up(free, following // width, on, demand[item], -1)
                    _free_up(free, server, own, demand[item], 1)
                    if level < count - 1:
                        level += 1
                        at[level] = -1
                    elif _has_room(free, server, target, wanted):
                        for k in range(count):
                            found[k, 0], found[k, 1] = chosen[k], at[k]
                        return count
                # -- the next set of requests
                k = count - 1
                while k >= 0 and chosen[k] == end - count + k:
                    k -= 1
                if k < 0:
                    break
                chosen[k] += 1
                for later in range(k + 1, count):
                    chosen[later] = chosen[later - 1] + 1
    return 0
