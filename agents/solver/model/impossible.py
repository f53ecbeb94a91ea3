"""Find, without a search, the first plain reason why not all balls can be placed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from binwright.agents.solver.model.bounds import lower_bound
from binwright.agents.solver.model.cliques import clique
from binwright.agents.solver.model.dense import by_bin
from binwright.agents.solver.model.evaluate import evaluator
from binwright.agents.solver.model.floor import Floor, floor
from binwright.agents.solver.model.packing_bound import lower_bound as packing_bound
from binwright.agents.solver.model.problem import Problem, leaving
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.simcore.types import Ints

CALLS = 300_000
"""Nodes of UTILFN that may be evaluated here: some tenths of a second."""


def _by_calls(problem: Problem) -> Iterator[str]:
    """Call UTILFN for all units in all bins: one fits nowhere, pinned ones need too much, or all do of a resource.

    What is added to a resource counts in sum over its dimensions.
    """
    if problem.balls * problem.bins * max(1, problem.program.steps) > CALLS:
        return
    evaluate, ceiling = evaluator(problem.program), problem.ceiling.tolist()
    family_of = np.repeat(np.arange(len(problem.families)), [family.count for family in problem.families]).tolist()
    pinned: dict[int, int] = {}
    total = np.zeros(len(problem.families), object)  # it may be beyond 64 bits
    for members, _ in problem.units:
        pins = sorted({int(pin) for pin in problem.pins[members]} - {NULL})
        rejected, least = True, None
        for place in pins[:1] or range(problem.bins):
            added = [evaluate(ball, place, ()) for ball in members]
            if None in added:
                continue
            rejected, sums = False, dict[int, int]()
            for dim, amount in (each for every in added for each in every or ()):
                sums[dim] = sums.get(dim, 0) + amount
            if any(amount > ceiling[dim] for dim, amount in sums.items()):
                continue
            taken = np.zeros(len(total), object)
            for dim, amount in sums.items():
                taken[family_of[dim]] += amount
                if pins:
                    pinned[dim] = pinned.get(dim, 0) + amount
            least = taken if least is None else np.minimum(least, taken)
        if least is None:
            where = f"bin {problem.bin(pins[0])}, to which it is pinned" if pins else "every bin"
            yield f"{balls_of(problem, members)} {_how(len(members), rejected)} {where}"
            return
        total = total + least
    for dim, amount in pinned.items():
        if amount > ceiling[dim]:
            took, has = amount_of(amount), amount_of(ceiling[dim])
            yield f"the pinned balls take {took} of {problem.name(dim)}, and it has {has}"
    for family, amount in zip(problem.families, total.tolist(), strict=True):
        most = sum(ceiling[family.offset : family.offset + family.count])
        if amount > most:
            yield f"all balls take at least {amount_of(amount)} of {family.name}, and there are {amount_of(most)}"


def _how(members: int, rejected: bool) -> str:
    if members == 1:
        return "is rejected in" if rejected else "alone is too much for"
    return "are FRIENDS, and one of them is rejected in" if rejected else "are FRIENDS, and together too much for"


NAMED = 6
"""Balls that a message names."""


def balls_of(problem: Problem, members: Sequence[int]) -> str:
    """Name some balls."""
    if len(members) == 1:
        return f"ball {problem.ball(members[0])}"
    more = f" and {len(members) - NAMED:,} more" if len(members) > NAMED else ""
    return f"balls {', '.join(map(problem.ball, sorted(members)[:NAMED]))}{more}"


def amount_of(micro: int) -> str:
    """Write an amount that is given in millionths."""
    return f"{micro / MICRO:,.15g}"


COMPARED = 200_000_000
"""Capacities of kinds of bins that balls are compared with, at most."""


def impossible(problem: Problem) -> str:
    """Say why no allocation places all balls, if that is plain to see; otherwise return an empty text.

    A problem may well be impossible for reasons that are not looked for.
    """
    return next(_reasons(problem), "") or (too_few(problem, lower_bound(problem)) if problem.searched else "")


def too_few(problem: Problem, bound: int) -> str:
    """Say that all balls need at least `bound` bins, if there are not so many."""
    most = problem.limits[1] if problem.searched else problem.bins
    limit = "TO allows" if problem.searched else "there are"
    return "" if bound <= most else f"{problem.balls:,} balls need at least {bound:,} bins, and {limit} {most:,}"


def _too_many_moves(problem: Problem) -> Iterator[str]:
    """Say that more balls have to leave their bins than may, however many bins there are."""
    most = problem.most_moves
    widest = None if most is None else problem.widest
    leave = 0 if widest is None else int(leaving(widest.now, widest.drained, widest.pins).sum())
    if most is not None and leave > most:
        balls = "1 ball has to leave its bin" if leave == 1 else f"{leave:,} balls have to leave their bins"
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
    low = None if problem.searched and problem.bins_differ else floor(problem)
    capacity = None if low is None else np.unique(low.capacity, axis=0)

    def never(kind: str, members: tuple[int, ...]) -> bool:
        units = {unit_of[ball] for ball in members}
        pins = {pin_of[unit] for unit in units}
        if kind == "FOES":
            return most == 1 or len(units) == 1 or (len(pins) == 1 and NULL not in pins)
        if len(pins - {NULL}) > 1 or any(foes <= units for unit in units for foes in apart.get(unit, ())):
            return True
        if low is None or capacity is None:
            return False
        return not (low.demand[list(units)].sum(axis=0) <= capacity).all(axis=1).any()

    return [sum(never(wish.kind, members) for members in wish.sets) for wish in problem.wishes]


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
    if problem.drained.all() and (most := problem.widest) is not None and most.drained.all():
        yield "all bins are to be empty"
    yield from _sets(problem)
    yield from _too_little(problem)
    if problem.matrix is None and problem.program.alloc_free:
        widest = problem.widest  # what a bin takes may depend on which it is
        if widest is not None and widest.program.non_negative:
            yield from _by_calls(widest)
    widest = problem.widest if problem.bins_differ or not problem.without_alloc.bin_blind else problem
    low = None if widest is None else floor(widest)
    if widest is not None and low is not None and low.names:
        yield from _too_large(widest, low)
        yield from _overfull(widest, low)
        if not problem.searched:
            yield from _too_many(problem, low)


def _sets(problem: Problem) -> Iterator[str]:
    """Find FRIENDS, FOES and PIN that contradict one another."""
    unit_of, pins, at = problem.unit_of, problem.pins, problem.bin
    pin_of = _pin_of(problem)
    for ball in np.flatnonzero((pins != NULL) & (pins != pin_of[unit_of]))[:1].tolist():
        friends = problem.units.members[problem.units.offsets[unit_of[ball]] : problem.units.offsets[unit_of[ball] + 1]]
        other = int(friends[pins[friends] == pin_of[unit_of[ball]]][0])
        both = balls_of(problem, [ball, other])
        yield f"{both} are FRIENDS, and pinned to bins {at(pins[ball])} and {at(pins[other])}"
    most = problem.limits[1] if problem.searched else problem.bins
    for members, _ in problem.different:
        if len(members) > most:
            yield f"{balls_of(problem, members)} are DIFFERENT, and need {len(members):,} bins; there are {most:,}"
        for same, why in ((unit_of, "FRIENDS"), (pins, "pinned to one bin")):
            values, counts = np.unique(same[members], return_counts=True)
            for value in values[(counts > 1) & (values != NULL)][:1].tolist():
                pair = [ball for ball in members if same[ball] == value][:2]
                yield f"{balls_of(problem, pair)} are DIFFERENT, and {why}"
    for members, chance in problem.foes:
        if chance == MICRO and len({int(unit_of[ball]) for ball in members}) == 1:
            yield f"{balls_of(problem, members)} are FRIENDS, and FOES"
        places = {int(pin_of[unit_of[ball]]) for ball in members}
        if chance == MICRO and len(places) == 1 and places != {NULL}:
            yield f"{balls_of(problem, members)} are FOES, and all in bin {at(places.pop())} by PIN"


def _too_little(problem: Problem) -> Iterator[str]:
    """Find what AT LEAST asks for more of than there is: of a dimension, or of all that the balls take together."""
    dims, amounts, or_none = problem.least
    beyond = np.flatnonzero(~or_none & (amounts > problem.ceiling[dims]))
    for dim, amount in zip(dims[beyond][:1].tolist(), amounts[beyond][:1].tolist(), strict=True):
        has = amount_of(int(problem.ceiling[dim]))
        yield f"{problem.name(dim)} is to be used {amount_of(amount)} AT LEAST, and it has {has}"
    asked = np.zeros(problem.dims, np.int64)
    np.maximum.at(asked, dims[~or_none], amounts[~or_none])
    matrix = problem.matrix if asked.any() else None
    if matrix is None:
        return
    local = [(one, one.bin_axis) for one in problem.families if one.bin_axis is not None]
    together = asked[np.concatenate([by_bin(family, axis) for family, axis in local], axis=1)].sum(axis=0)
    takes = matrix.demand.sum(axis=0)
    for d in np.flatnonzero(together > takes)[:1].tolist():
        more, less = amount_of(int(together[d])), amount_of(int(takes[d]))
        yield f"all bins are to be used {more} of {matrix.names[d]} AT LEAST, and all balls take {less}"


def _too_large(problem: Problem, low: Floor) -> Iterator[str]:
    """Find a unit that no bin holds even alone."""
    demand, kinds, names = low.demand, np.unique(low.capacity, axis=0), low.names
    fits = (demand <= kinds.max(axis=0)).all(axis=1)
    if fits.all() and kinds.size * len(demand) < COMPARED:
        fits = np.zeros(len(demand), bool)
        for kind in kinds:
            fits |= (demand <= kind).all(axis=1)
            if fits.all():
                return
    for unit in np.flatnonzero(~fits)[:1].tolist():
        members = problem.units.members[problem.units.offsets[unit] : problem.units.offsets[unit + 1]].tolist()
        beyond = demand[unit] > kinds.max(axis=0)
        together = "takes" if len(members) == 1 else "are FRIENDS, and together take"
        least = "" if problem.matrix is not None else "at least "
        if beyond.any():
            d = int(beyond.argmax())
            has = f"no bin has more than {amount_of(int(kinds[:, d].max()))}"
            took = f"{least}{amount_of(int(demand[unit, d]))} of {names[d]}"
            yield f"{balls_of(problem, members)} {together} {took}, and {has}"
        else:
            parts = ", ".join(f"{amount_of(int(demand[unit, d]))} of {name}" for d, name in enumerate(names))
            yield f"{balls_of(problem, members)} {together} {least}{parts}, and no bin has so much of all"


def _overfull(problem: Problem, low: Floor) -> Iterator[str]:
    """Find pinned balls that need more of a bin than it has."""
    used, pins = np.zeros_like(low.capacity), _pin_of(problem)
    np.add.at(used, pins[pins != NULL], low.demand[pins != NULL])
    for place, d in np.argwhere(used > low.capacity)[:1].tolist():
        took, has = amount_of(int(used[place, d])), amount_of(int(low.capacity[place, d]))
        yield f"the balls pinned to bin {problem.bin(place)} take {took} of {low.names[d]}, and it has {has}"


def _too_many(problem: Problem, low: Floor) -> Iterator[str]:
    """Find out whether all units need more than all bins have, or more bins than there are."""
    demand, capacity = low.demand, low.capacity
    total, most = demand.sum(axis=0), capacity.sum(axis=0, dtype=object)  # which may be beyond 64 bits
    for d in np.flatnonzero(total > most)[:1].tolist():
        took, has = amount_of(int(total[d])), amount_of(int(most[d]))
        yield f"all balls take {took} of {low.names[d]}, and all bins have {has}"
    best, bins = capacity.max(axis=0), len(capacity)
    if apart := clique(demand, best, low.foes, bins):
        each = [int(problem.units.members[problem.units.offsets[unit]]) for unit in apart]
        yield f"no two of {balls_of(problem, each)} fit one bin, and there are {bins} bins for these {len(each)}"
    if (least := packing_bound(demand, best)) > bins:
        yield f"{len(demand)} balls need at least {least} bins, and there are {bins}"
