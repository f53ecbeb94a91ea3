"""Counts what still fits on a server, in requests of known absolute sizes: what a node's shares do not tell.

The shares of a node say nothing of how large it is. Sizes are those of the requests that a training met, and are kept
with the weights, float64 [k, 4]: what a request of this size takes of a node's cpu and mem, in quanta, whether it is
spread (1, and then it takes as much of the other node), and its importance.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import floor

import numpy as np

from binwright.fabric.ledger import Ledger
from binwright.simcore.jit import inlined, kernel
from binwright.simcore.types import Floats, Ints, Workload

SIZE_COLUMNS = 4
PER_SIZE = 2
"""Weights of a size: of every request that fits, and of whether one does."""
ROW = 3 + PER_SIZE
"""Numbers of a size in the kernel: 1 / cpu, 1 / mem, whether it is spread, and its weights."""
SCALE = 50.0
"""What a weight of a size is like, in units of its importance."""
FREQUENT = 100
"""Sizes of requests of which it is counted at most how many still fit."""
SLACK = 1e-9
"""Room for so much of a request is missing at most by what floats round."""


def sizes_of(workloads: Iterable[Workload], ledger: Ledger, most: int) -> Floats:
    """Return the sizes that take most of the cluster, `most` at most: float64 [k, 4], the smallest first.

    What a size takes is its number of requests times the larger of its shares of an average node's resources. Its
    importance is its share of what all of these take, times that larger share.
    """
    demands = np.concatenate([workload.demand for workload in workloads])
    rows, count = np.unique(demands[ledger.possible(demands)], axis=0, return_counts=True)
    share = (rows / ledger.view.capacity.mean(axis=(0, 1))).max(axis=1)
    chosen = np.sort(np.argsort(-count * share, kind="stable")[:most])
    rows, count, share = rows[chosen], count[chosen], share[chosen]
    table = _table(rows, ledger, count * share / (count * share).sum() * share)
    found: Floats = table[np.argsort(share, kind="stable")]
    return found


def frequent_sizes(workloads: Iterable[Workload], ledger: Ledger) -> Floats:
    """Return the most frequent sizes, float64 [k, 4], each with its share of all requests as its importance."""
    demands = np.concatenate([workload.demand for workload in workloads])
    rows, count = np.unique(demands, axis=0, return_counts=True)
    chosen = np.sort(np.argsort(-count, kind="stable")[:FREQUENT])
    return _table(rows[chosen], ledger, count[chosen] / count[chosen].sum())


def _table(rows: Ints, ledger: Ledger, importance: Floats) -> Floats:
    """Make the table of these demands, int64 [k, resources]."""
    spread = ledger.spreads(rows).astype(np.float64)
    return np.column_stack([np.maximum(rows / (1 + spread)[:, None], 1), spread, importance])


def beginning_of(sizes: Floats) -> tuple[Floats, Floats]:
    """Return where training begins with these sizes, and its scale, both float64 [k * PER_SIZE].

    Then a server is worth the requests that still fit on it, each by its importance.
    """
    begin = np.tile(np.eye(PER_SIZE)[0], len(sizes))
    return begin, np.repeat(SCALE * sizes[:, 3], PER_SIZE)


def known_sizes(sizes: Floats, weights: Floats) -> Floats:
    """Put sizes [k, 4] and their weights [k * PER_SIZE] together for the kernel, float64 [k * ROW]."""
    parts = [1 / sizes[:, :2], sizes[:, 2:3], weights.reshape(len(sizes), PER_SIZE)]
    return np.concatenate(parts, axis=1).ravel()


def fitting_on(free: Ints, sizes: Floats) -> Floats:
    """Count what fits on servers with these quanta free, int64 [..., 2 nodes, 2 resources]: [..., k * PER_SIZE].

    Of each size how many requests do, and as 0 or 1 whether any does: what its weights are of.
    """
    each = np.floor((free[..., None, :] / sizes[:, :2]).min(axis=-1) + SLACK)  # [..., nodes, k]
    fits = np.where(sizes[:, 2] > 0, each.min(axis=-2), each.sum(axis=-2))
    found: Floats = np.stack([fits, fits > 0], axis=-1).reshape(*fits.shape[:-1], PER_SIZE * len(sizes))
    return found


@inlined
def room(cpu: float, mem: float, other_cpu: float, other_mem: float, known: Floats) -> float:
    """Compute the worth of what still fits on a server with these quanta free on its nodes."""
    value = 0.0
    for at in range(0, len(known), ROW):
        here = min(cpu * known[at], mem * known[at + 1]) + SLACK
        there = min(other_cpu * known[at], other_mem * known[at + 1]) + SLACK
        fits = floor(min(here, there)) if known[at + 2] > 0 else floor(here) + floor(there)
        if fits > 0:
            value += known[at + 3] * fits + known[at + 4]
    return value


@kernel
def remaining(free: Floats, codes: Floats, demand: Floats, spread: Floats, known: Floats, levels: Floats) -> None:
    """Write to levels [n] what still fits on a server after each placement, on average over the servers.

    `free` [n, servers, 2, 2], `demand` [n, 2] quanta, `codes` [n], and `spread` [n] are as in a trajectory; spread
    requests take their odd quanta of the first node.
    """
    for b in range(len(free)):
        levels[b] = 0.0
        chosen, node = int(codes[b]) // 2, int(codes[b]) % 2
        for server in range(free.shape[1]):
            left = free[b, server].copy()
            if server == chosen:
                for r in range(2):
                    half = demand[b, r] // 2
                    left[node, r] -= demand[b, r] - half if spread[b] > 0 else demand[b, r]
                    left[1 - node, r] -= half if spread[b] > 0 else 0.0
            levels[b] += room(left[0, 0], left[0, 1], left[1, 0], left[1, 1], known) / free.shape[1]
