"""Keep up what goals come to while a local search changes an allocation: a move evaluates the terms that it changes.

A sum is kept, and for a minimum or maximum a tournament tree. `follow` compares what the move has changed with what was
there when the terms were evaluated, so that it may be called at any time before the next move, also after `undo`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from binwright.agents.solver.backends.cpu import CALLED
from binwright.agents.solver.local.state import DIMS, UNITS, State, begin_move, undo
from binwright.agents.solver.model import emit
from binwright.agents.solver.model.objective import Objective
from binwright.agents.solver.model.problem import Problem
from binwright.simcore.jit import callback, generated, lean
from binwright.simcore.types import Ints

LATE = 100
"""How many moves ago is some moves ago."""
TRIED, NOW, BEST, LEAST, PAST = range(5)
"""Rows of `values`: of what was evaluated last, of what stands, of the best ever, of the best of some choices, and,
from PAST on, of some moves ago."""
KINDS = ("add", "min", "max")
ADD, MIN, MAX = range(3)
Goals: TypeAlias = Callable[[int, int, Ints, Ints, Ints, Ints, Ints, Ints], int]
"""(which, at, alloc, data, numbers, used, totals, values), as `binwright.agents.solver.model.emit.goals` says."""


class GoalState(NamedTuple):
    """What goals come to: arrays, all int64."""

    data: Ints
    numbers: Ints
    """What the compiled goals read."""
    values: Ints
    """[PAST + LATE, goals]: less is better"""
    totals: Ints
    """[reductions]: what their terms come to together"""
    kind: Ints
    """[reductions]: the number in KINDS"""
    start: Ints
    """[reductions]: the first round"""
    first: Ints
    """[reductions + 1]: the first term"""
    reduction: Ints
    """[terms]"""
    waits: Ints
    """[terms]: whether it is to be evaluated again"""
    waiting: Ints
    """[terms]: those that wait, or that have done so last"""
    from_bin: Ints
    """[terms]: a bin that has a part in it"""
    node: Ints
    """[2 x terms]: the tree of terms i, ..., j - 1 begins at 2 i: its node n joins 2 n and 2 n + 1, term k is j + k."""
    seen: Ints
    """[dims + balls]: what was used, and where balls were, when terms were evaluated"""
    of: Ints
    """[dims + balls + 1]: where in `of_terms` the terms begin that read it"""
    of_terms: Ints


def goal_state(problem: Problem) -> GoalState:
    """Make the room for keeping up the goals of a problem."""
    objective, dims = problem.objective, max(1, problem.dims)
    assert objective is not None
    parts = objective.reductions
    first = np.cumsum([0, *(len(part.rounds) for part in parts)])
    terms, size = int(first[-1]), dims + problem.balls
    each = (part.reads(at) for part in parts for at in part.rounds)
    pairs = {(number + dims * of_ball, term) for term, read in enumerate(each) for number, of_ball in read}
    read, of_terms = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    _, numbers = emit.goals(objective)
    arrays: list[Ints] = [
        np.append(objective.data, 0), np.array([*numbers, 0], np.int64),
        np.zeros((PAST + LATE, len(objective.goals)), np.int64), np.zeros(len(parts), np.int64),
        np.array([KINDS.index(part.kind) for part in parts], np.int64),
        np.array([part.rounds.start for part in parts], np.int64), first,
        np.repeat(np.arange(len(parts)), np.diff(first)), *np.zeros((3, terms), np.int64),
        np.zeros(2 * terms, np.int64), np.zeros(size, np.int64), np.searchsorted(read, np.arange(size + 1)),
        of_terms.copy(),
    ]  # fmt: skip
    return GoalState(*arrays)


def compiled(objective: Objective) -> Goals:
    """Compile the goals."""
    return _compiled(emit.goals(objective)[0])


@lru_cache(maxsize=32)
def _compiled(source: str) -> Goals:
    names: dict[str, Any] = {"__name__": __name__, **CALLED}
    exec(compile(source, "<goals>", "exec"), names)
    goals: Goals = generated(names["goals"], callers=True)
    return callback(goals, "int64", *["int64"] * 2, *["int64[::1]"] * 6)


@lean
def worse(values: Ints, row: int, other: int) -> bool:
    """Tell whether a row of values [rows, goals] is worse than another one, the first goal first."""
    for k in range(values.shape[1]):
        if values[row, k] != values[other, k]:
            return bool(values[row, k] > values[other, k])
    return False


@lean
def copy(values: Ints, row: int, to: int) -> None:
    """Write a row of values over another one."""
    for k in range(values.shape[1]):
        values[to, k] = values[row, k]


@lean
def renew(goals: Goals, state: State, score: GoalState, term: int) -> None:
    """Evaluate a term again."""
    node, totals, which = score.node, score.totals, score.reduction[term]
    kind, first, end = score.kind[which], score.first[which], score.first[which + 1]
    at = score.start[which] + term - first
    room = state.room
    value = goals(which, at, room.alloc, score.data, score.numbers, room.used, totals, score.values[TRIED])
    at = end - first + term - first
    if kind == ADD:
        totals[which] += value - node[2 * first + at]
    node[2 * first + at] = value
    while kind != ADD and at > 1:
        at //= 2
        left, right = node[2 * (first + at)], node[2 * (first + at) + 1]
        node[2 * first + at] = min(left, right) if kind == MIN else max(left, right)
    if kind != ADD:
        totals[which] = node[2 * first + 1]


@lean
def notice(score: GoalState, read: int, now: int, many: int) -> int:
    """Let all terms that read something wait if it has changed; returns how many wait, `many` of them before."""
    if score.seen[read] != now:
        score.seen[read] = now
        for k in range(score.of[read], score.of[read + 1]):
            term = score.of_terms[k]
            if not score.waits[term]:
                score.waits[term] = 1
                score.waiting[many] = term
                many += 1
    return many


@lean
def follow(goals: Goals, state: State, score: GoalState) -> int:
    """Evaluate the terms again that read what the move has changed; returns how many. All balls must be placed."""
    flat, room, many = state.flat, state.room, 0
    for k in range(state.tally[DIMS]):
        many = notice(score, state.touched[k], room.used[state.touched[k]], many)
    for k in range(state.tally[UNITS]):
        unit = state.moves[k]
        for at in range(flat.units[unit], flat.units[unit + 1]):
            ball = flat.unit_balls[at]
            many = notice(score, len(room.used) + ball, room.alloc[ball], many)
    for k in range(many):
        term = score.waiting[k]
        score.waits[term] = 0
        renew(goals, state, score, term)
    return many


@lean
def bin_of_largest(score: GoalState, which: int) -> int:
    """Return a bin that has a part in the largest term of a reduction of kind MAX."""
    first, end = score.first[which], score.first[which + 1]
    at = 1
    while at < end - first:
        at = 2 * at + (score.node[2 * (first + at)] != score.node[2 * first + 1])
    return int(score.from_bin[first + at - (end - first)])


@lean
def begin(goals: Goals, state: State, score: GoalState) -> None:
    """Evaluate all terms, and write what the goals come to into all rows of `values`."""
    used, alloc = state.room.used, state.room.alloc
    for dim in range(len(used)):
        score.seen[dim] = used[dim]
    for ball in range(len(alloc)):
        score.seen[len(used) + ball] = alloc[ball]
    score.node[:] = 0
    score.totals[:] = 0
    for term in range(len(score.reduction)):
        renew(goals, state, score, term)
    evaluate(goals, state, score)
    for row in range(1, PAST + LATE):
        copy(score.values, TRIED, row)


@lean
def evaluate(goals: Goals, state: State, score: GoalState) -> int:
    """Write what the goals come to, where all balls are placed, into the row TRIED of `values`.

    Returns how many terms the move has changed since they were evaluated.
    """
    many = follow(goals, state, score)
    goals(-1, 0, state.room.alloc, score.data, score.numbers, state.room.used, score.totals, score.values[TRIED])
    return many


@lean
def take_back(goals: Goals, state: State, score: GoalState) -> None:
    """Take back what the move has changed, for the next one to begin."""
    undo(state)
    follow(goals, state, score)
    begin_move(state)
