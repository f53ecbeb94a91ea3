"""Defragments greedily: the one move that helps most, again and again; else several of one node that leave together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from binwright.agents.rules.moving import (
    NOWHERE,
    Aim,
    Goal,
    Standing,
    aim_at,
    apply,
    checked_size,
    fits,
    loss,
    losses,
    moved,
    shift,
)
from binwright.agents.rules.moving import standing as standing_of
from binwright.simcore.errors import UserError
from binwright.simcore.jit import kernel
from binwright.simcore.moves import Move, Mover, Running
from binwright.simcore.types import Ints, Request, View


@kernel
def tightest(now: Standing, aim: Aim, kind: int, source: int) -> tuple[int, int]:
    """Return the place on a server but `source` that loses least when a request of a kind comes, and its gain.

    Of equals the one with the least free of the first resource, then the lowest; (-1, `NOWHERE`) if there is none.
    """
    servers, nodes = now.free.shape[0], now.free.shape[1]
    demand, spread = now.demands[kind], now.spread[kind]
    scratch = np.empty(now.free.shape[1:], np.int64)
    best, gain, left = -1, NOWHERE, 0
    for server in range(servers):
        if server == source:
            continue
        for node in range(1 if spread else nodes):
            if not fits(now.free[server], demand, spread, node):
                continue
            scratch[:] = now.free[server]
            shift(scratch, demand, spread, node, -1)
            found = loss(now.free[server], aim) - loss(scratch, aim)
            rest = scratch[:, 0].sum() if spread else scratch[node, 0]
            if best < 0 or found > gain or (found == gain and rest < left):
                best, gain, left = server * nodes + node, found, rest
    return best, gain


@kernel
def group(now: Standing, aim: Aim, most: int, banned: Ints, places: Ints, gains: Ints) -> tuple[int, int]:
    """Return the node, as a place, of which some requests are to leave, and how many; (-1, 0) if that helps nowhere.

    They leave in the order of `leavers`, at most so many; the best is what gains most per move, then the fewest moves,
    then the lowest place. `banned` int64 [places] is 1 where this has been tried. `places` and `gains` int64 [servers,
    kinds] are what `tightest` says for requests that leave each server.
    """
    nodes = now.free.shape[1]
    best, count, gain = -1, 1, 0
    scratch = np.empty(now.free.shape[1:], np.int64)
    for place in range(len(banned)):
        server = place // nodes
        if banned[place]:
            continue
        scratch[:] = now.free[server]
        here, coming = loss(now.free[server], aim), 0
        for made, which in enumerate(leavers(now, place, places[server], gains[server])[:most], 1):
            kind = now.kind[which]
            shift(scratch, now.demands[kind], now.spread[kind], place % nodes, 1)
            coming += gains[server, kind]
            found = here - loss(scratch, aim) + coming
            if found > 0 and (found * count > gain * made or (found * count == gain * made and made < count)):
                best, count, gain = place, made, found
    return (best, count) if best >= 0 else (-1, 0)


@kernel
def leavers(now: Standing, place: int, places: Ints, gains: Ints) -> Ints:
    """Return the requests of a node that go elsewhere without a loss there, int64 [any], the largest first.

    A spread request is of all nodes of its server. `places` and `gains` int64 [kinds] are of its server.
    """
    nodes, count = now.free.shape[1], 0
    found = np.empty(len(now.kind), np.int64)
    for which in range(len(now.kind)):
        kind, at = now.kind[which], now.place[which]
        on = at // nodes == place // nodes if now.spread[kind] else at == place
        if on and places[kind] >= 0 and gains[kind] >= 0:
            spot = count
            while spot and now.demands[now.kind[found[spot - 1]], 0] < now.demands[kind, 0]:
                found[spot] = found[spot - 1]
                spot -= 1
            found[spot] = which
            count += 1
    return found[:count]


@kernel
def together(now: Standing, aim: Aim, most: int, banned: Ints, plan: Ints) -> int:
    """Move the best group, and write it to `plan` int64 [moves, 2]; returns how many moves that were, 0 for none.

    Every request goes to the tightest place when it is its turn. What then turns out not to help is undone, and
    `banned`, which changes.
    """
    servers, nodes = now.free.shape[0], now.free.shape[1]
    places = np.full((servers, len(now.demands)), -1, np.int64)
    gains = np.full((servers, len(now.demands)), NOWHERE, np.int64)
    for kind in range(len(now.demands)):
        first, gain = tightest(now, aim, kind, -1)
        places[:, kind], gains[:, kind] = first, gain
        if first >= 0:
            own = first // nodes
            places[own, kind], gains[own, kind] = tightest(now, aim, kind, own)
    while True:
        source, count = group(now, aim, min(most, len(plan)), banned, places, gains)
        if source < 0:
            return 0
        server = source // nodes
        before, made = losses(now.free, aim), 0
        old = np.empty(count, np.int64)
        for which in leavers(now, source, places[server], gains[server])[:count]:
            there, _ = tightest(now, aim, now.kind[which], server)
            if there < 0:
                break
            old[made] = now.place[which]
            plan[made, 0], plan[made, 1] = which, there
            apply(now, which, there)
            made += 1
        if losses(now.free, aim) < before:
            return made
        for step in range(made - 1, -1, -1):
            apply(now, plan[step, 0], old[step])
        banned[source] = 1


class Defragment(Mover):
    """At each step the one move, of any request to any place, that lowers the goal most; none that lowers it not.

    Where no single move does, up to `together` requests of one node leave together: those that gain most per move.

    `goal` is `fragments` (what requests of a `size` cannot use of the first resource, node by node: VMR2L's fragment
    rate) or `stranded` (what the usual requests among those that run cannot use, on average: FGD's measure). `size` is
    in units, by default what the largest usual request takes of a node. Of equal moves the request of the lowest row
    goes, to the lowest place.
    """

    reference = "goal fragments: Ding et al. 2025, VMR2L, EuroSys; goal stranded: Weng et al. 2023, FGD, USENIX ATC"
    makes_room = False

    def __init__(self, goal: Goal = "fragments", size: float | None = None, together: int = 4) -> None:
        self._goal, self._size, self._together = goal, checked_size(size), together
        if together < 1:
            remedy = "Give 1 for single moves, or more."
            raise UserError("no request leaves alone or with others", key="together", value=together, remedy=remedy)

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        """Return the moves, in order; none where a request is to be made room for, which is no goal of this mover."""
        if request is not None or not len(running.row):
            return []
        now = standing_of(view, running)
        return moved(running, now, defragment(now, aim_at(self._goal, self._size, now), moves, self._together))


def defragment(now: Standing, aim: Aim, moves: int, most: int) -> Ints:
    """Return at most so many moves, int64 [any, 2] of requests and places; `now` is changed by them.

    Single moves come first; where none helps, at most `most` requests leave a node together.
    """
    plan, banned = greedy(now, aim, moves), np.zeros(now.free.shape[0] * now.free.shape[1], np.int64)
    while most > 1 and len(plan) < moves:
        more = np.empty((moves - len(plan), 2), np.int64)
        made = together(now, aim, most, banned, more)
        if not made:
            break
        plan = np.concatenate([plan, more[:made]])
        plan = np.concatenate([plan, greedy(now, aim, moves - len(plan))])
    return plan


@kernel
def greedy(now: Standing, aim: Aim, moves: int) -> Ints:
    """Return at most so many moves, int64 [any, 2] of requests and places; `now` is changed by them."""
    servers, nodes = now.free.shape[0], now.free.shape[1]
    requests, kinds = len(now.kind), len(now.demands)
    here = np.empty(servers, np.int64)
    coming = np.empty((kinds, servers * nodes), np.int64)
    going = np.empty(requests, np.int64)
    scratch = np.empty(now.free.shape[1:], np.int64)
    plan = np.empty((moves, 2), np.int64)
    first, second = np.empty(kinds, np.int64), np.empty(kinds, np.int64)
    from_server, to_server = -1, -1
    for step in range(moves):
        for server in range(servers):
            if step == 0 or server in (from_server, to_server):
                here[server] = loss(now.free[server], aim)
                _come(now, aim, server, here[server], scratch, coming)
        for which in range(requests):
            server = now.place[which] // nodes
            if step == 0 or server in (from_server, to_server):
                kind, old = now.kind[which], now.place[which]
                scratch[:] = now.free[server]
                shift(scratch, now.demands[kind], now.spread[kind], old % nodes, 1)
                going[which] = here[server] - loss(scratch, aim)
        for kind in range(kinds):
            first[kind], second[kind] = _two_best(coming[kind], nodes)
        best, chosen, there = 0, -1, -1
        for which in range(requests):
            kind, server = now.kind[which], now.place[which] // nodes
            place = first[kind]
            if place >= 0 and place // nodes == server:
                place = second[kind]
            gain = going[which] + coming[kind, place] if place >= 0 else 0
            if place < 0 or gain <= 0:
                gain, place = 0, -1
            if not now.spread[kind]:
                gain, place = _within(now, aim, which, here[server], scratch, gain, place)
            if gain > best:
                best, chosen, there = gain, which, place
        if chosen < 0:
            return plan[:step]
        from_server, to_server = now.place[chosen] // nodes, there // nodes
        apply(now, chosen, there)
        plan[step, 0], plan[step, 1] = chosen, there
    return plan


@kernel
def _come(now: Standing, aim: Aim, server: int, here: int, scratch: Ints, coming: Ints) -> None:
    """Write what a server gains when a request of each kind comes to each of its nodes, `NOWHERE` if it cannot."""
    nodes = now.free.shape[1]
    for kind in range(len(now.demands)):
        demand, spread = now.demands[kind], now.spread[kind]
        for node in range(nodes):
            found = NOWHERE
            if not (spread and node) and fits(now.free[server], demand, spread, node):
                scratch[:] = now.free[server]
                shift(scratch, demand, spread, node, -1)
                found = here - loss(scratch, aim)
            coming[kind, server * nodes + node] = found


@kernel
def _two_best(gains: Ints, nodes: int) -> tuple[int, int]:
    """Return the place with the highest gain, and that on another server; -1 for none, the lowest of equals."""
    first, second = -1, -1
    for place in range(len(gains)):
        if gains[place] == NOWHERE:
            continue
        if first < 0 or gains[place] > gains[first]:
            if first < 0 or place // nodes != first // nodes:
                second = first
            first = place
        elif place // nodes != first // nodes and (second < 0 or gains[place] > gains[second]):
            second = place
    return first, second


@kernel
def _within(now: Standing, aim: Aim, which: int, here: int, scratch: Ints, gain: int, place: int) -> tuple[int, int]:
    """Return the better of a gain at a place and of moves to the other nodes of the same server."""
    nodes, kind, old = now.free.shape[1], now.kind[which], now.place[which]
    server = old // nodes
    demand = now.demands[kind]
    for node in range(nodes):
        other = server * nodes + node
        if other == old or not fits(now.free[server], demand, 0, node):
            continue
        scratch[:] = now.free[server]
        shift(scratch, demand, 0, old % nodes, 1)
        shift(scratch, demand, 0, node, -1)
        found = here - loss(scratch, aim)
        if found > gain or (found == gain and found > 0 and other < place):
            gain, place = found, other
    return gain, place
