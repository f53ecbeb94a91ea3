"""Bound the bins that a problem needs, and find, without a search, plain reasons why not all balls can be placed.

Most follows from what each unit takes of the bin that it is in at least: a vector problem (`model.dense`) that every
allocation of the problem's own solves, too, so that its bounds (`model.packing_bound`) hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from binwright.agents.solver.model.dense import Matrix, by_bin, least_demand
from binwright.agents.solver.model.evaluate import evaluator
from binwright.agents.solver.model.packing_bound import clique
from binwright.agents.solver.model.packing_bound import lower_bound as packing_bound
from binwright.agents.solver.model.problem import Problem, leaving
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.simcore.types import Ints

CALLS = 300_000
"""Nodes of UTILFN that may be evaluated for units in bins: some tenths of a second."""
COMPARED = 200_000_000
"""Capacities of kinds of bins that balls are compared with, at most."""
NAMED = 6
"""Balls that a message names."""


def floor(problem: Problem) -> Matrix | None:
    """Find what units (`Problem.units`) take of bins at least; None if nothing is known, or it takes too long.

    It has the families of dimensions that belong to a bin and that nothing is taken from: what depends on ALLOC is left
    out of UTILFN, and adds no less than nothing to these. Capacities are as far as SOFT allows, and none of bins that
    are to be empty.
    """
    axes = ((family, family.bin_axis) for family in problem.families if not family.falls)
    families = [family for family, axis in axes if axis is not None and family.sizes[axis] == problem.bins]
    if not families or not problem.balls:
        return None
    (dims, names), matrix = by_bin(families, problem.bins), problem.matrix
    if matrix is not None and not (matrix.demand < 0).any() and matrix.demand.shape[1] == dims.shape[1]:
        demand: Ints | None = matrix.demand
    else:
        demand = least_demand(problem.without_alloc, problem.bins, problem.pins, problem.drained, dims)
    if demand is None:
        return None
    of_units = np.add.reduceat(demand[problem.units.members], problem.units.offsets[:-1], axis=0)
    return Matrix(of_units, np.where(problem.drained[:, None], 0, problem.ceiling[dims]), names)


def _apart(problem: Problem) -> Iterator[tuple[int, int]]:
    """Find the pairs of units that FOES, and PIN, keep apart."""
    unit_of = problem.unit_of.tolist()
    for members, chance in problem.foes:
        units = {unit_of[ball] for ball in members}
        if chance == MICRO and len(units) == 2:
            first, second = units
            yield first, second
    pinned: dict[int, int] = {}  # of each bin, a unit that is pinned to it: more say no more
    for ball in np.flatnonzero(problem.pins != NULL).tolist():
        pinned.setdefault(int(problem.pins[ball]), unit_of[ball])
    yield from combinations(sorted(set(pinned.values())), 2)


# How many bins are needed


def lower_bound(problem: Problem) -> int:
    """Return a number of bins that every allocation of all balls needs, for a specification with `BINS ?`.

    It is that of the least demand. Where bins differ, it is the least number for which the bound of bins like the best
    of each dimension is no larger, and the total fits. Balls that are DIFFERENT need a bin each. With MOVES, it is at
    least the number of bins in which enough balls can stay. It may be more than the most bins that are allowed.
    """
    if problem.counted:
        return problem.limits[0]
    return max(problem.limits[0], _different(problem), _for_moves(problem), _for_sizes(problem))


def opened_bound(problem: Problem, proven: int) -> int:
    """Return a number of bins that hold balls in every allocation of all balls, whichever bins these are.

    The problem is one of `BINS ?` that needs so many bins as is `proven`, the first ones; which says nothing of others
    where bins are not alike.
    """
    if problem.counted:
        return 1
    differ, shown, low = _shown(problem)
    if not differ and (problem.pins == NULL).all() and (problem.now == NULL).all() and not problem.drained.any():
        return proven
    different = _different(problem)
    return different if low is None else max(different, _of_alike(shown, low, low.capacity.max(axis=0)))


def _shown(problem: Problem) -> tuple[bool, Problem, Matrix | None]:
    """Tell whether bins differ, and return the problem with as many as show all of them, and the least demand there."""
    differ = problem.bins_differ or not problem.without_alloc.bin_blind
    shown = problem.widest if differ else problem
    return differ, shown or problem, None if shown is None else floor(shown)


def _different(problem: Problem) -> int:
    return int(np.diff(problem.different.offsets).max(initial=1))


def _for_moves(problem: Problem) -> int:
    """Return the least number of bins with which no more balls have to leave theirs than MOVES allows; 1 if none is."""
    widest = None if problem.most_moves is None else problem.widest
    if widest is None or widest.most_moves is None:
        return 1
    gone = leaving(widest.now, widest.drained, widest.pins)
    more = widest.most_moves - int(gone.sum())
    here = np.sort(widest.now[~gone & (widest.now != NULL)])[::-1]
    return int(here[more]) + 1 if 0 <= more < len(here) else 1


def _for_sizes(problem: Problem) -> int:
    """Return a number of bins without which balls find no room."""
    least, most = problem.limits
    differ, shown, low = _shown(problem)
    if low is None:
        return least
    if not differ or (low.capacity == low.capacity[0]).all():
        return _of_alike(shown, low, low.capacity[0])
    total, sums = low.demand.sum(axis=0), low.capacity.cumsum(axis=0, dtype=object)
    first, last = least, most + 1
    while first < last:  # whatever number of bins is too few, fewer are, too
        bins = (first + last) // 2
        best = low.capacity[:bins].max(axis=0)
        few = bins <= most and ((total > sums[bins - 1]).any() or _of_alike(shown, low, best) > bins)
        first, last = (bins + 1, last) if few else (first, bins)
    return first


def _of_alike(problem: Problem, low: Matrix, capacity: Ints) -> int:
    """Return the bound if all bins have this capacity [d]; 1 if a unit fits no bin, however many there are."""
    if not low.demand.size or (low.demand > capacity).any() or (low.demand < 0).any():
        return 1
    return packing_bound(low.demand, capacity, _apart(problem))


# Why not all balls can be placed


def impossible(problem: Problem) -> str:
    """Say why no allocation places all balls, if that is plain to see; otherwise return an empty text.

    A problem may well be impossible for reasons that are not looked for.
    """
    why = next(_reasons(problem), "")
    if problem.searched and not why and (bound := lower_bound(problem)) > (most := problem.limits[1]):
        return f"{problem.balls:,} balls need at least {bound:,} bins, and TO allows {most:,}"
    return why


def _most(problem: Problem) -> int:
    """Return how many bins there may be."""
    return problem.limits[1] if problem.searched else problem.bins


def _pin_of(problem: Problem) -> Ints:
    """Find the bin that a ball of each unit is pinned to, int64 [units]; -1 for none."""
    found = np.full(len(problem.units), NULL)
    np.maximum.at(found, problem.unit_of, problem.pins)
    return found


def _balls(problem: Problem, members: Sequence[int]) -> str:
    """Name some balls."""
    if len(members) == 1:
        return f"ball {problem.ball(members[0])}"
    more = f" and {len(members) - NAMED:,} more" if len(members) > NAMED else ""
    return f"balls {', '.join(map(problem.ball, sorted(members)[:NAMED]))}{more}"


def _unit(problem: Problem, unit: int) -> list[int]:
    found: list[int] = problem.units.members[problem.units.offsets[unit] : problem.units.offsets[unit + 1]].tolist()
    return found


def _amount(micro: int) -> str:
    return f"{int(micro) / MICRO:,.15g}"


def _reasons(problem: Problem) -> Iterator[str]:
    """Find reasons why not all balls can be placed, the simple ones first."""
    if problem.searched and problem.counted:
        return  # other numbers of bins are other problems
    most = problem.most_moves
    if most is not None and (widest := problem.widest) is not None:
        leave = int(leaving(widest.now, widest.drained, widest.pins).sum())
        balls = "1 ball has to leave its bin" if leave == 1 else f"{leave:,} balls have to leave their bins"
        if leave > most:
            yield f"{balls}, and MOVES allows {most:,}"
    if problem.drained.all() and (widest := problem.widest) is not None and widest.drained.all():
        yield "all bins are to be empty"
    yield from _sets(problem)
    yield from _too_little(problem)
    if problem.matrix is None and problem.program.alloc_free:
        widest = problem.widest  # what a bin takes may depend on which it is
        if widest is not None and widest.program.non_negative:
            yield from _by_calls(widest)
    _, shown, low = _shown(problem)
    if low is not None and low.names:
        yield from _too_large(shown, low)
        if not problem.searched:
            yield from _too_many(problem, low)


def _sets(problem: Problem) -> Iterator[str]:
    """Find FRIENDS, FOES and PIN that contradict one another."""
    unit_of, pins, at, most = problem.unit_of, problem.pins, problem.bin, _most(problem)
    pin_of = _pin_of(problem)
    for ball in np.flatnonzero((pins != NULL) & (pins != pin_of[unit_of]))[:1].tolist():
        other = next(friend for friend in _unit(problem, unit_of[ball]) if pins[friend] == pin_of[unit_of[ball]])
        both = _balls(problem, [ball, other])
        yield f"{both} are FRIENDS, and pinned to bins {at(pins[ball])} and {at(pins[other])}"
    for members, _ in problem.different:
        if len(members) > most:
            yield f"{_balls(problem, members)} are DIFFERENT, and need {len(members):,} bins; there are {most:,}"
        for same, why in ((unit_of, "FRIENDS"), (pins, "pinned to one bin")):
            values, counts = np.unique(same[members], return_counts=True)
            for value in values[(counts > 1) & (values != NULL)][:1].tolist():
                pair = [ball for ball in members if same[ball] == value][:2]
                yield f"{_balls(problem, pair)} are DIFFERENT, and {why}"
    for members, chance in problem.foes:
        if chance == MICRO and len({int(unit_of[ball]) for ball in members}) == 1:
            yield f"{_balls(problem, members)} are FRIENDS, and FOES"
        places = {int(pin_of[unit_of[ball]]) for ball in members}
        if chance == MICRO and len(places) == 1 and places != {NULL}:
            yield f"{_balls(problem, members)} are FOES, and all in bin {at(places.pop())} by PIN"


def _too_little(problem: Problem) -> Iterator[str]:
    """Find what AT LEAST asks for more of than there is: of a dimension, or of all that the balls take together."""
    dims, amounts, or_none = problem.least
    for n in np.flatnonzero(~or_none & (amounts > problem.ceiling[dims]))[:1].tolist():
        has = _amount(problem.ceiling[dims[n]])
        yield f"{problem.name(int(dims[n]))} is to be used {_amount(amounts[n])} AT LEAST, and it has {has}"
    least = np.zeros(problem.dims, np.int64)
    np.maximum.at(least, dims[~or_none], amounts[~or_none])
    matrix = problem.matrix if least.any() else None
    if matrix is None:
        return
    together, takes = least[by_bin(problem.families, problem.bins)[0]].sum(axis=0), matrix.demand.sum(axis=0)
    for d in np.flatnonzero(together > takes)[:1].tolist():
        more, less = _amount(together[d]), _amount(takes[d])
        yield f"all bins are to be used {more} of {matrix.names[d]} AT LEAST, and all balls take {less}"


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
            rejected, sums, taken = False, dict[int, int](), np.zeros(len(total), object)
            for dim, amount in (each for every in added for each in every or ()):
                sums[dim] = sums.get(dim, 0) + amount
            if any(amount > ceiling[dim] for dim, amount in sums.items()):
                continue
            for dim, amount in sums.items():
                taken[family_of[dim]] += amount
                if pins:
                    pinned[dim] = pinned.get(dim, 0) + amount
            least = taken if least is None else np.minimum(least, taken)
        if least is None:
            where = f"bin {problem.bin(pins[0])}, to which it is pinned" if pins else "every bin"
            how = "is rejected in" if rejected else "alone is too much for"
            if len(members) > 1:
                how = f"are FRIENDS, and {'one of them is rejected in' if rejected else 'together too much for'}"
            yield f"{_balls(problem, members)} {how} {where}"
            return
        total = total + least
    for dim, amount in pinned.items():
        if amount > ceiling[dim]:
            took, has = _amount(amount), _amount(ceiling[dim])
            yield f"the pinned balls take {took} of {problem.name(dim)}, and it has {has}"
    for family, amount in zip(problem.families, total.tolist(), strict=True):
        most = sum(ceiling[family.offset : family.offset + family.count])
        if amount > most:
            yield f"all balls take at least {_amount(amount)} of {family.name}, and there are {_amount(most)}"


def _too_large(problem: Problem, low: Matrix) -> Iterator[str]:
    """Find a unit that no bin holds even alone, or pinned balls that need more of a bin than it has."""
    demand, kinds, names = low.demand, np.unique(low.capacity, axis=0), low.names
    best = kinds.max(axis=0)
    fits = (demand <= best).all(axis=1)
    if fits.all() and kinds.size * len(demand) < COMPARED:
        fits = np.zeros(len(demand), bool)
        for kind in kinds:
            fits |= (demand <= kind).all(axis=1)
            if fits.all():
                break
    for unit in np.flatnonzero(~fits)[:1].tolist():
        members, needs = _unit(problem, unit), demand[unit].tolist()
        together = "takes" if len(members) == 1 else "are FRIENDS, and together take"
        who = f"{_balls(problem, members)} {together} {'' if problem.matrix is not None else 'at least '}"
        for d in np.flatnonzero(demand[unit] > best)[:1].tolist():
            yield f"{who}{_amount(needs[d])} of {names[d]}, and no bin has more than {_amount(best[d])}"
        parts = ", ".join(f"{_amount(need)} of {name}" for need, name in zip(needs, names, strict=True))
        yield f"{who}{parts}, and no bin has so much of all"
    used, pins = np.zeros_like(low.capacity), _pin_of(problem)
    np.add.at(used, pins[pins != NULL], demand[pins != NULL])
    for place, d in np.argwhere(used > low.capacity)[:1].tolist():
        took, has = _amount(used[place, d]), _amount(low.capacity[place, d])
        yield f"the balls pinned to bin {problem.bin(place)} take {took} of {names[d]}, and it has {has}"


def _too_many(problem: Problem, low: Matrix) -> Iterator[str]:
    """Find out whether all units need more than all bins have, or more bins than there are."""
    demand, capacity = low.demand, low.capacity
    total, most = demand.sum(axis=0), capacity.sum(axis=0, dtype=object)  # which may be beyond 64 bits
    for d in np.flatnonzero(total > most)[:1].tolist():
        yield f"all balls take {_amount(total[d])} of {low.names[d]}, and all bins have {_amount(most[d])}"
    best, bins = capacity.max(axis=0), len(capacity)
    if apart := clique(demand, best, _apart(problem), bins):
        each = [_unit(problem, unit)[0] for unit in apart]
        yield f"no two of {_balls(problem, each)} fit one bin, and there are {bins} bins for these {len(each)}"
    if (least := packing_bound(demand, best)) > bins:
        yield f"{len(demand)} balls need at least {least} bins, and there are {bins}"
