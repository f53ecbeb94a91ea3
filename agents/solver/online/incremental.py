"""Solve a specification again and again with other numbers in its tables; it is checked and compiled once.

The search is ours, built from the published attempts, on one thread. Attempt number n starts at another bin, so that an
answer may lie anywhere, and bins that are neighbours stay so. A resource called COST, without indices, says which
answers are better: after each answer the next one must cost less, until the attempts are used up. Where balls are left
in every attempt, the answer is one in which those that are left are worth least, and of those the cheapest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from binwright.agents.solver.backends.attempt import Scan, Utilfn, attempt
from binwright.agents.solver.backends.cpu import compiled
from binwright.agents.solver.backends.flat import Flat, Room, room
from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.model.emit import utilfn
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import below_kernel, stream_kernel
from binwright.agents.solver.specification.load import specification
from binwright.simcore.jit import kernel, prepared
from binwright.simcore.types import Ints

TEMPLATES = "agents/solver/templates"
COST = "COST"
"""The resource of which as little as possible is used."""
BIAS = 8
"""A biased attempt draws the next ball from the next 2, 3, ... up to so many and one."""


@kernel
def explore(
    call: Utilfn,
    scan: Scan,
    flat: Flat,
    friends: int,
    sets: int,
    room: Room,
    members: Ints,
    best: Ints,
    least: Ints,
    worth: Ints,
    seed: int,
    first: int,
    last: int,
    cost: int,
    turns: bool,
    biased: bool,
) -> bool:
    """Make attempts first, ..., last - 1; returns whether there is no use in more.

    `best` int64 [balls] gets the best allocation, `least` int64 [2] the `worth` int64 [balls] of those that it leaves
    and what it costs. Once none is left, dimension `cost`, unless -1, must be less used every time: its ceiling in
    `flat` falls. `members` are the bins of the groups as they are if nothing `turns` them; `biased` attempts place
    balls nearly in their order.
    """
    ways, units = len(flat.ways) - 1, len(room.left)
    for number in range(first, last):
        way, which = number % ways, number // ways
        if turns:
            low, high = flat.groups[flat.ways[way]], flat.groups[flat.ways[way + 1]]
            turn = below_kernel(stream_kernel(seed, ways + way, which), 0, high - low)
            for at in range(low, high):
                flat.group_bins[at] = members[low + (at - low + turn) % (high - low)]
        # The first attempt takes the balls as they are, the others nearly so.
        reach = units if not biased else 1 if which == 0 else 2 + (which - 1) % BIAS
        left = attempt(call, scan, flat, friends, sets, room, seed, way, which, reach, False)
        lost, spent = 0, room.used[cost] if cost >= 0 else 0
        if left > 0:
            for at in range(flat.units[units]):
                ball = flat.unit_balls[at]
                lost += worth[ball] if room.alloc[ball] == NULL else 0
        if lost < least[0] or (lost == least[0] and spent < least[1]):
            best[:] = room.alloc
            least[0], least[1] = lost, spent
        if units == 1 and sets == 0 and left > 0:  # it was tried in every bin
            return True
        if left == 0:
            if cost < 0 or spent <= 0:
                return True
            flat.ceiling[cost] = spent - 1
    return False


class Varying:
    """One specification whose tables named in `varying` get new entries between searches; it is compiled once.

    `tables` have the shapes and kinds (floats for quantities, integers for whole numbers) that stay; `varying` says
    between which raw numbers entries will be: millionths for quantities. There must be so many `balls` and `bins`.
    """

    near: ClassVar[bool] = False
    """Groups of bins are near one another, and dimensions may be over until one is left: see `nearby`."""

    def __init__(
        self,
        text: str,
        file: Path,
        params: Mapping[str, object],
        tables: Mapping[str, Any],
        varying: Mapping[str, tuple[int, int]],
        balls: int,
        bins: int,
    ) -> None:
        spec = specification(text, file=file, params=params, tables=tables)
        for name, bounds in varying.items():
            spec.given.tables[name] = replace(spec.given.tables[name], varies=bounds)
        try:
            if spec.searched:
                asked = next(one for one in spec.tree.declarations if isinstance(one, s.Bins))
                raise SpecError("the bins are those of the cluster", "Write their number instead of ?.", asked.at)
            shared = _capacities(spec.tree.declarations, set(varying))
        except SpecError as error:
            raise error.located(text, file) from None
        problem = spec.problem()
        if problem.objective is not None:
            remedy = f"Declare a resource {COST} instead: the agent `solver` uses as little of it as it can."
            raise SpecError("a template has no goals", remedy, file=file)
        for what, count, wanted in (("BALLS", problem.balls, balls), ("BINS", problem.bins, bins)):
            if count != wanted:
                remedy = f"A shipped template, in {TEMPLATES}, shows how this is written."
                raise SpecError(f"{what} is {count}, and here it must be {wanted}", remedy, file=file)
        self.declared = any(isinstance(one, s.Company) and one.kind == "GROUPS" for one in spec.tree.declarations)
        """Does it say itself what its groups of bins are?"""
        groupings = problem.groupings[::-1]  # the smallest groups first: what is near one another
        if self.near or len(problem.units) == 1:  # groups of any size are the same to one unit
            groupings = groupings[-1:]
        problem = replace(problem, groupings=groupings)
        self.problem = problem
        source, numbers = utilfn(problem.program)
        self._source = source
        self._flat = flat = Flat.of_problem(problem, numbers, self.near)
        self._targets: dict[str, list[Ints]] = {name: [] for name in varying}
        for name in varying:
            sizes = spec.given.tables[name].sizes
            if name in problem.program.tables:
                start = problem.program.tables[name]
                self._targets[name].append(flat.data[start : start + int(np.prod(sizes))].reshape(sizes))
            for node in shared.get(name, ()):
                family = next(one for one in problem.families if one.name == node.name)
                part = slice(family.offset, family.offset + family.count)
                if family.sizes != sizes or (problem.soft_group[part] >= 0).any():
                    remedy = f"Give it the indices of {name}, {' x '.join(map(str, sizes))}, and no SOFT."
                    raise SpecError(f"{node.name} is not of the shape of {name}", remedy, node.at, text, file)
                self._targets[name].append(flat.ceiling[part].reshape(sizes))  # capacities matter to SOFT only
        self._cost = next((one.offset for one in problem.families if one.name == COST and not one.sizes), -1)
        self._most = int(flat.ceiling[self._cost])
        self._best = np.zeros(problem.balls, np.int64)
        self._sets = len(problem.friends), len(problem.friends) + len(problem.foes)
        self._room = room(problem)

    def write(self, name: str, entries: Any, these: Any = ...) -> None:
        """Write new entries of a table, raw: all of it, or of `these`, as numpy's indices go."""
        for target in self._targets[name]:
            target[these] = entries


class Online(Varying):
    """Solves by attempts in all bins: the search of this module."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        flat, self._least = self._flat, np.zeros(2, np.int64)
        self._how = *compiled(self._source), flat, *self._sets
        self._worth = np.ones(len(self._best), np.int64)
        self._written = flat.group_bins.copy(), self._best, self._least, self._worth
        self._rest = self._cost, not self.declared
        self._explore = prepared(explore, *self._how, self._room, *self._written, 1, 0, 1, *self._rest, False)

    def value(self, worth: Any) -> None:
        """Set what the first balls are worth [n], from 1; the answer leaves as little as possible of that.

        At first each is worth 1.
        """
        self._worth[: len(worth)] = worth

    def find(
        self, seed: int, attempts: int, seconds: float | None = None, units: int | None = None, biased: bool = False
    ) -> Ints:
        """Return the best allocation [balls] that the attempts find, -1 for balls that are left: see `left`.

        The next search overwrites it. `seconds` end the search, too: then the answer depends on the machine. Only the
        first `units` take part. `biased` attempts place balls nearly in their order.
        """
        if self._cost >= 0:
            self._flat.ceiling[self._cost] = self._most
        place = self._room
        if units is not None:
            place = place._replace(left=place.left[:units], placed=place.placed[:units])
        self._least[:] = np.iinfo(np.int64).max, 0
        fixed = (*self._how, place, *self._written, seed)
        if seconds is None:
            self._explore(*fixed, 0, attempts, *self._rest, biased)
            return self._best
        began, number, last, done = perf_counter(), 0, 1, False
        while last > number and not done:
            done = self._explore(*fixed, number, last, *self._rest, biased)
            number, spent = last, perf_counter() - began
            last = min(attempts, 2 * number, int(number * seconds / spent))  # as many as there is time for, at most
        return self._best

    @property
    def left(self) -> int:
        """Return what the balls are worth that the last search's answer leaves."""
        return int(self._least[0])


def _capacities(declarations: tuple[s.Declaration, ...], varying: set[str]) -> dict[str, list[s.Resource]]:
    """Find the resources that have a varying table for capacity; other uses in declarations are refused."""
    found: dict[str, list[s.Resource]] = {}
    for one in declarations:
        if isinstance(one, s.TableIs | s.TableOf | s.TableFrom) and one.name in varying:
            continue  # its entries here are an example
        if isinstance(one, s.Resource) and isinstance(one.capacity, s.Index) and one.capacity.table in varying:
            names = [argument.name for argument in one.capacity.arguments if isinstance(argument, s.Name)]
            if names == [axis.name for axis in one.axes] and len(names) == len(one.capacity.arguments):
                found.setdefault(one.capacity.table, []).append(one)
                continue
        for name, node in _uses(one, varying):
            remedy = f"Use it in UTILFN, or as a capacity with the same indices: ROOM[i in n] => {name}[i]."
            raise SpecError(f"{name} changes from request to request", remedy, node.at)
    return found


def _uses(node: object, names: set[str]) -> Iterator[tuple[str, s.Node]]:
    """Find where entries of these tables are used; their lengths do not change."""
    if isinstance(node, s.Unary) and node.op == "len":
        return
    if isinstance(node, s.Index) and node.table in names:
        yield node.table, node
    if isinstance(node, s.Name) and node.name in names:
        yield node.name, node
    if isinstance(node, tuple):
        for one in node:
            yield from _uses(one, names)
    elif isinstance(node, s.Node):
        for slot in type(node).__slots__:
            yield from _uses(getattr(node, slot), names)
