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
from binwright.agents.solver.backends.flat import Sizes
from binwright.agents.solver.local.state import DIMS, END, FIRST, LIST, MOVES, UNITS, State, begin_move, undo
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
REDUCTION, WAITS, WAITING, FROM_BIN, TERM = range(5)
"""Columns of `term`: its reduction, whether it waits to be evaluated again, and a bin that has a part in it. WAITING
lists the terms that wait, or that have done so last."""
KIND, START, FROM, TO, JOINED = range(5)
"""Columns of `joined`: the number in KINDS, the first round, the first term, and the one after the last."""
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
    joined: Ints
    """[reductions, JOINED]"""
    term: Ints
    """[terms, TERM]"""
    node: Ints
    """[2 x terms]: the tree of terms i, ..., j - 1 begins at 2 i: its node n joins 2 n and 2 n + 1, term k is j + k."""
    seen: Ints
    """[dims + balls]: what was used, and where balls were, when terms were evaluated"""
    of: Ints
    """[dims + balls + 1]: where in `of_terms` the terms begin that read it"""
    of_terms: Ints


def goal_state(problem: Problem) -> GoalState:
    """Make the room for keeping up the goals of a problem."""
    assert problem.objective is not None
    objective, dims = problem.objective, Sizes.of_problem(problem).dims
    parts = objective.reductions
    ends = np.cumsum([0, *(len(one.rounds) for one in parts)])
    joined = np.zeros((len(parts), JOINED), np.int64)
    joined[:, KIND], joined[:, START] = [KINDS.index(one.kind) for one in parts], [one.rounds.start for one in parts]
    joined[:, FROM], joined[:, TO] = ends[:-1], ends[1:]
    term = np.zeros((ends[-1], TERM), np.int64)
    term[:, REDUCTION] = np.repeat(np.arange(len(parts)), np.diff(ends))
    terms = (one.reads(at) for one in parts for at in one.rounds)
    pairs = {(number + dims * of_ball, one) for one, read in enumerate(terms) for number, of_ball in read}
    read, of_terms = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    size = dims + problem.balls
    _, numbers = emit.goals(objective)
    return GoalState(
        np.append(objective.data, 0), np.array([*numbers, 0], np.int64),
        np.zeros((PAST + LATE, len(objective.goals)), np.int64), np.zeros(len(parts), np.int64), joined, term,
        np.zeros(2 * len(term), np.int64), np.zeros(size, np.int64), np.searchsorted(read, np.arange(size + 1)),
        of_terms.copy(),
    )  # fmt: skip


def compiled(objective: Objective) -> Goals:
    """Compile the goals."""
    source, _ = emit.goals(objective)
    return _compiled(source)


@lru_cache(maxsize=32)
def _compiled(source: str) -> Goals:
    names: dict[str, Any] = {"__name__": __name__, **CALLED}
    exec(compile(source, "<goals>", "exec"), names)
    goals: Goals = generated(names["goals"], callers=True)
    return callback(goals, "int64", *["int64"] * 2, *["int64[::1]"] * 6)


@lean
def worse(values: Ints, one: int, other: int) -> bool:
    """Tell whether a row of values [rows, goals] is worse than another one, the first goal first."""
    for k in range(values.shape[1]):
        if values[one, k] != values[other, k]:
            return bool(values[one, k] > values[other, k])
    return False


@lean
def copy(values: Ints, one: int, to: int) -> None:
    """Write a row of values over another one."""
    for k in range(values.shape[1]):
        values[to, k] = values[one, k]


@lean
def renew(goals: Goals, state: State, score: GoalState, one: int) -> None:
    """Evaluate a term again."""
    joined, node, totals = score.joined, score.node, score.totals
    which = score.term[one, REDUCTION]
    kind, first, end = joined[which, KIND], joined[which, FROM], joined[which, TO]
    at = joined[which, START] + one - first
    value = goals(which, at, state.alloc, score.data, score.numbers, state.used, totals, score.values[TRIED])
    at = end - first + one - first
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
    seen, term, of = score.seen, score.term, score.of
    if seen[read] != now:
        seen[read] = now
        for k in range(of[read], of[read + 1]):
            one = score.of_terms[k]
            if not term[one, WAITS]:
                term[one, WAITS] = 1
                term[many, WAITING] = one
                many += 1
    return many


@lean
def follow(goals: Goals, state: State, score: GoalState) -> int:
    """Evaluate the terms again that read what the move has changed; returns how many. All balls must be placed."""
    tally, dim, unit, used, alloc = state.tally, state.dim, state.unit, state.used, state.alloc
    many = 0
    for k in range(tally[DIMS]):
        many = notice(score, dim[k, LIST], used[dim[k, LIST]], many)
    for k in range(tally[UNITS]):
        one = unit[k, MOVES]
        for at in range(unit[one, FIRST], unit[one, END]):
            ball = state.unit_balls[at]
            many = notice(score, len(used) + ball, alloc[ball], many)
    for k in range(many):
        one = score.term[k, WAITING]
        score.term[one, WAITS] = 0
        renew(goals, state, score, one)
    return many


@lean
def bin_of_largest(score: GoalState, which: int) -> int:
    """Return a bin that has a part in the largest term of a reduction of kind MAX."""
    first, end = score.joined[which, FROM], score.joined[which, TO]
    at = 1
    while at < end - first:
        at = 2 * at + (score.node[2 * (first + at)] != score.node[2 * first + 1])
    return int(score.term[first + at - (end - first), FROM_BIN])


@lean
def begin(goals: Goals, state: State, score: GoalState) -> None:
    """Evaluate all terms, and write what the goals come to into all rows of `values`."""
    dims = len(state.used)
    for d in range(dims):
        score.seen[d] = state.used[d]
    for ball in range(len(state.alloc)):
        score.seen[dims + ball] = state.alloc[ball]
    score.node[:] = 0
    score.totals[:] = 0
    for one in range(len(score.term)):
        renew(goals, state, score, one)
    evaluate(goals, state, score)
    for row in range(1, PAST + LATE):
        copy(score.values, TRIED, row)


@lean
def evaluate(goals: Goals, state: State, score: GoalState) -> int:
    """Write what the goals come to, where all balls are placed, into the row TRIED of `values`.

    Returns how many terms the move has changed since they were evaluated.
    """
    many = follow(goals, state, score)
    goals(-1, 0, state.alloc, score.data, score.numbers, state.used, score.totals, score.values[TRIED])
    return many


@lean
def take_back(goals: Goals, state: State, score: GoalState) -> None:
    """Take back what the move has changed, for the next one to begin."""
    undo(state)
    follow(goals, state, score)
    begin_move(state.tally)
