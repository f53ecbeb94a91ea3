"""Place whole tenants one after another, the largest first, in plain Python: nothing is compiled for it.

Balls are one tenant if what one of them adds looks at where another one is, such as the workers of a job, or if they
are friends. A tenant goes into bins one after another, from where the last one ended or from some other bin on, so that
it lies near together. One that is not placed whole takes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.model.evaluate import Added, evaluator
from binwright.agents.solver.model.problem import Problem, Sets, joined
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.simcore.types import Ints

STARTS = 48
"""Bins from which on a tenant is tried."""


class Tenants(NamedTuple):
    """The tenants of a problem, each with its balls ascending, and what each ball adds while all others are nowhere."""

    sets: Sets
    alone: list[Added | None]
    """[balls]: in the bin that it is pinned to, or else in bin 0; None where it is rejected there"""

    @property
    def several(self) -> bool:
        """Tell whether there are several tenants, some of which have several balls."""
        return 1 < len(self.sets) < len(self.alone)

    def whole(self, alloc: Sequence[int]) -> Ints:
        """Take out of an allocation [balls] the balls of tenants that are not placed whole."""
        order, places = self.sets.members, np.asarray(alloc)
        lowest = np.minimum.reduceat(places[order], self.sets.offsets[:-1])
        result = np.empty_like(places)
        result[order] = np.where(np.repeat(lowest, np.diff(self.sets.offsets)) == NULL, NULL, places[order])
        return result


def tenants(problem: Problem, over: Callable[[], bool]) -> Tenants | None:
    """Find the tenants by calling UTILFN for every ball; None if time is `over` before that is done."""
    read: set[int] = set()

    def note(alloc: Sequence[int], other: int, ball: int) -> int:
        read.add(other)
        return NULL

    evaluate, alone, seen = evaluator(problem.program, placed=note), list[Added | None](), list[list[int]]()
    for ball, pin in enumerate(problem.pins.tolist()):
        if over():
            return None
        read.clear()
        alone.append(evaluate(ball, max(pin, 0), ()))
        seen.append([ball, *read])
    friends = [members for members, chance in problem.friends if chance == MICRO]
    return Tenants(joined(problem.balls, [*friends, *seen]), alone)


class Placed(NamedTuple):
    """A unit that is placed."""

    unit: int
    place: int
    added: Added


class Construction:
    """An allocation of whole tenants, and no others, that grows until time is `over`."""

    def __init__(self, problem: Problem, tenants: Tenants | None, over: Callable[[], bool]) -> None:
        """Begin with nothing placed; without `tenants` each unit is one."""
        self._tenants = tenants or Tenants(problem.units, [None] * problem.balls)
        self.problem, self._late = problem, over
        self._balls = [balls for balls, _ in self._tenants.sets]
        self._tenant_units = [list(dict.fromkeys(problem.unit_of[balls].tolist())) for balls in self._balls]
        self._units = [balls for balls, _ in problem.units]
        self._evaluate = evaluator(problem.program)
        self.where, self.used, self._over = [NULL] * problem.balls, [0] * problem.dims, [0] * len(problem.soft_allowed)
        """[balls]: the bins; [dims]: what is used; [soft groups]: members above their capacity."""
        self._ceiling, self._capacity, self._group, self._allowed, self._elastic, self._owner, self._pins = (
            of.tolist()
            for of in (
                problem.ceiling, problem.capacity, problem.soft_group, problem.soft_allowed, problem.elastic,
                problem.owner, problem.pins,
            )
        )  # fmt: skip
        self._foes: dict[int, list[list[int]]] = {}
        """By ball: the sets that must not lie in one bin whole."""
        for foes, chance in problem.foes:
            for ball in foes if chance == MICRO else ():
                self._foes.setdefault(ball, []).append(foes)
        self._pin = [max(self._pins[ball] for ball in balls) for balls in self._balls]
        self._last = 0
        """Where the last tenant ended."""

    @property
    def alloc(self) -> list[int]:
        """Return the allocation [balls] of whole tenants: an interrupt may come while half of one is in."""
        alloc: list[int] = self._tenants.whole(self.where).tolist()
        return alloc

    def construct(self) -> None:
        """Place the tenants that fit: those that can stay now, pinned ones, then the largest first."""
        alone, tenants, now = self._tenants.alone, range(len(self._balls)), self.problem.unit_now.tolist()
        share = [sum(max(0, by) / max(1, self._ceiling[dim]) for dim, by in added or ()) for added in alone]
        size = [sum(share[ball] for ball in balls) for balls in self._balls]
        order = sorted(tenants, key=lambda tenant: (self._pin[tenant] == NULL, -size[tenant]))
        for tenant in order if max(now) != NULL else ():
            homes = ((unit, now[unit]) for unit in self._tenant_units[tenant] if now[unit] != NULL)
            self._keep(tenant, [part for unit, place in homes if (part := self.put_unit(unit, place)) is not None])
        failed = set[tuple[object, ...]]()
        for tenant in order:
            balls = self._balls[tenant]
            kind = tuple(tuple(alone[ball] or ()) for ball in balls)
            if self.where[balls[0]] == NULL and kind not in failed and not self.insert(tenant):
                # Where one finds no room, another one does not either, unless pins, foes or REJECT tell them apart.
                special = self._pin[tenant] != NULL or not self._foes.keys().isdisjoint(balls) or () in kind
                failed |= set() if special or self.problem.program.rejects else {kind}
            if self._late():
                return

    def insert(self, tenant: int) -> bool:
        """Place a tenant whole; tells whether it fits anywhere that is looked at.

        It fills one bin after another. When a bin is left, its last units go out again until nothing of its own is
        over: they go into the next one.
        """
        bins, units = self.problem.bins, self._tenant_units[tenant]
        most = min(bins, 64 + 4 * len(units))  # that are filled before it is tried elsewhere
        for number in range(min(bins, STARTS)):
            begin = self._last + number * max(1, bins // STARTS)
            if number == 0 and self._pin[tenant] != NULL:
                begin = self._pin[tenant]
            waiting, put = units[::-1], list[Placed]()
            for offset in range(most):
                first = len(put)
                while waiting and (part := self.put_unit(waiting[-1], (begin + offset) % bins)) is not None:
                    put.append(part)
                    waiting.pop()
                while len(put) > first and self.is_over(put[first:], own=True):
                    waiting.append(put[-1].unit)
                    self.take_out(put.pop())
                if not waiting or self._late():
                    break
            if self._keep(tenant, put):
                self._last = put[-1].place
                return True
            if self._late():
                return False
        return False

    def _keep(self, tenant: int, put: list[Placed]) -> bool:
        """Keep a tenant of which these units are in, unless one is missing, or something is over; tells which."""
        kept = len(put) == len(self._tenant_units[tenant]) and not self.is_over(put)
        for part in () if kept else put:
            self.take_out(part)
        return kept

    def is_over(self, put: list[Placed], *, own: bool = False) -> bool:
        """Tell whether something that units take is over, or something that is the bin's `own`."""
        return any(
            self._elastic[dim] and self.used[dim] > self._ceiling[dim] and not (own and self._owner[dim] == NULL)
            for part in put
            for dim, _ in part.added
        )

    def put_unit(self, unit: int, place: int) -> Placed | None:
        """Put a unit into a bin, elastic dimensions aside; None if it does not fit."""
        added: Added = []
        for ball in self._units[unit]:
            others = ([foe for foe in foes if foe != ball] for foes in self._foes.get(ball, ()))
            foes_allow = not any(all(self.where[foe] == place for foe in some) for some in others)
            allowed = foes_allow and self._pins[ball] in (NULL, place)
            more = self._evaluate(ball, place, self.where) if allowed else None
            if more is not None:
                self._add(more, 1)
                added += more
                self.where[ball] = place
            if more is None or not self._is_within(more):
                self.take_out(Placed(unit, place, added))
                return None
        return Placed(unit, place, added)

    def _is_within(self, added: Added) -> bool:
        """Tell whether dimensions and their soft groups keep their limits."""
        return not any(
            (self.used[dim] > self._ceiling[dim] and not self._elastic[dim])
            or ((group := self._group[dim]) >= 0 and self._over[group] > self._allowed[group])
            for dim, _ in added
        )

    def _add(self, added: Added, sign: int) -> None:
        """Add to dimensions, or take off."""
        for dim, amount in added:
            before, group, limit = self.used[dim], self._group[dim], self._capacity[dim]
            after = self.used[dim] = before + sign * amount
            if group >= 0:
                self._over[group] += (after > limit) - (before > limit)

    def take_out(self, part: Placed) -> None:
        """Take a unit out with what it has added: UTILFN may say something else now."""
        self._add(part.added, -1)
        for ball in self._units[part.unit]:
            self.where[ball] = NULL
