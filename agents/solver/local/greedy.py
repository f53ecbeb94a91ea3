"""Place whole tenants one after another, and take whole ones out again, in plain Python: what `ours` begins with.

Balls that look at one another are a tenant (see `agents.solver.model.tenants`), such as the workers of a job. It goes
into bins that are near one another: those of the smallest group that may hold it, and of such groups the one with least
room. A bin takes as many of its balls as there is room for. Dimensions of which one ball more may need less are looked
at when a bin, or a group of bins, is left: then the last balls go out again until none is over. A tenant that is not
placed whole takes nothing.

What a tenant takes does not depend on the other ones, so that it is taken out, and put back where it was, without a
call of UTILFN. This makes for a search by ruin and recreate (see `agents.solver.search.ruin`) whose balls are tenants.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from binwright.agents.solver.backends.reference import Partial
from binwright.agents.solver.model.dense import by_bin
from binwright.agents.solver.model.evaluate import Added, evaluator
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import below, stream, word
from binwright.agents.solver.model.tenants import Tenants, levels
from binwright.simcore.types import Ints

GROUP = -5
"""The group in the key of its random numbers."""
GROUPS_TRIED = 16
"""Groups of a level that are tried for a tenant, those with least room first."""
ROUNDS = 16
"""How often all bins are tried for single units of one kind of which UTILFN rejects some."""
MOST_BINS, CHUNK = 64, 64
"""Bins that are tried for a unit where all tenants are single ones, and that are looked at at a time."""
MOST_GROUPS, MOST_LEFT = 3, 8
"""Groups that a step empties, and tenants without a place that it offers, at most."""
NOISE = 2048
"""By how many 1024ths chance may raise the size of a tenant in a step."""
UNLIMITED = 1 << 40
"""The room, in balls, of a bin in which a tenant takes of nothing that is the bin's own."""


class PlacedTenant(NamedTuple):
    """A tenant that is placed."""

    places: dict[int, int]
    """The bin of each ball."""
    added: Added
    """What they take together."""


class Failed:
    """Where tenants that take the same have found no room, while nothing is taken out."""

    def __init__(self, levels: int) -> None:
        self.groups: list[list[int]] = [[] for _ in range(levels)]
        """Of each level."""
        self.everywhere = False
        self.tried = 0
        """Bins since one took the last of them, where all tenants are single units."""


class PlacedUnit(NamedTuple):
    """A unit that is put in: friends, or a single ball."""

    unit: list[int]
    added: Added


class Greedy:
    """An allocation of whole tenants, and no others."""

    def __init__(self, problem: Problem, tenants: Tenants, seed: int, over: Callable[[], bool] = lambda: False) -> None:
        """Begin with nothing placed; once time is `over`, no more groups are tried for a tenant."""
        self.problem, self.over = problem, over
        self.tenants = [members for members, _ in tenants.sets]
        self.placed: dict[int, PlacedTenant] = {}
        """By number of the tenant."""
        self._evaluate, self._rejected = evaluator(problem.program), False
        self._partial = Partial(problem, self._added, trims=True)
        self._start, self._draws = stream(word(seed), GROUP, 0), 0
        self.units = [_units_of(problem, members) for members in self.tenants]
        self._ceiling, self._elastic = problem.ceiling.tolist(), problem.elastic.tolist()
        steady = [
            (one, one.bin_axis)
            for one in problem.families
            if one.bin_axis is not None and not one.falls and one.sizes[one.bin_axis] == problem.bins
        ]
        none = np.zeros((problem.bins, 0), np.int64)
        own = np.concatenate([none, *(by_bin(*one) for one in steady)], axis=1)  # [bins, d], what only grows
        self._owner, self._column = np.full((2, problem.dims), NULL)  # where in `_free` a dimension is
        self._owner[own] = np.arange(problem.bins)[:, None]
        self._column[own] = np.arange(own.shape[1])
        self._free = problem.ceiling[own]
        self._near, self._depth = self._levels()
        self._least, self.size = self._measured(tenants.alone)
        self._kinds = self._kinds_of_tenants()
        self._last = 0
        """The bin after the last that was tried, where all tenants are single units."""

    def _levels(self) -> tuple[list[Ints], list[int]]:
        """Find the groups of every level [bins], single bins first and all bins last.

        Also returns, for each dimension [dims], on leaving the groups of which level it is looked at.
        """
        problem, found = self.problem, levels(self.problem, self.over)
        near = [np.arange(problem.bins), *(one.group for one in found), np.zeros(problem.bins, np.int64)]
        depth = np.full(problem.dims, len(near) - 1)
        families = [(one, 0) for one in problem.families if one.bin_axis is not None]
        families += [(one.family, at) for at, one in enumerate(found, 1) if one.family is not None]
        for family, at in families:
            mine = slice(family.offset, family.offset + family.count)
            depth[mine] = np.minimum(depth[mine], at)
        return near, depth.tolist()

    def _measured(self, alone: Sequence[Added | None]) -> tuple[list[Ints], list[float]]:
        """Find what each ball of a tenant takes of its bin at least [tenants, d], and the tenant's share of all."""
        least, size = [], []
        for members in self.tenants:
            rows, share = np.zeros((len(members), self._free.shape[1]), np.int64), 0.0
            for row, ball in zip(rows, members, strict=True):
                for dim, amount in alone[ball] or ():
                    share += max(0, amount) / max(1, self._ceiling[dim])
                    if self._column[dim] != NULL:
                        row[self._column[dim]] += amount
            least.append(rows.min(axis=0))
            size.append(share)
        return least, size

    def _kinds_of_tenants(self) -> list[Hashable]:
        """Tell tenants apart [tenants]: those of one kind fit where any of them does, unless UTILFN rejects some."""
        apart = self.problem.pins != NULL
        apart[self.problem.foes.members] = True
        return [
            one if apart[members].any() else (len(members), self.size[one], self._least[one].tobytes())
            for one, members in enumerate(self.tenants)
        ]

    def _added(self, ball: int, place: int, alloc: Sequence[int]) -> Added | None:
        """Evaluate UTILFN, and note whether it rejects the ball."""
        added = self._evaluate(ball, place, alloc)
        self._rejected |= added is None
        return added

    @property
    def alloc(self) -> list[int]:
        """Return the allocation [balls] of whole tenants: an interrupt may come while half of one is in."""
        found = [NULL] * self.problem.balls
        for whole in self.placed.values():
            for ball, place in whole.places.items():
                found[ball] = place
        return found

    @property
    def left(self) -> list[int]:
        """List the tenants that are not placed, the largest first."""
        left = (one for one in range(len(self.tenants)) if one not in self.placed)
        return sorted(left, key=lambda one: (-self.size[one], one))

    def construct(self, over: Callable[[], bool]) -> None:
        """Place the tenants that fit, the largest first, until time is `over`.

        Those that can stay where they are now do. Those that are left are tried once more, in bins, too, that have no
        room for what they would take in bin 0.
        """
        program, unit_now = self.problem.program, self.problem.unit_now
        for one in self.left if (unit_now != NULL).any() else ():
            if over():
                return
            self._stay(one, unit_now)
        for anywhere in (False,) if program.alloc_free and program.bin_blind else (False, True):
            failed: dict[Hashable, Failed] = {}  # where one finds no room, another one of its kind does not either
            for one in self.left:
                if over():
                    return
                kind = failed.setdefault(self._kinds[one], Failed(len(self._near)))
                if not kind.everywhere:
                    self._insert(one, kind, anywhere)

    def ruin_and_recreate(self) -> None:
        """Empty some groups of bins, and place what was there and what is left in a new order.

        It stands if no more balls are left than before.
        """
        level = self._drawn(max(1, len(self._near) - 1))
        near, emptied = self._near[level], set[int]()
        for _ in range(1 + self._drawn(MOST_GROUPS)):
            emptied.add(int(near[self._drawn(len(near))]))
        before = self.left
        out = {
            one: whole for one, whole in self.placed.items() if any(near[at] in emptied for at in whole.places.values())
        }
        for one, whole in out.items():
            self._change(one, whole, -1)
        offered = [before[self._drawn(len(before))] for _ in range(min(MOST_LEFT, len(before)))]
        noisy = {one: self.size[one] * (1024 + self._drawn(NOISE)) for one in (*offered, *out)}
        put = [one for one in sorted(noisy, key=lambda one: -noisy[one]) if self._insert(one, None)]
        if self.count(out) > self.count(put):
            for one in put:
                self._change(one, self.placed[one], -1)
            for one, whole in out.items():
                self._change(one, whole, 1)

    def count(self, some: Iterable[int]) -> int:
        """Count the balls of some tenants."""
        return sum(len(self.tenants[one]) for one in some)

    def _drawn(self, n: int) -> int:
        """Draw the next number below n."""
        self._draws += 1
        return below(self._start, self._draws, n)

    def _change(self, one: int, whole: PlacedTenant, sign: int) -> None:
        """Put a tenant back where it was, or with sign -1 take it out."""
        used, alloc = self._partial.used, self._partial.alloc
        for dim, amount in whole.added:
            used[dim] += sign * amount
        for ball, place in whole.places.items():
            alloc[ball] = place if sign > 0 else NULL
        self._note(one, whole, sign)

    def _note(self, one: int, whole: PlacedTenant, sign: int) -> None:
        """Note that a tenant is in, or with sign -1 out."""
        for dim, amount in whole.added:
            if self._column[dim] != NULL:
                self._free[self._owner[dim], self._column[dim]] -= sign * amount
        if sign > 0:
            self.placed[one] = whole
        else:
            del self.placed[one]

    def _stay(self, one: int, now: Ints) -> None:
        """Place a tenant where its units are `now` [units], if it fits there."""
        put = list[PlacedUnit]()
        places = now[self.problem.unit_of[[unit[0] for unit in self.units[one]]]].tolist()
        stays = NULL not in places
        for unit, place in zip(self.units[one], places, strict=True):
            stays = stays and self._put(unit, place, put)
        self._finish(one, put, stays)

    def _insert(self, one: int, failed: Failed | None, anywhere: bool = False) -> bool:
        """Place a tenant whole, if it fits, but not into groups where that has failed, which is noted.

        Where nothing is known of that, the groups with least room do not always come first. With `anywhere`, those
        with most room come first, and none counts as too small.
        """
        count, least = len(self.tenants[one]), self._least[one]
        if len(self.tenants) == len(self.problem.units):
            return self._in_turn(one, failed, anywhere)
        needed = least > 0
        room = np.full(self.problem.bins, UNLIMITED)
        if needed.any():
            room = (self._free[:, needed] // least[needed]).min(axis=1)
        most = np.full_like(room, UNLIMITED) if anywhere else room
        clipped, rejected = np.minimum(most, count), False
        for level, near in enumerate(self._near):
            enough = np.bincount(near, clipped) >= count
            if failed is not None:
                enough[failed.groups[level]] = False
            may = np.flatnonzero(enough)
            order = np.argsort(np.bincount(near, -room if anywhere else room)[may], kind="stable")
            if failed is None and len(may) and self._drawn(2):
                order = np.roll(order, self._drawn(len(may)))
            for chosen in may[order][:GROUPS_TRIED].tolist():
                if self.over():
                    return False
                self._rejected = False
                bins = self._in_order(level, chosen, room, most)
                if self._fill(one, level, bins, most):
                    return True
                rejected |= self._rejected
                if failed is not None and not self._rejected:
                    failed.groups[level].append(chosen)
        if failed is not None:
            failed.everywhere = not rejected
        return False

    def _in_turn(self, one: int, failed: Failed | None, anywhere: bool) -> bool:
        """Place a single unit into the first bin that takes it, from the one on after the last that was tried."""
        bins, unit, tried = self.problem.bins, self.units[one][0], 0
        pinned = self.problem.pins[unit].max()
        if pinned != NULL:
            return self._fill(one, 0, [int(pinned)], None)
        needs = np.where(anywhere, 0, self._least[one] * len(unit))
        self._rejected, first = False, self._last
        for start in range(first, first + bins, CHUNK):
            some = np.arange(start, min(start + CHUNK, first + bins)) % bins
            for place in some[(self._free[some] >= needs).all(axis=1)].tolist():
                if self._fill(one, 0, [place], None):
                    self._last = (place + 1) % bins
                    if failed is not None:
                        failed.tried = 0
                    return True
                tried += 1
            self._last = (int(some[-1]) + 1) % bins
            if failed is not None:
                failed.tried += len(some)
                failed.everywhere = failed.tried >= bins * (ROUNDS if self._rejected else 1)
            if tried > MOST_BINS:
                break
        return False

    def _in_order(self, level: int, chosen: int, room: Ints, most: Ints) -> list[int]:
        """List the bins of a group that may take any: those with most room first, one smaller group after another."""
        bins = np.flatnonzero((self._near[level] == chosen) & (most > 0))
        keys = [-room[bins]]
        for near in self._near[1:level]:
            keys += [near[bins], -np.bincount(near, room)[near[bins]]]
        return bins[np.lexsort(keys)].tolist() if len(bins) else []

    def _fill(self, one: int, level: int, bins: Sequence[int], room: Ints | None) -> bool:
        """Place a tenant into bins of one group of a level, one bin after another; returns whether all of it got in.

        Without `room` it is a single unit.
        """
        waiting, put, marks = self.units[one][::-1], list[PlacedUnit](), [0] * (level + 1)
        skipped = (0, NULL)  # a group that was left early: its level and number
        for at, place in enumerate(bins):
            if self._near[skipped[0]][place] == skipped[1]:
                continue
            until = len(put) + (1 if room is None else int(room[place]))
            while waiting and len(put) < until and self._put(waiting[-1], place, put):
                waiting.pop()
            following = bins[at + 1] if at + 1 < len(bins) else None
            for above in range(level + 1):
                near = self._near[above]
                if waiting and following is not None and near[following] == near[place]:
                    break
                self._leave(above, marks[above], put, waiting)
                marks[: above + 1] = [len(put)] * (above + 1)
                skipped = above, int(near[place])
            if not waiting:
                break
        return self._finish(one, put, not waiting)

    def _finish(self, one: int, put: list[PlacedUnit], whole: bool) -> bool:
        """Keep a tenant whose units are put in, or take them out if it is not `whole` or too much; tells which."""
        if not whole or self._over(put, len(self._near)):
            self._take_back(put, 0)
            return False
        alloc = self._partial.alloc
        sums: dict[int, int] = {}
        for each in put:
            for dim, amount in each.added:
                sums[dim] = sums.get(dim, 0) + amount
        self._note(one, PlacedTenant({ball: alloc[ball] for ball in self.tenants[one]}, list(sums.items())), 1)
        return True

    def _put(self, unit: list[int], place: int, put: list[PlacedUnit]) -> bool:
        """Put a unit into a bin, elastic dimensions aside; returns whether it fits."""
        added: Added = []
        for number, ball in enumerate(unit):
            if not self._partial.put_ball(ball, place, added):
                self._partial.take_back(unit[:number], added)
                return False
        put.append(PlacedUnit(unit, added))
        return True

    def _take_back(self, put: list[PlacedUnit], mark: int) -> list[list[int]]:
        """Take out units from entry `mark` of `put` on, the last first; returns them."""
        out = []
        while len(put) > mark:
            last = put.pop()
            self._partial.take_back(last.unit, last.added)
            out.append(last.unit)
        return out

    def _leave(self, level: int, mark: int, put: list[PlacedUnit], waiting: list[list[int]]) -> None:
        """Take out the last units since `mark` until no dimension that is looked at on leaving a level is over."""
        while len(put) > mark and self._over(put[mark:], level):
            waiting += self._take_back(put, len(put) - 1)

    def _over(self, put: Sequence[PlacedUnit], level: int) -> bool:
        """Tell whether an elastic dimension of these units that is looked at on leaving a level is over."""
        used, ceiling = self._partial.used, self._ceiling
        return any(
            used[dim] > ceiling[dim] and self._depth[dim] <= level and bool(self._elastic[dim])
            for each in put
            for dim, _ in each.added
        )


def _units_of(problem: Problem, members: list[int]) -> list[list[int]]:
    """List the units that balls are."""
    units = problem.units
    numbers = dict.fromkeys(problem.unit_of[members].tolist())
    return [units.members[units.offsets[one] : units.offsets[one + 1]].tolist() for one in numbers]
