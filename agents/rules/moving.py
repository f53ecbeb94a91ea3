"""What movers share: what runs as arrays, what a server loses by fragments, and which moves are possible."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from binwright.simcore.errors import UserError, suggest
from binwright.simcore.jit import kernel
from binwright.simcore.moves import Move, Running
from binwright.simcore.types import QUANTUM, Ints, View

Goal: TypeAlias = Literal["fragments", "stranded"]
"""What is to become less; see `loss`."""
FRAGMENTS, STRANDED = range(2)
NOWHERE = int(np.iinfo(np.int64).min)
"""The gain of a place that does not fit."""
TOP = 0.95
"""The share of all requests that the most usual kinds make up which are looked at."""


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


class Aim(NamedTuple):
    """Says what a server's `loss` is.

    That is the `goal`, the `size` of a usual request in quanta of the first resource, and the usual kinds: `demands`
    int64 [k, resources], `spread` int64 [k], and `times` int64 [k], how many there are of each.
    """

    goal: int
    size: int
    demands: Ints
    spread: Ints
    times: Ints


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


def aim_at(goal: Goal, size: float | None, now: Standing) -> Aim:
    """Make the goal of this name; `size` is in units, by default what the largest usual kind takes of a node."""
    if goal not in get_args(Goal):
        remedy = suggest(goal, get_args(Goal))
        raise UserError("no such goal", key="goal", value=goal, remedy=remedy)
    times = np.bincount(now.kind, minlength=len(now.demands))
    order = np.lexsort((-now.demands[:, 0], -times))
    before = np.cumsum(times[order]) - times[order]
    usual = order[before < TOP * times.sum()]
    if size is None:
        each = now.demands[usual, 0] // np.where(now.spread[usual] > 0, now.free.shape[1], 1)
        quanta = max(int(each.max(initial=1)), 1)
    else:
        quanta = round(size * QUANTUM)
    return Aim(get_args(Goal).index(goal), quanta, now.demands[usual], now.spread[usual], times[usual])


def checked_size(size: float | None) -> float | None:
    """Return the size of a usual request in units; refuses one that is none."""
    if size is not None and not (size > 0 and round(size * QUANTUM) > 0):
        remedy = "Give units of the first resource, such as 16 for requests of 16 cores."
        raise UserError("a usual request takes something", key="size", value=size, remedy=remedy)
    return size


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
def loss(free: Ints, aim: Aim) -> int:
    """Return what a server that has so much free, int64 [nodes, resources], loses by fragments.

    `fragments`: of the first resource, what is left of every node when it is full of requests of the size.
    `stranded`: for every usual request, the free first resource of the nodes on which it does not fit.
    """
    total = 0
    nodes = len(free)
    if aim.goal == FRAGMENTS:
        for n in range(nodes):
            total += free[n, 0] % aim.size
        return total
    for k in range(len(aim.times)):
        for n in range(nodes):
            if not fits(free, aim.demands[k], aim.spread[k], n):
                total += aim.times[k] * free[n, 0]
    return total


@kernel
def losses(free: Ints, aim: Aim) -> int:
    """Add up the losses of all servers."""
    total = 0
    for server in range(len(free)):
        total += loss(free[server], aim)
    return total


@kernel
def apply(now: Standing, which: int, place: int) -> None:
    """Move a request, in arrays that change."""
    nodes, kind = now.free.shape[1], now.kind[which]
    demand, spread, old = now.demands[kind], now.spread[kind], now.place[which]
    shift(now.free[old // nodes], demand, spread, old % nodes, 1)
    shift(now.free[place // nodes], demand, spread, place % nodes, -1)
    now.place[which] = place


def fragment_rate(free: Ints, size: int) -> float:
    """Return the share of the free first resource that requests of this size, in quanta, cannot use, as in VMR2L."""
    total = int(free[:, :, 0].sum())
    return float((free[:, :, 0] % size).sum() / total) if total else 0.0
