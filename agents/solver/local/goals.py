"""Keep up what goals come to while a local search changes an allocation: a move evaluates the terms that it changes.

Most goals are sums over all bins or balls, of which a move changes few terms. What else there is, is evaluated anew.
"""

from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import TypeAlias

import numpy as np

from binwright.agents.solver.backends.cpu import compiled
from binwright.agents.solver.local.state import DIMS, UNITS, Score, State
from binwright.agents.solver.model import emit
from binwright.agents.solver.model.evaluate import UnstatedError, term_reads
from binwright.agents.solver.model.problem import Problem
from binwright.simcore.jit import lean, lean_inlined
from binwright.simcore.types import Ints

MANY = 8
"""Goals are not taken apart where a term reads more than one in so many dimensions and balls, on average."""
LATE = 100
"""How many moves ago is some moves ago."""
TRIED, NOW, BEST, LEAST, PAST = range(5)
"""Rows of `values`, and the first two of `totals`: of what was evaluated last, of what stands, of the best ever, of the
best of some choices, and, from PAST on, of some moves ago."""
CHANGED, TURN = range(2)
"""Entries of `tally`: how many terms the move has changed, and how often goals have been evaluated."""
Goals: TypeAlias = Callable[[Ints, Ints, Ints, Ints, Ints, Ints, int, int], int]
"""(alloc, data, numbers, used, values, totals, which, at), as `binwright.agents.solver.model.emit.goals` says."""


def new_score(problem: Problem) -> tuple[Goals, Score]:
    """Compile the goals of a problem, and make the room for keeping them up.

    All goals are evaluated anew where what a term reads depends on the allocation, or most terms read most of it.
    """
    objective, size = problem.objective, problem.dims + problem.balls
    assert objective is not None
    source, constants, ranges = emit.goals(objective, apart=True)
    data, numbers = np.append(objective.data, 0), np.array([*constants, 0], np.int64)
    most, pairs = size * sum(map(len, ranges)) // MANY, list[tuple[int, int]]()
    with suppress(UnstatedError):
        pairs = [*islice(term_reads(source, objective.data, constants, ranges, problem.dims), most + 1)]
    if not 0 < len(pairs) <= most:
        source, constants, ranges = emit.goals(objective)
        numbers, pairs = np.array([*constants, 0], np.int64), []
    read, readers = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    counts = [len(each) for each in ranges]
    arrays: list[Ints] = [
        data, numbers, np.zeros((PAST + LATE, len(objective.goals)), np.int64), np.zeros((2, len(ranges)), np.int64),
        np.repeat(np.arange(len(ranges)), counts), np.array([at for each in ranges for at in each], np.int64),
        np.searchsorted(read, np.arange(size + 1)), readers.copy(), *np.zeros((4, sum(counts)), np.int64),
        np.zeros(2, np.int64),
    ]  # fmt: skip
    score = Score(*arrays)
    return compiled(source, "goals", *["int64[::1]"] * 6, "int64", "int64"), score


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
def begin(goals: Goals, state: State) -> None:
    """Evaluate all terms, and write what the goals come to into all rows of `values`."""
    score = state.score
    score.totals[:] = 0
    for term in range(len(score.term)):
        score.term[term] = run(goals, state, score.which[term], score.at[term])
        score.totals[NOW, score.which[term]] += score.term[term]
    evaluate(goals, state)
    for row in range(1, len(score.values)):
        copy(score.values, TRIED, row)


@lean_inlined
def run(goals: Goals, state: State, which: int, at: int) -> int:
    """Return what a term comes to now; or write what the goals come to into the row TRIED."""
    score, room = state.score, state.room
    return goals(room.alloc, score.data, score.numbers, room.used, score.values[TRIED], score.totals[TRIED], which, at)


@lean_inlined
def renew(goals: Goals, state: State, entry: int) -> None:
    """Evaluate the terms that read a dimension, or dims + a ball, once in a turn."""
    score, tally = state.score, state.score.tally
    for k in range(score.first[entry], score.first[entry + 1]):
        term = score.readers[k]
        if score.seen[term] != tally[TURN]:
            score.seen[term] = tally[TURN]
            score.fresh[term] = run(goals, state, score.which[term], score.at[term])
            score.totals[TRIED, score.which[term]] += score.fresh[term] - score.term[term]
            score.changed[tally[CHANGED]] = term
            tally[CHANGED] += 1


@lean
def evaluate(goals: Goals, state: State) -> None:
    """Write what the goals come to after the move, which has placed all balls, into the row TRIED of `values`."""
    flat, score = state.flat, state.score
    copy(score.totals, NOW, TRIED)
    score.tally[CHANGED] = 0
    score.tally[TURN] += 1
    for k in range(state.tally[DIMS]):
        renew(goals, state, state.touched[k])
    for k in range(state.tally[UNITS]):
        for at in range(flat.units[state.moves[k]], flat.units[state.moves[k] + 1]):
            renew(goals, state, len(flat.ceiling) + flat.unit_balls[at])
    run(goals, state, -1, 0)


@lean
def accept(score: Score) -> None:
    """Let what was evaluated last stand."""
    copy(score.values, TRIED, NOW)
    copy(score.totals, TRIED, NOW)
    for k in range(score.tally[CHANGED]):
        score.term[score.changed[k]] = score.fresh[score.changed[k]]
