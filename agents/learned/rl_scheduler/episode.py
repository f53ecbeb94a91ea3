"""Plays RLScheduler's queue on one machine in a kernel, as Queue-v0 does, and writes down what is seen and done."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.agents.learned.numa.mlp import dense, size_of
from binwright.agents.waiting_jobs import BELOW, FEATURES, LONGEST, WINDOW
from binwright.simcore.jit import kernel
from binwright.simcore.types import Floats, Ints

LAYERS = (FEATURES, 32, 16, 8, 1)
"""Of the network that scores each job by itself."""
SIZE, WIDEST = size_of(LAYERS), max(LAYERS)
_FIRST, _SECOND, _THIRD = LAYERS[1:4]
STATES = 8
"""Numbers that describe a decision to whoever values it."""


class Jobs(NamedTuple):
    """Lists jobs in order of arrival: seconds and units of one resource, float64 [n]; the machine has `total` units."""

    arrival: Floats
    duration: Floats
    size: Floats
    total: float

    def slowdown(self, starts: Floats) -> float:
        """Average the bounded slowdown of jobs that start then."""
        wait = starts - self.arrival
        return float(np.maximum((wait + self.duration) / np.maximum(self.duration, 10.0), 1.0).mean())


class Tape:
    """Holds what happens in one episode of n jobs.

    `jobs` float32 [any, 8] has those that each decision saw, one decision after another, `counts` int64 [n] how many,
    `actions` which was chosen, `logs` the logarithm of its probability, `costs` what all who waited until the next
    decision lost of bounded slowdown, and `states` float64 [n, 8] describes the queue and the machine.
    """

    def __init__(self, jobs: int, draws: Floats) -> None:
        self.draws, self.counts, self.actions = draws, np.zeros(jobs, np.int64), np.zeros(jobs, np.int64)
        self.jobs = np.empty((jobs * min(jobs, WINDOW), FEATURES), np.float32)
        self.logs, self.costs, self.states = np.zeros(jobs), np.zeros(jobs), np.zeros((jobs, STATES))


def play(jobs: Jobs, passing: bool, weights: Floats, tape: Tape | None = None) -> tuple[Floats, int]:
    """Return when jobs start, float64 [n], and how many were chosen; without weights the shortest is chosen.

    With a tape the choice is drawn from the policy, and the tape changes; without, it is the best.
    """
    tape = tape or Tape(0, np.zeros(0))
    drawn = tape.draws, tape.jobs, tape.counts, tape.actions, tape.logs, tape.costs, tape.states
    return _play(jobs.arrival, jobs.duration, jobs.size, jobs.total, passing, weights, *drawn)


@kernel
def score(job: Floats, weights: Floats, x: Floats, y: Floats) -> float:
    """Score a job float64 [8]; `x` and `y` float64 [32] change."""
    at = dense(job, FEATURES, weights, 0, x, _FIRST, True)
    at = dense(x, _FIRST, weights, at, y, _SECOND, True)
    at = dense(y, _SECOND, weights, at, x, _THIRD, True)
    dense(x, _THIRD, weights, at, y, 1, False)
    return float(y[0])


@kernel
def scores(jobs: npt.NDArray[np.float32], weights: Floats) -> Floats:
    """Score jobs float32 [jobs, 8]: float64 [jobs]."""
    x, y, found = np.empty(WIDEST), np.empty(WIDEST), np.empty(len(jobs))
    for i in range(len(jobs)):
        found[i] = score(jobs[i].astype(np.float64), weights, x, y)
    return found


@kernel
def _least(of: Floats, rows: Ints, count: int) -> int:
    """Find the least of these rows, the first of equals."""
    best = 0
    for k in range(1, count):
        if of[rows[k]] < of[rows[best]]:
            best = k
    return best


@kernel
def _drop(rows: Ints, count: int, at: int) -> int:
    """Take one of so many rows out, which change; returns how many are left."""
    for k in range(at, count - 1):
        rows[k] = rows[k + 1]
    return count - 1


@kernel
def _seen(queue: Ints, waiting: int, waits: npt.NDArray[np.bool_], by_time: Ints, by_size: Ints, seen: Ints) -> int:
    """Write to `seen` whom of the queue the policy sees, as `visible` says; returns how many."""
    if waiting <= WINDOW:
        seen[:waiting] = queue[:waiting]
        return waiting
    count, taken = 0, np.zeros(len(waits), np.bool_)
    at = np.zeros(2, np.int64)
    while count < WINDOW:
        for turn in range(2):
            order = by_time if turn == 0 else by_size
            while not waits[order[at[turn]]]:
                at[turn] += 1
            row = order[at[turn]]
            at[turn] += 1
            if not taken[row] and count < WINDOW:
                taken[row] = True
                seen[count] = row
                count += 1
    return count


@kernel
def _play(
    arrival: Floats,
    duration: Floats,
    size: Floats,
    total: float,
    passing: bool,
    weights: Floats,
    draws: Floats,
    tape: npt.NDArray[np.float32],
    counts: Ints,
    actions: Ints,
    logs: Floats,
    costs: Floats,
    states: Floats,
) -> tuple[Floats, int]:
    n = len(arrival)
    start, end, loss = np.full(n, -1.0), np.full(n, np.inf), 1.0 / np.maximum(duration, 10.0)
    by_time, by_size = np.argsort(duration, kind="mergesort"), np.argsort(size, kind="mergesort")
    waits = np.zeros(n, np.bool_)
    queue, running, seen = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    found, job, x, y = np.empty(WINDOW), np.ones(FEATURES), np.empty(WIDEST), np.empty(WIDEST)
    now, free, losing, until = arrival[0], total, loss[0], np.inf
    waiting, busy, coming, step, at, chosen = 1, 0, 1, 0, 0, -1
    waits[0] = True
    while waiting or coming < n:
        if chosen < 0 and waiting:
            if len(weights) == 0:
                chosen = queue[_least(duration, queue, waiting)]
            else:
                count, best = _seen(queue, waiting, waits, by_time, by_size, seen), 0
                for k in range(count):
                    row = seen[k]
                    job[0] = np.float32(min((now - arrival[row]) / LONGEST, BELOW))
                    job[1] = np.float32(min(duration[row] / LONGEST, BELOW))
                    job[2] = np.float32(min(size[row] / total, BELOW))
                    job[7] = np.float32(BELOW if size[row] <= free else 1 - BELOW)
                    found[k] = score(job, weights, x, y)
                    if found[k] > found[best]:
                        best = k
                    if len(draws):
                        tape[at + k] = job
                if len(draws):
                    top, chances, sum_ = found[best], 0.0, 0.0
                    for k in range(count):
                        chances += np.exp(found[k] - top)
                    best = -1
                    while best < count - 1 and (best < 0 or sum_ <= draws[step] * chances):
                        best += 1
                        sum_ += np.exp(found[best] - top)
                    counts[step], actions[step], logs[step] = count, best, found[best] - top - np.log(chances)
                    at += count
                    work, fitting, left = 0.0, 0.0, 0.0
                    for k in range(waiting):
                        work += duration[queue[k]] * size[queue[k]] / total / 3600
                        fitting += size[queue[k]] <= free
                    for k in range(busy):
                        left += (end[running[k]] - now) * size[running[k]] / total / 3600
                    state = states[step]
                    state[0], state[1], state[2], state[3] = (
                        waiting / n,
                        free / total,
                        (n - coming) / n,
                        fitting / waiting,
                    )
                    state[4], state[5], state[6] = np.log1p(losing), np.log1p(work) / 3, np.log1p(left) / 3
                chosen = seen[best]
            step += 1
            until = now
            if passing and size[chosen] > free:  # its earliest start, by what runs now
                room, order = free, np.argsort(end[running[:busy]], kind="mergesort")
                for k in order:
                    if room < size[chosen]:
                        room += size[running[k]]
                        until = end[running[k]]
        k, fits = 0, chosen >= 0 and size[chosen] <= free
        while k < waiting:  # the chosen one starts, or else who may pass it
            row = queue[k]
            if (row == chosen) if fits else (passing and size[row] <= free and now + duration[row] < until):
                start[row], end[row] = now, now + duration[row]
                free -= size[row]
                losing -= loss[row]
                running[busy] = row
                busy += 1
                waits[row] = False
                waiting = _drop(queue, waiting, k)
            else:
                k += 1
        if chosen >= 0 and start[chosen] >= 0:
            chosen = -1
            if waiting:
                continue
        before = now
        next_end = running[_least(end, running, busy)] if busy else -1
        if coming < n and (next_end < 0 or arrival[coming] <= end[next_end]):
            now = max(now, arrival[coming])
            queue[waiting] = coming
            waits[coming] = True
            waiting += 1
            coming += 1
            arrived = coming - 1
        elif next_end >= 0:
            now = max(now, end[next_end])
            free += size[next_end]
            busy = _drop(running, busy, _least(end, running, busy))
            arrived = -1
        else:
            break
        if len(draws) and step:
            costs[step - 1] += (now - before) * losing
        if arrived >= 0:
            losing += loss[arrived]
    return start, step
