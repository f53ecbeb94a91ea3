"""Empties servers, those with the fewest requests first, so that they can be switched off or used whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.simcore.jit import kernel
from binwright.simcore.moves import Move, Mover, Running
from binwright.simcore.types import Ints, Request, View


class Standing(NamedTuple):
    """Holds what runs, in arrays that may be written.

    `free` and `capacity` int64 [servers, nodes, resources] quanta; request i is of the kind `kind` int64 [n], whose
    demand is `demands` int64 [kinds, resources] and which is spread where `spread` int64 [kinds] is 1. It is at the
    place `place` int64 [n], a code server * nodes + node, whose node is 0 for a spread request.
    """

    free: Ints
    capacity: Ints
    demands: Ints
    spread: Ints
    kind: Ints
    place: Ints


class Empty(Mover):
    """Empties whole servers, those with the fewest requests first: fewer servers are in use.

    Its requests go, the largest first, where Best-Fit puts them on other servers in use. A server is emptied only if
    all find a place within the moves that are left; one that has been looked at receives none, and one that has
    received some is not emptied. Requests that may not lie where they are, as on a server that is being drained, come
    first, and go to unused servers if need be.
    """

    reference = "ours"
    makes_room = False
    keeps_rules: ClassVar[bool] = True

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        """Return the moves, in order; none where a request is to be made room for."""
        if request is not None or not len(running.row):
            return []
        now = standing(view, running)
        allowed = np.zeros((0, 0), np.bool_)
        if running.may is not None:
            allowed = np.array([running.may(row) for row in running.row.tolist()], np.bool_)
        order = np.argsort(-running.demand[:, 0], kind="stable").astype(np.int64)
        return moved(running, now, empty(now, order, moves, allowed))


def standing(view: View, running: Running) -> Standing:
    """Copy what a mover is shown."""
    nodes, resources = view.capacity.shape[1:]
    what = np.column_stack([running.demand.reshape(-1, resources), running.node < 0]).astype(np.int64)
    kinds, kind = np.unique(what, axis=0, return_inverse=True)
    place = running.server * nodes + np.maximum(running.node, 0)
    return Standing(
        view.free.copy(),
        np.ascontiguousarray(view.capacity),
        np.ascontiguousarray(kinds[:, :-1]),
        np.ascontiguousarray(kinds[:, -1]),
        kind.reshape(-1).astype(np.int64),
        place.astype(np.int64),
    )


def moved(running: Running, now: Standing, plan: Ints) -> list[Move]:
    """Turn a plan, int64 [moves, 2] of requests and places, into moves."""
    nodes, found = now.free.shape[1], []
    for which, place in plan.tolist():
        request = running.request(int(running.row[which]))
        server, node = divmod(place, nodes)
        there = request.across(server, nodes) if now.spread[now.kind[which]] else request.on(server, node)
        found.append(Move(int(running.row[which]), there))
    return found


@kernel
def part_of(amount: int, node: int, nodes: int) -> int:
    """Return what a node gives to a request that is spread over all of a server's nodes."""
    return amount // nodes + (node < amount % nodes)


@kernel
def shift(free: Ints, demand: Ints, spread: int, node: int, sign: int) -> None:
    """Add `sign` times a demand to what a server has free, int64 [nodes, resources], which changes."""
    nodes = len(free)
    for r in range(len(demand)):
        if spread:
            for n in range(nodes):
                free[n, r] += sign * part_of(demand[r], n, nodes)
        else:
            free[node, r] += sign * demand[r]


@kernel
def fits(free: Ints, demand: Ints, spread: int, node: int) -> bool:
    """Tell whether a demand fits on a node, or on all nodes, of a server that has so much `free`."""
    nodes = len(free)
    for r in range(len(demand)):
        if spread:
            for n in range(nodes):
                if free[n, r] < part_of(demand[r], n, nodes):
                    return False
        elif free[node, r] < demand[r]:
            return False
    return True


@kernel
def apply(now: Standing, which: int, place: int) -> None:
    """Move a request, in arrays that change."""
    nodes, kind = now.free.shape[1], now.kind[which]
    demand, spread, old = now.demands[kind], now.spread[kind], now.place[which]
    shift(now.free[old // nodes], demand, spread, old % nodes, 1)
    shift(now.free[place // nodes], demand, spread, place % nodes, -1)
    now.place[which] = place


@kernel
def empty(now: Standing, order: Ints, moves: int, allowed: npt.NDArray[np.bool_]) -> Ints:
    """Return at most so many moves, int64 [any, 2] of requests and places; `now` is changed by them.

    `order` int64 [n] sorts the requests; `allowed` bool [n, servers] says where they may lie, [0, 0] for anywhere.
    """
    servers, nodes = now.free.shape[0], now.free.shape[1]
    plan, old = np.empty((moves, 2), np.int64), np.empty(moves, np.int64)
    made = 0
    closed = np.zeros(servers, np.bool_)
    for which in order:
        if len(allowed) and not allowed[which, now.place[which] // nodes]:
            closed[now.place[which] // nodes] = True
    for which in order:
        if len(allowed) and made < moves and not allowed[which, now.place[which] // nodes]:
            there = _best_fit(now, which, closed, allowed, True)
            if there >= 0:
                plan[made, 0], plan[made, 1] = which, there
                apply(now, which, there)
                made += 1
    count, held = np.zeros(servers, np.int64), np.zeros((servers, now.free.shape[2]), np.int64)
    for which in range(len(now.kind)):
        server = now.place[which] // nodes
        count[server] += 1
        held[server] += now.demands[now.kind[which]]
    for server in range(servers):
        if np.any(now.capacity[server].sum(axis=0) - now.free[server].sum(axis=0) != held[server]):
            count[server] = 0  # something else is on it
    took = np.zeros(servers, np.bool_)
    for server in np.argsort(count, kind="mergesort"):
        if not count[server] or closed[server] or took[server] or count[server] > moves - made:
            continue
        closed[server] = True
        first, missed = made, False
        for which in order:
            if now.place[which] // nodes != server:
                continue
            there = _best_fit(now, which, closed, allowed, False)
            if there < 0:
                missed = True
                break
            old[made], plan[made, 0], plan[made, 1] = now.place[which], which, there
            apply(now, which, there)
            made += 1
        while missed and made > first:
            made -= 1
            apply(now, plan[made, 0], old[made])
        for step in range(first, made):
            took[plan[step, 1] // nodes] = True
    return plan[:made]


@kernel
def _best_fit(
    now: Standing, which: int, closed: npt.NDArray[np.bool_], allowed: npt.NDArray[np.bool_], any_server: bool
) -> int:
    """Return the place on the server, then the node, with the least free of the first resource; -1 if there is none.

    Servers in use come before the others, which take part with `any_server` only.
    """
    servers, nodes = now.free.shape[0], now.free.shape[1]
    kind = now.kind[which]
    best, least = -1, (True, 0, 0)
    for server in range(servers):
        if closed[server] or (len(allowed) and not allowed[which, server]):
            continue
        unused = bool(np.all(now.free[server] == now.capacity[server]))
        if unused and not any_server:
            continue
        for node in range(1 if now.spread[kind] else nodes):
            if fits(now.free[server], now.demands[kind], now.spread[kind], node):
                key = (unused, now.free[server, :, 0].sum(), 0 if now.spread[kind] else now.free[server, node, 0])
                if best < 0 or key < least:
                    best, least = server * nodes + node, key
    return best
