"""Empties servers, those with the fewest requests first, so that they can be switched off or used whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from binwright.agents.rules.moving import Standing, apply, fits, moved
from binwright.agents.rules.moving import standing as standing_of
from binwright.simcore.jit import kernel
from binwright.simcore.moves import Move, Mover, Running
from binwright.simcore.types import Floats, Ints, Request, View


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
    whole = True

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        """Return the moves, in order; none where a request is to be made room for."""
        if request is not None or not len(running.row):
            return []
        now = standing_of(view, running)
        allowed = np.zeros((0, 0), np.bool_)
        if running.may is not None:
            allowed = np.array([running.may(row) for row in running.row.tolist()], np.bool_)
        order = np.argsort(self.key(running), kind="stable").astype(np.int64)
        return moved(running, now, empty(now, order, self.whole, moves, allowed))

    def key(self, running: Running) -> Floats | Ints:
        """Return by what the requests of a server are ordered, [n]: the lowest moves first."""
        return -running.demand[:, 0]


class Lars(Empty):
    """Empties servers, those with the fewest requests first: of each the request that stays longest moves first.

    Short ones then end by themselves, so that a server that is emptied bit by bit costs fewer moves: what finds no
    place, or is one move too many, is left where it is. Otherwise as `empty`.
    """

    reference = "Ling et al. 2025, LAVA: Lifetime Aware VM Allocation, MLSys, arXiv:2412.09840 (LARS)"
    needs_lifetimes = True
    whole = False

    def key(self, running: Running) -> Floats | Ints:
        """Return how long requests are expected to stay on, the longest first."""
        return -running.left


@kernel
def empty(now: Standing, order: Ints, whole: bool, moves: int, allowed: npt.NDArray[np.bool_]) -> Ints:
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
        if not count[server] or closed[server] or took[server] or (whole and count[server] > moves - made):
            continue
        closed[server] = True
        first, missed = made, 0
        for which in order:
            if now.place[which] // nodes != server or made == moves:
                continue
            there = _best_fit(now, which, closed, allowed, False)
            if there < 0:
                missed += 1
                if whole:
                    break
                continue
            old[made], plan[made, 0], plan[made, 1] = now.place[which], which, there
            apply(now, which, there)
            made += 1
        while whole and missed and made > first:
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
