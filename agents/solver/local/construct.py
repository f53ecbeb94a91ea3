"""Place whole tenants one after another, the largest first: what `ours` begins with where there are any.

Balls that look at one another are a tenant (see `agents.solver.model.tenants`), such as the workers of a job. It goes
into bins one after another, from where the last tenant ended or from some other bin on, so that it lies near together.
A tenant that is not placed whole takes nothing. What it takes does not depend on the others, so that it is taken out,
and put back where it was, without a call of UTILFN: then some tenants and those that are left change their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from binwright.agents.solver.backends.plain import Plain
from binwright.agents.solver.model.evaluate import Added
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import below, stream, word
from binwright.agents.solver.model.tenants import Tenants

GROUP = -5
"""The group in the key of its random numbers."""
STARTS, MISSES = 48, 64
"""Bins from which on a tenant is tried; bins that take none of its balls before it is tried elsewhere."""
OUT = 8
"""Tenants that a step takes out, and that are left and it offers, at most."""


class Placed(NamedTuple):
    """A unit that is placed."""

    unit: int
    place: int
    added: Added


class Construction:
    """An allocation of whole tenants, and no others."""

    def __init__(self, problem: Problem, tenants: Tenants, seed: int) -> None:
        """Begin with nothing placed."""
        self.problem = problem
        unit_of = problem.unit_of
        self.tenants = [list(dict.fromkeys(unit_of[balls].tolist())) for balls, _ in tenants.sets]
        """[tenants]: their units"""
        self.placed: dict[int, list[Placed]] = {}
        """By number of the tenant."""
        self._plain, self._rejected = Plain(problem, trims=True, early=False), False
        self._utilfn, self._plain.call = self._plain.call, self._call
        self._ceiling, self._elastic = self._plain.flat.ceiling, self._plain.flat.elastic
        self._owned = (problem.owner != NULL).tolist()
        self._pin = [int(problem.pins[balls].max()) for balls, _ in tenants.sets]
        self._balls = [len(balls) for balls, _ in tenants.sets]
        apart = {ball for foes, _ in problem.foes for ball in foes}
        self._alone = [
            not apart.isdisjoint(balls) or pin != NULL for (balls, _), pin in zip(tenants.sets, self._pin, strict=True)
        ]
        """[tenants]: whether no other one fits where it does"""
        share = [sum(max(0, by) / max(1, self._ceiling[dim]) for dim, by in added or ()) for added in tenants.alone]
        self._size = [sum(share[ball] for ball in balls) for balls, _ in tenants.sets]
        self._start, self._draws = stream(word(seed), GROUP, 0), 0
        self._last = 0
        """Where the last tenant ended."""

    def _call(self, *given: Any) -> int:
        """Call UTILFN, and note whether it rejects the ball."""
        end = self._utilfn(*given)
        self._rejected |= end < 0
        return end

    @property
    def alloc(self) -> list[int]:
        """Return the allocation [balls] of whole tenants: an interrupt may come while half of one is in."""
        found = np.full(len(self.problem.units), NULL)
        for whole in self.placed.values():
            for one in whole:
                found[one.unit] = one.place
        alloc: list[int] = found[self.problem.unit_of].tolist()
        return alloc

    @property
    def left(self) -> list[int]:
        """List the tenants that are not placed, the largest first."""
        left = (one for one in range(len(self.tenants)) if one not in self.placed)
        return sorted(left, key=lambda one: (-self._size[one], one))

    def construct(self, over: Callable[[], bool]) -> None:
        """Place the tenants that fit, until time is `over`; those that can stay where they are now come first."""
        now, failed = self.problem.unit_now.tolist(), set[tuple[int, float, int]]()
        for tenant in self.left if max(now) != NULL else ():
            here = ((unit, now[unit]) for unit in self.tenants[tenant] if now[unit] != NULL)
            self._keep(tenant, [one for unit, place in here if (one := self._put_unit(unit, place)) is not None])
        for tenant in self.left:
            kind = len(self.tenants[tenant]), round(self._size[tenant], 9), tenant if self._alone[tenant] else NULL
            self._rejected = False
            if kind not in failed and not self.insert(tenant, STARTS, over) and not self._rejected:
                failed.add(kind)  # where one finds no room, another one like it does not either
            if over():
                return

    def insert(self, tenant: int, starts: int, over: Callable[[], bool]) -> bool:
        """Place a tenant whole; tells whether it fits anywhere that is looked at, from so many bins on."""
        bins = self.problem.bins
        most = min(bins, MISSES + 4 * len(self.tenants[tenant]))
        for number in range(min(bins, starts)):
            first = self._last + number * max(1, bins // starts)
            if number == 0 and self._pin[tenant] != NULL:
                first = self._pin[tenant]
            if self._put(tenant, [(first + offset) % bins for offset in range(most)]):
                self._last = self.placed[tenant][-1].place
                return True
            if over():
                return False
        return False

    def _put(self, tenant: int, bins: list[int]) -> bool:
        """Fill one bin after another with the units of a tenant; returns whether all of them got in.

        When a bin is left, its last units go out again until nothing of its own is over: they go into the next one.
        """
        waiting, put = self.tenants[tenant][::-1], list[Placed]()
        for place in bins:
            first = len(put)
            while waiting and (one := self._put_unit(waiting[-1], place)) is not None:
                put.append(one)
                waiting.pop()
            while len(put) > first and self._over(put[first:], True):
                waiting.append(put[-1].unit)
                self._take_back([put.pop()])
            if not waiting:
                break
        return self._keep(tenant, put)

    def _keep(self, tenant: int, put: list[Placed]) -> bool:
        """Keep a tenant of which these units are in, unless one is missing, or something is over; tells which."""
        if len(put) < len(self.tenants[tenant]) or self._over(put, False):
            self._take_back(put)
            return False
        self.placed[tenant] = put
        return True

    def _over(self, put: list[Placed], own: bool) -> bool:
        """Tell whether something that units take is over, or something that is the bin's `own`."""
        used, ceiling = self._plain.room.used, self._ceiling
        return any(
            self._elastic[dim] and used[dim] > ceiling[dim] and (not own or self._owned[dim])
            for one in put
            for dim, _ in one.added
        )

    def _take_back(self, put: list[Placed]) -> None:
        for one in put:
            self._plain.take_back(one.unit, one.added)

    def _put_unit(self, unit: int, place: int) -> Placed | None:
        """Put a unit into a bin, elastic dimensions aside; None if it does not fit."""
        added = self._plain.put(unit, place)
        return None if added is None else Placed(unit, place, added)

    def _take_out(self, tenant: int) -> list[Placed]:
        out = self.placed.pop(tenant)
        self._take_back(out)
        return out

    def _put_back(self, tenant: int, whole: list[Placed]) -> None:
        for one in whole:
            self._plain.place(*one)
        self.placed[tenant] = whole

    def ruin_and_recreate(self, over: Callable[[], bool]) -> None:
        """Take some tenants out, and place them and some that are left in a new order, if no more balls are left then.

        Those that lie around a bin go out.
        """
        middle, left = self._drawn(self.problem.bins), self.left
        near = sorted(self.placed, key=lambda one: abs(self.placed[one][0].place - middle))
        out = {tenant: self._take_out(tenant) for tenant in near[: 1 + self._drawn(OUT)]}
        offered = {left[self._drawn(len(left))] for _ in range(OUT)}
        noisy = {tenant: self._size[tenant] * (1024 + self._drawn(2048)) for tenant in (*sorted(offered), *out)}
        self._last = middle
        put = [tenant for tenant in sorted(noisy, key=lambda one: -noisy[one]) if self.insert(tenant, 2, over)]
        if self.count(put) < self.count(out):
            for tenant in put:
                self._take_out(tenant)
            for tenant, whole in out.items():
                self._put_back(tenant, whole)

    def count(self, some: Iterable[int]) -> int:
        """Count the balls of some tenants."""
        return sum(self._balls[tenant] for tenant in some)

    def _drawn(self, n: int) -> int:
        """Draw the next number below n."""
        self._draws += 1
        return below(self._start, self._draws, n)
