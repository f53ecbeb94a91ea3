"""Finds several requests of one node that help when they leave together, where no single move does."""

from __future__ import annotations

import numpy as np

from agents.rules.moving import NOWHERE, Aim, Standing, apply, fits, loss, losses, shift
from simcore.jit import kernel
from simcore.types import Ints


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
