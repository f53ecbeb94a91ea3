"""Holds the line of a compiled batch queue and who runs, in kernels that change both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from binwright.simcore.jit import kernel, lean
from binwright.simcore.record import SPREAD
from binwright.simcore.types import Floats, Ints

NONE, ANY, EASY, CONSERVATIVE = range(4)
"""Who may start when one before gets no place."""
BACKFILLING = ("none", "any", "easy", "conservative")
RUNNING, SEEN, COUNTED, ASKED, COUNTERS = range(5)
"""Places in `Queue.at`: how many run, how many of the line have been offered at this
instant (-1: the instant is over), how many answers there were as `play` counts them, and who was asked last."""


class Queue(NamedTuple):
    """Holds the line of a run. The loop changes what comes after `factor`.

    `expected` float64 [n] is how long each of the n requests is expected to stay. `rank` int32 [n] is their order; it
    is empty where that is the order of arrival, or where `divisor` and `factor`, float64 [n], say it with the wait.

    `offered` int32 [k] and `keys` float64 [k] are scratch. `until` float64 [k] and `runs` int64 [k] are when those that
    run should end, ascending, and their rows. `promise` float64 [n] is the start that is promised to each, then the end
    that is expected, and `place` int64 [n] the place of each part, -1 for none. `due` float64 [1] is when the line is
    offered next.
    """

    expected: Floats
    rank: Any
    divisor: Floats
    factor: Floats
    offered: Any
    keys: Floats
    until: Floats
    runs: Ints
    promise: Floats
    place: Ints
    due: Floats
    at: Ints


@lean
def enter(line: Any, first: int, last: int, rank: Any, row: int) -> None:
    """Put a row into the line, after its equals."""
    low = last
    if len(rank):
        low = first
        high = last
        while low < high:
            middle = (low + high) // 2
            if rank[line[middle]] <= rank[row]:
                low = middle + 1
            else:
                high = middle
        for i in range(last, low, -1):
            line[i] = line[i - 1]
    line[low] = row


@lean
def expect(until: Floats, runs: Ints, running: int, end: float, row: int) -> None:
    """Note until when one that starts should run."""
    i = running
    while i > 0 and until[i - 1] > end:
        until[i], runs[i] = until[i - 1], runs[i - 1]
        i -= 1
    until[i], runs[i] = end, row


@lean
def forget(until: Floats, runs: Ints, running: int, end: float, row: int) -> None:
    """Drop one that has ended, of which `end` was expected."""
    low, high = 0, running
    while low < high:
        middle = (low + high) // 2
        if until[middle] < end:
            low = middle + 1
        else:
            high = middle
    while runs[low] != row:
        low += 1
    for i in range(low, running - 1):
        until[i], runs[i] = until[i + 1], runs[i + 1]


@kernel
def choose(queue: Queue, line: Any, last: int, arrival: Floats, now: float, first: int, count: int) -> None:
    """Write to `offered` who is offered, in order: of the line, from `first` to `last`, the `count` that came first."""
    offered, waiting = queue.offered, last - first
    if len(queue.rank) and count < waiting:
        latest = np.sort(line[first : first + waiting])[count - 1]
        found = 0
        for i in range(first, first + waiting):
            if line[i] <= latest:
                offered[found] = line[i]
                found += 1
    else:
        offered[:count] = line[first : first + count]
    if len(queue.divisor):
        for i in range(count):
            row = offered[i]
            wait = now - arrival[row]
            if len(queue.factor):
                queue.keys[i] = -((wait / queue.divisor[row]) ** 3.0) * queue.factor[row]
            else:
                queue.keys[i] = -wait / queue.divisor[row]
        offered[:count] = offered[:count][np.argsort(queue.keys[:count], kind="mergesort")]


@lean
def hide(free: Ints, server: int, node: int) -> None:
    """Have a node look full, or for `SPREAD` its server; changes `free` int64 [servers, nodes, resources]."""
    for n in range(free.shape[1]):
        for r in range(free.shape[2]):
            if node in (SPREAD, n):
                free[server, n, r] = 0


@lean
def show(left: Ints, free: Ints, server: int) -> None:
    """Have a server look as it is; changes `free`, of the shape of `left`."""
    for n in range(free.shape[1]):
        for r in range(free.shape[2]):
            free[server, n, r] = left[server, n, r]
