"""Place whole tenants one after another, the largest first, or try all, in plain Python: nothing is compiled for it.

Balls that look at one another are a tenant (see `agents.solver.model.tenants`), such as the workers of a job. It goes
into bins one after another, from where the last tenant ended or from some other bin on, so that it lies near together.
A tenant that is not placed whole takes nothing. What it takes does not depend on the others, so that it is taken out,
and put back where it was, without a call of UTILFN: then some tenants and those that are left change their order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.model.evaluate import Added, evaluator
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.random import DEPTH, TENANTS, below, stream, word
from binwright.agents.solver.model.tenants import Tenants


class Placed(NamedTuple):
    """A unit that is placed."""

    unit: int
    place: int
    added: Added


class Construction:
    """An allocation of whole tenants, and no others, that grows until time is `over`."""

    def __init__(self, problem: Problem, tenants: Tenants | None, seed: int, over: Callable[[], bool]) -> None:
        """Begin with nothing placed; without `tenants` each unit is one."""
        tenants = tenants or Tenants(problem.units, [None] * problem.balls)
        self.problem, self._late, self._seed = problem, over, word(seed)
        self._balls = [balls for balls, _ in tenants.sets]
        self._tenant_units = [list(dict.fromkeys(problem.unit_of[balls].tolist())) for balls in self._balls]
        self.placed: dict[int, list[Placed]] = {}
        """By number of the tenant."""
        self._units = [balls for balls, _ in problem.units]
        self._evaluate, self._rejected = evaluator(problem.program), False
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
        share = [sum(max(0, by) / max(1, self._ceiling[dim]) for dim, by in added or ()) for added in tenants.alone]
        self._size = [sum(share[ball] for ball in balls) for balls in self._balls]
        self._alone = tenants.alone
        self.best: list[int] = []
        """The first allocation [balls] that left as few as `improve` came to; nothing before it began."""
        self._start, self._draws = stream(self._seed, TENANTS, 0), 0
        self._last = 0
        """Where the last tenant ended."""

    @property
    def alloc(self) -> list[int]:
        """Return the allocation [balls] of whole tenants: an interrupt may come while half of one is in."""
        bins = np.full(len(self.problem.units), NULL)
        for whole in self.placed.values():
            for part in whole:
                bins[part.unit] = part.place
        alloc: list[int] = bins[self.problem.unit_of].tolist()
        return alloc

    @property
    def left(self) -> list[int]:
        """List the tenants that are not placed: pinned ones, then the largest first."""
        left = (tenant for tenant in range(len(self._balls)) if tenant not in self.placed)
        return sorted(left, key=lambda tenant: (self._pin[tenant] == NULL, -self._size[tenant], tenant))

    def construct(self, *, spread: bool = False) -> None:
        """Place the tenants that fit, from random bins on if they `spread`; those that can stay now come first."""
        now, failed = self.problem.unit_now.tolist(), set[Hashable]()
        for tenant in self.left if max(now) != NULL else ():
            homes = ((unit, now[unit]) for unit in self._tenant_units[tenant] if now[unit] != NULL)
            self._keep(tenant, [part for unit, place in homes if (part := self.put_unit(unit, place)) is not None])
        for tenant in self.left:
            self._rejected = False
            if spread:
                self._last = self._drawn(self.problem.bins)
            kind = self._kind(tenant)
            if kind not in failed and not self.insert(tenant, 48) and not self._rejected:
                failed.add(kind)  # where one finds no room, another one like it does not either
            if self._late():
                return

    def _kind(self, tenant: int) -> Hashable:
        """Return what is equal of tenants that fit alike: what their balls add, if they have no pins and foes."""
        balls = self._balls[tenant]
        if self._pin[tenant] != NULL or not self._foes.keys().isdisjoint(balls):
            return tenant
        return tuple(tuple(self._alone[ball] or ()) for ball in balls)

    def insert(self, tenant: int, starts: int) -> bool:
        """Place a tenant whole; tells whether it fits anywhere that is looked at, from so many bins on.

        It fills one bin after another. When a bin is left, its last units go out again until nothing of its own is
        over: they go into the next one.
        """
        bins, units = self.problem.bins, self._tenant_units[tenant]
        most = min(bins, 64 + 4 * len(units))  # that are filled before it is tried elsewhere
        for number in range(min(bins, starts)):
            begin = self._last + number * max(1, bins // starts)
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
                    self.move(put.pop(), out=True)
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
        if len(put) < len(self._tenant_units[tenant]) or self.is_over(put):
            for part in put:
                self.move(part, out=True)
            return False
        self.placed[tenant] = put
        return True

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
            more = None
            if foes_allow and self._pins[ball] in (NULL, place):
                more = self._evaluate(ball, place, self.where)
                self._rejected |= more is None
            if more is not None:
                self._add(more, 1)
                added += more
                self.where[ball] = place
            if more is None or not self._is_within(more):
                self.move(Placed(unit, place, added), out=True)
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

    def move(self, part: Placed, *, out: bool) -> None:
        """Take a unit out, or put it back where it was, with what it has added: UTILFN may say something else now."""
        self._add(part.added, -1 if out else 1)
        for ball in self._units[part.unit]:
            self.where[ball] = NULL if out else part.place

    def improve(self) -> None:
        """Change the order of tenants until time is over, or nothing better was found for half of the steps."""
        step = last = 0
        self.best = self.alloc
        while self.placed and (left := self.left) and step < max(50, 2 * last) and not self._late():
            self.ruin_and_recreate()
            step += 1
            if self.count(self.left) < self.count(left):
                last, self.best = step, self.alloc

    def ruin_and_recreate(self) -> None:
        """Take some tenants out, and place them and some that are left in a new order, if no more balls are left then.

        Those that lie around a bin go out: 8 at most, and as many that are left are offered.
        """
        middle, left = self._drawn(self.problem.bins), self.left
        near = sorted(self.placed, key=lambda tenant: abs(self.placed[tenant][0].place - middle))
        out = {tenant: self._take_out(tenant) for tenant in near[: 1 + self._drawn(8)]}
        offered = {left[self._drawn(len(left))] for _ in range(8)}
        noisy = {tenant: self._size[tenant] * (1024 + self._drawn(2048)) for tenant in (*sorted(offered), *out)}
        self._last = middle
        put = [tenant for tenant in sorted(noisy, key=lambda tenant: -noisy[tenant]) if self.insert(tenant, 2)]
        if self.count(put) < self.count(out):
            for tenant in put:
                self._take_out(tenant)
            for tenant, whole in out.items():
                for part in whole:
                    self.move(part, out=False)
                self.placed[tenant] = whole

    def _take_out(self, tenant: int) -> list[Placed]:
        out = self.placed.pop(tenant)
        for part in out:
            self.move(part, out=True)
        return out

    def allocations(self) -> Iterator[list[int]]:
        """Iterate over the right allocations of all balls [balls] until all have been tried, or time is over.

        A unit goes into the first bin that takes it; where none does, the one before it goes into its next one. Units
        come by index, as the verifier puts them in. That there is none proves nothing where UTILFN subtracts and a SOFT
        group may be over what it falls below again.
        """
        bins, turns = self.problem.bins, []
        for unit, now in enumerate(self.problem.unit_now.tolist()):  # where it is, then from a random bin on and around
            first = below(stream(self._seed, DEPTH, unit), 0, bins)
            around = [(first + n) % bins for n in range(bins)]
            turns.append([*(place for place in around if place == now), *(place for place in around if place != now)])
        tried, placed = [0] * len(turns), list[Placed]()
        while not self._late():
            depth = len(placed)
            if depth == len(turns):
                if not self.is_over(placed):
                    yield self.where[:]
            elif tried[depth] < bins:
                part = self.put_unit(depth, turns[depth][tried[depth]])
                tried[depth] += 1
                if part is not None:
                    placed.append(part)
                continue
            elif depth == 0:
                return
            else:
                tried[depth] = 0
            self.move(placed.pop(), out=True)

    def count(self, some: Iterable[int]) -> int:
        """Count the balls of some tenants."""
        return sum(len(self._balls[tenant]) for tenant in some)

    def _drawn(self, n: int) -> int:
        """Draw the next number below n."""
        self._draws += 1
        return below(self._start, self._draws, n)
