"""Ask HiGHS by an arc-flow model.

Valerio de Carvalho, "Exact solution of bin-packing problems using column generation and branch-and-bound", Annals of
Operations Research 86, 1999; Brandao and Pedroso, "Bin packing and related problems: general arc-flow formulation with
graph compression", Computers and Operations Research 69, 2016. A bin is a path: its nodes are what is used so far, its
arcs are balls, the heaviest kind first. The graph is built as it is, without compression.
"""

from __future__ import annotations

from math import ceil
from time import monotonic

import numpy as np

from binwright.agents.solver.exact.kinds import Kinds
from binwright.agents.solver.model.fleet import Fleet
from binwright.agents.solver.packing.rivals import Places, Tell
from binwright.simcore.types import Ints

LARGEST = 400_000
"""Arcs that a graph may have."""
TINY = 1e-6
"""What its bounds may be off."""
Arc = tuple[int, int, int]
"""From node, to node, kind; -1 for an arc to the end."""


def improve(demand: Ints, places: Places, bound: int, seconds: float, seed: int, tell: Tell) -> tuple[Ints | None, int]:
    """Return a placement into equal bins, None if none was found in time, and a lower bound; it takes no hint."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    began = monotonic()
    kinds = Kinds.of(demand, Fleet.alike(places.capacity[0]))
    needs = kinds.size.any(axis=1)  # what needs nothing is put into the first bin
    if not needs.any():
        return np.zeros(len(demand), np.int64), bound
    arcs = graph(kinds, began + seconds)
    if arcs is None:
        return None, bound
    start, end, kind = np.array(arcs).T
    nodes, many, number = int(max(start.max(), end.max())) + 1, len(arcs), np.arange(len(arcs))
    ones = np.ones(many)
    flow = coo_array((np.append(ones, -ones), (np.append(start, end), np.append(number, number))), (nodes, many))
    takes = kind >= 0
    balls = coo_array((ones[takes], (kind[takes], number[takes])), (len(kinds.count), many))
    first = (start == 0).astype(float)
    most = float(len(places.price))
    low, high = np.zeros(nodes), np.zeros(nodes)
    low[:2], high[:2] = (bound, -most), (most, -bound)  # node 0 is the start, node 1 the end
    found = milp(
        first,
        integrality=ones,
        bounds=Bounds(0, most),
        constraints=[
            LinearConstraint(flow.tocsr(), low, high),
            LinearConstraint(balls.tocsr(), kinds.count * needs, np.inf),
        ],
        options={"time_limit": max(began + seconds - monotonic(), 0.01)},
    )
    if found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
        bound = max(bound, ceil(found.mip_dual_bound - TINY))
    if found.x is None:
        return None, bound
    patterns = paths(arcs, np.rint(found.x).astype(np.int64), len(kinds.count))
    patterns[0, ~needs] = kinds.count[~needs]
    return kinds.placed(patterns, np.ones(len(patterns), np.int64)), bound


def graph(kinds: Kinds, until: float) -> list[Arc] | None:
    """Build the arcs between what can be used of a bin; None if they are too many, or `monotonic()` is `until`."""
    room = tuple(kinds.fleet.capacity[0].tolist())
    empty = (0,) * len(room)
    nodes = {empty: 0}
    arcs: list[Arc] = []
    for kind, (size, count) in enumerate(zip(kinds.size.tolist(), kinds.count.tolist(), strict=True)):
        if not any(size):
            continue
        done: set[int] = set()
        for before in list(nodes):
            at, used = nodes[before], before
            for _ in range(count):
                after = tuple(one + more for one, more in zip(used, size, strict=True))
                if any(one > most for one, most in zip(after, room, strict=True)):
                    break
                number = nodes.setdefault(after, len(nodes) + 1)
                if at not in done:
                    arcs.append((at, number, kind))
                    done.add(at)
                at, used = number, after
            if len(arcs) > LARGEST or monotonic() >= until:
                return None
    return arcs + [(node, 1, -1) for node in nodes.values() if node]


def paths(arcs: list[Arc], flow: Ints, kinds: int) -> Ints:
    """Cut a flow [arcs] into paths from the start to the end: the kinds on each, int64 [paths, kinds]."""
    leaving: dict[int, list[tuple[int, int]]] = {}
    for (start, end, kind), number in zip(arcs, flow.tolist(), strict=True):
        leaving.setdefault(start, []).extend([(end, kind)] * number)
    found = []
    while leaving.get(0):
        pattern, at = np.zeros(kinds, np.int64), 0
        while at != 1:
            at, kind = leaving[at].pop()
            if kind >= 0:
                pattern[kind] += 1
        found.append(pattern)
    return np.array(found, np.int64).reshape(-1, kinds)
