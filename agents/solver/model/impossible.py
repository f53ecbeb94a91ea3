"""Find, without a search, the first plain reason why not all balls can be placed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from agents.solver.model.cliques import clique
from agents.solver.model.dense import Matrix
from agents.solver.model.floor import floor, pairs
from agents.solver.model.interpreter import call
from agents.solver.model.packing_bound import lower_bound as packing_bound
from agents.solver.model.problem import Problem
from agents.solver.model.program import MICRO, NULL
from simcore.vocabulary import Ints

CALLS = 300_000
"""Nodes of UTILFN that may be evaluated here: some tenths of a second."""
ENTRIES = 2_000_000
"""Capacities that are looked at."""
NAMED = 6
"""Balls that a message names."""


def impossible(problem: Problem) -> str:
    """Say why no allocation places all balls, if that is plain to see; otherwise return an empty text.

    A problem may well be impossible for reasons that are not looked for.
    """
    return next(_reasons(problem), "")


def _too_many_moves(problem: Problem) -> Iterator[str]:
    """Say that more balls have to leave their bins than may."""
    most, leaving = problem.most_moves, problem.leaving
    if most is not None and leaving > most:
        balls = "1 ball has to leave its bin" if leaving == 1 else f"{leaving:,} balls have to leave their bins"
        yield f"{balls}, and MOVES allows {most:,}"


def hopeless(problem: Problem) -> list[int]:
    """Count, for each of `Problem.wishes`, the sets that plainly no allocation of all balls keeps."""
    if not problem.wishes or (problem.searched and problem.counted):
        return [0] * len(problem.wishes)
    most = problem.limits[1] if problem.searched else problem.bins
    unit_of, pin_of = problem.unit_of.tolist(), _pin_of(problem).tolist()
    apart: dict[int, list[set[int]]] = {}
    for members, chance in problem.foes:
        foes = {unit_of[ball] for ball in members}
        if chance == MICRO:
            apart.setdefault(min(foes), []).append(foes)
    matrix = None if problem.searched and problem.bins_differ else problem.matrix
    demand = capacity = None
    if matrix is not None and not (matrix.demand < 0).any():
        demand = _demand(problem, matrix)
        capacity = np.unique(matrix.capacity, axis=0)

    def never(kind: str, members: tuple[int, ...]) -> bool:
        units = {unit_of[ball] for ball in members}
        pins = {pin_of[unit] for unit in units}
        if kind == "FOES":
            return most == 1 or len(units) == 1 or (len(pins) == 1 and NULL not in pins)
        if len(pins - {NULL}) > 1 or any(foes <= units for unit in units for foes in apart.get(unit, ())):
            return True
        if demand is None or capacity is None:
            return False
        return not (demand[list(units)].sum(axis=0) <= capacity).all(axis=1).any()

    return [sum(never(wish.kind, members) for members in wish.sets) for wish in problem.wishes]


def _demand(problem: Problem, matrix: Matrix) -> Ints:
    """Sum what the balls of each unit take, int64 [units, d]."""
    return np.add.reduceat(matrix.demand[problem.units.members], problem.units.offsets[:-1], axis=0)


def _pin_of(problem: Problem) -> Ints:
    """Find the bin that a ball of each unit is pinned to, int64 [units]; -1 for none."""
    found = np.full(len(problem.units), NULL)
    np.maximum.at(found, problem.unit_of, problem.pins)
    return found


def _reasons(problem: Problem) -> Iterator[str]:
    """Find reasons why not all balls can be placed, the simple ones first."""
    if problem.searched and problem.counted:
        return  # other numbers of bins are other problems
    yield from _too_many_moves(problem)
    if problem.drained.all():
        yield "all bins are to be empty"
    yield from _sets(problem)
    widest = _widest(problem) if problem.bins_differ else problem
    matrix = widest.matrix if widest is not None else None
    if widest is not None and matrix is not None and not (matrix.demand < 0).any():
        demand = _demand(problem, matrix)
        yield from _too_large(widest, demand, matrix.capacity, matrix.names)
        pinned = np.zeros_like(matrix.capacity)
        at = _pin_of(problem)
        np.add.at(pinned, at[at != NULL], demand[at != NULL])
        yield from _overfull(widest, pinned, matrix)
        if not problem.searched:
            yield from _too_many(problem, demand, matrix.capacity, matrix.names, pairs(problem))
    elif problem.program.alloc_free:
        widest = _widest(problem)  # what a bin takes may depend on which it is
        if widest is not None and widest.program.non_negative:
            yield from _by_calls(widest)
    if matrix is None and not problem.searched:
        low = floor(problem)
        if low is not None and (low.demand <= low.capacity.max(axis=0)).all():
            yield from _too_many(problem, low.demand, low.capacity, low.names, low.foes)


def _widest(problem: Problem) -> Problem | None:
    """Return the problem with as many bins as are allowed; None if that is too large."""
    if not problem.searched:
        return problem
    most = problem.limits[1]
    return None if most * problem.dims // problem.bins > ENTRIES else problem.with_bins(most)


def _sets(problem: Problem) -> Iterator[str]:
    """Find FRIENDS, FOES and PIN that contradict one another."""
    unit_of, pins, at = problem.unit_of, problem.pins, problem.bin
    pin_of = _pin_of(problem)
    for ball in np.flatnonzero((pins != NULL) & (pins != pin_of[unit_of]))[:1].tolist():
        friends = problem.units.members[problem.units.offsets[unit_of[ball]] : problem.units.offsets[unit_of[ball] + 1]]
        other = int(friends[pins[friends] == pin_of[unit_of[ball]]][0])
        yield f"{_balls(problem, [ball, other])} are FRIENDS, and pinned to bins {at(pins[ball])} and {at(pins[other])}"
    for members, chance in problem.foes:
        if chance == MICRO and len({int(unit_of[ball]) for ball in members}) == 1:
            yield f"{_balls(problem, members)} are FRIENDS, and FOES"
        places = {int(pin_of[unit_of[ball]]) for ball in members}
        if chance == MICRO and len(places) == 1 and places != {NULL}:
            yield f"{_balls(problem, members)} are FOES, and all in bin {at(places.pop())} by PIN"


def _too_large(problem: Problem, demand: Ints, capacity: Ints, names: tuple[str, ...]) -> Iterator[str]:
    """Find units [units, d] that no bin [bins, d] holds even alone."""
    kinds = np.unique(capacity, axis=0)
    fits = np.zeros(len(demand), bool)
    for kind in kinds if kinds.size * len(demand) < 100 * ENTRIES else ():
        fits |= (demand <= kind).all(axis=1)
        if fits.all():
            return
    for unit in np.flatnonzero(~fits)[:1].tolist() if len(kinds) else ():
        members = problem.units.members[problem.units.offsets[unit] : problem.units.offsets[unit + 1]].tolist()
        beyond = demand[unit] > kinds.max(axis=0)
        together = "takes" if len(members) == 1 else "are FRIENDS, and together take"
        if beyond.any():
            d = int(beyond.argmax())
            has = f"no bin has more than {_amount(int(kinds[:, d].max()))}"
            yield f"{_balls(problem, members)} {together} {_amount(int(demand[unit, d]))} of {names[d]}, and {has}"
        else:
            parts = ", ".join(f"{_amount(int(demand[unit, d]))} of {name}" for d, name in enumerate(names))
            yield f"{_balls(problem, members)} {together} {parts}, and no bin has so much of all"


def _overfull(problem: Problem, used: Ints, matrix: Matrix) -> Iterator[str]:
    """Find pinned balls that need more of a bin than it has."""
    for place, d in np.argwhere(used > matrix.capacity)[:1].tolist():
        took, has = _amount(int(used[place, d])), _amount(int(matrix.capacity[place, d]))
        yield f"the balls pinned to bin {problem.bin(place)} take {took} of {matrix.names[d]}, and it has {has}"


def _too_many(
    problem: Problem, demand: Ints, capacity: Ints, names: tuple[str, ...], foes: Iterable[tuple[int, int]]
) -> Iterator[str]:
    """Find out whether all units need more than all bins have, or more bins than there are."""
    total, most = demand.sum(axis=0), capacity.sum(axis=0)
    for d in np.flatnonzero(total > most)[:1].tolist():
        yield f"all balls take {_amount(int(total[d]))} of {names[d]}, and all bins have {_amount(int(most[d]))}"
    best, bins = capacity.max(axis=0), len(capacity)
    if apart := clique(demand, best, foes, bins):
        each = [int(problem.units.members[problem.units.offsets[unit]]) for unit in apart]
        yield f"no two of {_balls(problem, each)} fit one bin, and there are {bins} bins for these {len(each)}"
    if (least := packing_bound(demand, best)) > bins:
        yield f"{len(demand)} balls need at least {least} bins, and there are {bins}"


def _by_calls(problem: Problem) -> Iterator[str]:
    """Find balls that no bin takes, by calls of UTILFN, which must add the same whatever the other balls do."""
    bins, ceiling = problem.bins, problem.ceiling.tolist()
    room = CALLS // max(1, problem.program.steps)
    used: dict[int, int] = {}
    for ball, place in enumerate(problem.pins.tolist()):
        if place == NULL or room == 0:
            continue
        room -= 1
        for dim, amount in call(problem.program, ball, place, []) or ():
            used[dim] = used.get(dim, 0) + amount
            if used[dim] > ceiling[dim]:
                took, has = _amount(used[dim]), _amount(ceiling[dim])
                yield f"the pinned balls take {took} of {problem.name(dim)}, and it has {has}"
                return
    for ball in range(problem.balls):
        pin = int(problem.pins[ball])
        rejected = True
        for place in range(bins) if pin == NULL else (pin,):
            if room == 0:
                return
            room -= 1
            added = call(problem.program, ball, place, [])
            rejected = rejected and added is None
            sums: dict[int, int] = {}
            for dim, amount in added or ():
                sums[dim] = sums.get(dim, 0) + amount
            if added is not None and all(amount <= ceiling[dim] for dim, amount in sums.items()):
                break
        else:
            where = "every bin" if pin == NULL else f"bin {problem.bin(pin)}, to which it is pinned"
            how = "is rejected in" if rejected else "alone is too much for"
            yield f"ball {problem.ball(ball)} {how} {where}"


def _balls(problem: Problem, members: list[int]) -> str:
    if len(members) == 1:
        return f"ball {problem.ball(members[0])}"
    more = f" and {len(members) - NAMED:,} more" if len(members) > NAMED else ""
    return f"balls {', '.join(map(problem.ball, sorted(members)[:NAMED]))}{more}"


def _amount(micro: int) -> str:
    return f"{micro / MICRO:,.15g}"
