"""Make an allocation of all balls better by its goals, on all cores.

Moves keep all balls placed. One stands if it is not worse than what there is now, or than what there was some moves ago
(Burke and Bykov, "The late acceptance hill-climbing heuristic", European Journal of Operational Research 258, 2017).
That needs nothing but comparisons, so that goals can come one after another. Most are sums over all bins or balls, of
which a move changes few terms: it evaluates these. What else there is, is evaluated anew.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from math import inf
from typing import TypeAlias

import numpy as np

from binwright.agents.solver.backends.attempt import IMPROVING, Utilfn, stream
from binwright.agents.solver.backends.cpu import Outcome, Over, best_of, compiled, compiled_problem
from binwright.agents.solver.local.search import SLICE, empty_bins, trim
from binwright.agents.solver.local.state import (
    COUNT,
    DIMS,
    TERMS,
    TURN,
    UNITS,
    Score,
    State,
    begin_move,
    drawn,
    insert,
    keep_best,
    load,
    new_state,
    remove,
    undo,
)
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.source import UnstatedError, term_reads
from binwright.agents.solver.model.source import goals as goals_source
from binwright.agents.solver.model.verify import goals_of
from binwright.simcore.jit import lean, lean_inlined
from binwright.simcore.types import Ints

MANY = 8
"""Goals are not taken apart where a term reads more than one in so many dimensions and balls, on average."""
LATE = 100
"""How many moves ago is some moves ago."""
TRIED, NOW, BEST, LEAST, PAST = range(5)
"""Rows of `values`: of what was evaluated last, of what stands, of the best ever, of the best of some choices, and,
from PAST on, of some moves ago."""
Goals: TypeAlias = Callable[[Ints, Ints, Ints, Ints, Ints, Ints, int, int], int]
"""(alloc, data, numbers, used, values, totals, which, at), as `binwright.agents.solver.model.source.goals` says."""
COMPARED = 32
"""Ways that are compared of taking from a bin, or units for going home, where there are many bins."""


def new_score(problem: Problem) -> tuple[Goals, Score]:
    """Compile the goals of a problem, and make the room for keeping them up.

    All goals are evaluated anew where what a term reads depends on the allocation, or most terms read most of it.
    """
    objective, size = problem.objective, problem.dims + problem.balls
    assert objective is not None
    source, constants, ranges = goals_source(objective, apart=True)
    data, numbers = np.append(objective.data, 0), np.array([*constants, 0], np.int64)
    most, pairs = size * sum(map(len, ranges)) // MANY, list[tuple[int, int]]()
    with suppress(UnstatedError):
        pairs = [*islice(term_reads(source, objective.data, constants, ranges, problem.dims), most + 1)]
    if not 0 < len(pairs) <= most:
        source, constants, ranges = goals_source(objective)
        numbers, pairs = np.array([*constants, 0], np.int64), []
    read, readers = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    counts = [len(each) for each in ranges]
    arrays: list[Ints] = [
        data, numbers, np.zeros((PAST + LATE, len(objective.goals)), np.int64), np.zeros(len(ranges), np.int64),
        np.repeat(np.arange(len(ranges)), counts), np.array([at for each in ranges for at in each], np.int64),
        np.searchsorted(read, np.arange(size + 1)), readers.copy(), *np.zeros((4, sum(counts)), np.int64),
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
        score.term[term] = call_goals(goals, state, score.which[term], score.at[term])
        score.totals[score.which[term]] += score.term[term]
    evaluate(goals, state)
    for row in range(1, len(score.values)):
        copy(score.values, TRIED, row)


@lean_inlined
def call_goals(goals: Goals, state: State, which: int, at: int) -> int:
    """Return what a term comes to now; or write what the goals come to into the row TRIED."""
    score, room = state.score, state.room
    return goals(room.alloc, score.data, score.numbers, room.used, score.values[TRIED], score.totals, which, at)


@lean_inlined
def renew(goals: Goals, state: State, entry: int) -> None:
    """Evaluate the terms that read a dimension, or dims + a ball, once in a turn; adds what changes to `totals`."""
    score, tally = state.score, state.tally
    for k in range(score.first[entry], score.first[entry + 1]):
        term = score.readers[k]
        if score.seen[term] != tally[TURN]:
            score.seen[term] = tally[TURN]
            score.fresh[term] = call_goals(goals, state, score.which[term], score.at[term])
            score.totals[score.which[term]] += score.fresh[term] - score.term[term]
            score.changed[tally[TERMS]] = term
            tally[TERMS] += 1


@lean
def evaluate(goals: Goals, state: State) -> None:
    """Write what the goals come to after the move, which has placed all balls, into the row TRIED of `values`."""
    flat, score, tally = state.flat, state.score, state.tally
    tally[TERMS] = 0
    tally[TURN] += 1
    for k in range(tally[DIMS]):
        renew(goals, state, state.touched[k])
    for k in range(tally[UNITS]):
        for at in range(flat.units[state.moves[k]], flat.units[state.moves[k] + 1]):
            renew(goals, state, len(flat.ceiling) + flat.unit_balls[at])
    call_goals(goals, state, -1, 0)
    for k in range(tally[TERMS]):
        term = score.changed[k]
        score.totals[score.which[term]] -= score.fresh[term] - score.term[term]


@lean
def accept(state: State) -> None:
    """Let what was evaluated last stand."""
    score = state.score
    copy(score.values, TRIED, NOW)
    for k in range(state.tally[TERMS]):
        term = score.changed[k]
        score.totals[score.which[term]] += score.fresh[term] - score.term[term]
        score.term[term] = score.fresh[term]


@lean
def shift(call: Utilfn, state: State) -> bool:
    """Put a unit into the bin of another one, or into any."""
    units = len(state.where)
    unit = drawn(state, units)
    place = state.where[drawn(state, units)]
    if drawn(state, 2) == 0:
        place = drawn(state, len(state.head))
    return transfer(call, state, unit, place)


@lean
def any_in(state: State, place: int) -> int:
    """Return a unit that is in a bin, by chance, or NULL."""
    unit, count = state.head[place], 0
    while unit != NULL:
        count += 1
        unit = state.following[unit]
    unit = state.head[place]
    for _ in range(drawn(state, count) if count > 1 else 0):
        unit = state.following[unit]
    return int(unit)


@lean
def any_away(state: State) -> int:
    """Return a unit that is not at home, by chance, or NULL if none is soon found."""
    home, units = state.home, len(state.home)
    turn = drawn(state, units)
    for k in range(min(1000, units)):
        unit = (turn + k) % units
        if home[unit] != NULL and home[unit] != state.where[unit]:
            return unit
    return NULL


@lean
def moved(state: State) -> bool:
    """Tell whether the move has left any unit in another bin than before."""
    changed = False
    for k in range(state.tally[UNITS]):
        changed = changed or state.where[state.moves[k]] != state.before[k]
    return changed


@lean
def is_over(state: State) -> bool:
    """Tell whether an elastic dimension is over its ceiling."""
    return bool(state.room.over[len(state.room.over) - 1] > 0)


@lean
def find_hot(call: Utilfn, goals: Goals, state: State) -> int:
    """List the bins where it would be better by the goals if a unit used nothing; returns how many there are."""
    flat, count = state.flat, 0
    begin_move(state)
    for place in range(len(state.head)):
        unit = any_in(state, place)
        if unit == NULL:
            continue
        if remove(call, state, unit, False) > 0 and not is_over(state):
            for at in range(flat.units[unit], flat.units[unit + 1]):  # goals are for allocations of all balls
                state.room.alloc[flat.unit_balls[at]] = place
            evaluate(goals, state)
            if worse(state.score.values, NOW, TRIED):
                state.hot[count] = place
                count += 1
        undo(state)
    return count


@lean
def transfer(call: Utilfn, state: State, unit: int, place: int) -> bool:
    """Take a unit out and put it into a bin; returns whether that could be done."""
    return remove(call, state, unit, False) > 0 and insert(call, state, unit, place, False)


@lean
def best_move_from_bin(call: Utilfn, goals: Goals, state: State, unit: int, sent: int) -> int:
    """Find where a unit, or any of its bin where bins are many, is best once unit `sent`, if it is not NULL, goes home.

    It looks at its home, and at some units and bins by chance. Returns the number of the unit x all bins + that of its
    bin, or NULL if none fits.
    """
    bins, where, home, best = len(state.head), state.where, state.home, NULL
    for k in range(min(COMPARED, 8 + bins // COMPARED)):
        goes, place = unit, drawn(state, bins)
        if k == 0 and sent == NULL and home[unit] != NULL:
            place = home[unit]
        elif k % 4 > 0 and bins >= COMPARED:
            goes = any_in(state, where[unit])
        if place == where[goes] or state.flat.unit_pin[goes] != NULL:
            continue
        done = sent == NULL or transfer(call, state, sent, home[sent])
        if done and transfer(call, state, goes, place) and not is_over(state):
            evaluate(goals, state)
            if best == NULL or worse(state.score.values, LEAST, TRIED):
                best = goes * bins + place
                copy(state.score.values, TRIED, LEAST)
        undo(state)
    return best


@lean
def best_return(call: Utilfn, goals: Goals, state: State, unit: int) -> int:
    """Find which of some units that are not at home, but not this one, is best sent home; NULL if none can be."""
    best = NULL
    for _ in range(min(COMPARED, 8 + len(state.head) // COMPARED)):
        away = any_away(state)
        if away not in (NULL, unit) and transfer(call, state, away, state.home[away]) and not is_over(state):
            evaluate(goals, state)
            if best == NULL or worse(state.score.values, LEAST, TRIED):
                best = away
                copy(state.score.values, TRIED, LEAST)
        undo(state)
    return best


@lean
def relieve(call: Utilfn, goals: Goals, state: State, unit: int) -> bool:
    """Put a unit, or another one of its bin, where it is best; if none fits anywhere, another one goes home first.

    That helps where so many have moved as may.
    """
    bins, home, sent = len(state.head), state.home, NULL
    best = best_move_from_bin(call, goals, state, unit, sent)
    if best == NULL and home[unit] == state.where[unit]:
        sent = best_return(call, goals, state, unit)
        best = best_move_from_bin(call, goals, state, unit, sent) if sent != NULL else NULL
    if best == NULL or (sent != NULL and not transfer(call, state, sent, home[sent])):
        return False
    return transfer(call, state, best // bins, best % bins)


@lean
def polish(call: Utilfn, goals: Goals, state: State, steps: int) -> None:
    """Make so many more moves for goals: the best allocation is in `best` then."""
    tally, values, home, hot = state.tally, state.score.values, state.home, state.hot
    failed = count = 0
    looked, stale = -len(hot), True
    for step in range(steps):
        if state.room.stop[0]:
            break
        if stale and step - looked >= len(hot) // 4:
            count = find_hot(call, goals, state)
            looked, stale = step if count > 0 else steps, False
        begin_move(state)
        draw = drawn(state, 16)
        if draw >= 11 and failed >= 16 and drawn(state, min(16, 1 + len(hot) // 4)) > 0:
            draw = 0  # no large move stood of late: where there are many bins, they take time
        if draw < 5:
            unit = any_away(state) if drawn(state, 4) == 0 else NULL
            if unit == NULL and count > 0:
                unit = any_in(state, hot[drawn(state, count)])
            if unit == NULL and drawn(state, 8) == 0:
                unit = drawn(state, len(home))
            done = shift(call, state) if unit == NULL else relieve(call, goals, state, unit)
        elif draw < 11:
            done = shift(call, state)
        else:
            done = empty_bins(call, state, min(2 + drawn(state, 3), len(hot), len(home)))
        late = PAST + step % LATE
        if done and tally[COUNT] == 0 and moved(state) and trim(call, state) and tally[COUNT] == 0:
            evaluate(goals, state)
            done = not worse(values, TRIED, NOW) or not worse(values, TRIED, late)
        else:
            done = False
        if draw >= 11:
            failed = 0 if done else failed + 1
        if done:
            stale = True
            accept(state)
            if worse(values, BEST, NOW):
                copy(values, NOW, BEST)
                keep_best(state)
        else:
            undo(state)
        if worse(values, late, NOW):
            copy(values, NOW, late)


def improved(
    problem: Problem, seed: int, alloc: list[int], runs: int | None, over: Over, patience: float = inf
) -> Iterator[Outcome]:
    """Look for better allocations than this one, of all balls; yields the best, with all moves, now and then.

    It ends after so many `runs`, when time is `over`, when no goal can be better, or when so many runs as it has
    `patience` have found nothing. Four runs begin with the same allocation. How far it comes depends on the seed and on
    `runs`.
    """
    objective, stop = problem.objective, np.zeros(1, np.int64)
    assert objective is not None
    call, flat = compiled_problem(problem, elastic=True)
    goals, empty = new_score(problem)
    places, ones = np.array(alloc, np.int64), np.ones(len(problem.units), np.int64)
    most = 2000 + 20 * len(ones)
    # Sets that hold go on doing so, whether they must or not.
    holds = np.append(problem.friends.in_one_bin(places), ~problem.foes.in_one_bin(places))

    def run(start: Ints, number: int) -> Outcome:
        score = Score(*(part.copy() for part in empty))
        search = new_state(problem, flat, stop, stream(seed, IMPROVING, number), ones)._replace(score=score)
        values = score.values
        search.room.imposed[: len(holds)] = holds
        allowed = load(call, search, start)
        assert allowed, "an allocation that is not allowed"
        begin(goals, search)
        polish(call, goals, search, 0)  # compiles it, even if time is over
        made = 0
        while made < most and not stop[0] and tuple(values[BEST].tolist()) != objective.bounds:
            polish(call, goals, search, min(SLICE, most - made))
            made += SLICE
        reached = tuple(values[BEST].tolist())
        return Outcome(int(reached != objective.bounds), search.best, number, min(made, most), reached)

    values = goals_of(problem, alloc)
    best = Outcome(int(values != objective.bounds), places, NULL, 0, values)
    checked, number, last = 0, 0, 0
    while best.left and number != runs and number - last < patience and not (number and over()):
        end = number + 4 if runs is None else min(number + 4, runs)
        for outcome in best_of(partial(run, best.where), range(number, end), over, stop):
            if outcome.values < best.values:
                best, last = outcome, end
            yield best._replace(checked=checked + outcome.checked)
        checked, number = checked + outcome.checked, end
