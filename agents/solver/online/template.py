"""Compile a template for a cluster, and solve it again and again with other numbers in some of its tables.

The search is ours, built from the published attempts, on one thread. Attempt number n starts at another bin, so that an
answer may lie anywhere, and bins that are neighbours stay so. A resource called COST, without indices, says which
answers are better: after each answer the next one must cost less, until the attempts are used up. Where balls are left
in every attempt, the answer is one in which those that are left are worth least, and of those the cheapest.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from binwright.agents.solver.backends.attempt import Utilfn, attempt, below, stream
from binwright.agents.solver.backends.cpu import compiled_problem
from binwright.agents.solver.backends.flat import Flat, Room, room
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.specification.spec import Spec, text_of
from binwright.simcore.errors import UserError
from binwright.simcore.jit import kernel, prepared
from binwright.simcore.types import QUANTUM, Floats, Ints, Placement, Refusal, Request, View

TEMPLATES = Path(__file__).parents[1] / "templates"
COST = "COST"
"""The resource of which as little as possible is used."""


@dataclass
class Setup:
    """The options of the agent that hold for every search, and the seed of the last one, which alone changes."""

    path: str | None
    """A template instead of those that are shipped."""
    params: dict[str, float]
    attempts: int
    seed: int = 0


class Formulation:
    """Turns requests into problems, one of each, or one of all that are offered together.

    `Servers`, `Connected`, `Virtual` and `Jobs` are such. The view is of the kind it is for.
    """

    def __init__(self, setup: Setup, view: View) -> None:
        self.setup = setup
        self.servers, self.nodes, self.kinds = view.capacity.shape
        self.sizes = {"SERVERS": self.servers, "NODES": self.nodes, "KINDS": self.kinds}

    def answers(self, view: Any, requests: Sequence[Request]) -> Iterator[tuple[Request, Placement | Refusal]]:
        """Answer requests; those that get no place are left out."""
        for request in requests:
            if (answer := self.answer(view, request)) is not None:
                yield request, answer

    def answer(self, view: Any, request: Request) -> Placement | Refusal | None:
        """Answer a request; None if nothing is found."""
        raise NotImplementedError  # those that answer many together override `answers` alone


class Template:
    """A template, `setup.path` or the shipped one of this `name`, compiled once for clusters of these `sizes`.

    `varying` tables have the shapes and the largest entries that they will ever have, `tables` those that stay: floats
    are quantities, integers whole numbers. There must be so many `balls` and `bins`.
    """

    near: ClassVar[bool] = False
    """Groups of bins are near one another, and dimensions may be over until one is left: see `virtual`."""

    def __init__(
        self,
        setup: Setup,
        name: str,
        sizes: Mapping[str, int],
        tables: Mapping[str, Any],
        varying: Mapping[str, Any],
        balls: int,
        bins: int,
    ) -> None:
        file = Path(setup.path or TEMPLATES / f"{name}.alloc")
        text = text_of(file)
        if clash := sizes.keys() & setup.params.keys():
            remedy = "Leave it out: it is a size of the cluster."
            raise UserError(f"{min(clash)} is given by the agent", key="params", value=setup.params, remedy=remedy)
        declared = Spec(text, file=file).declared
        params = {**setup.params, **{name: value for name, value in sizes.items() if name in declared}}
        spec = Spec(text, file=file, params=params, tables={**tables, **varying})
        for name in varying:
            spec.tables[name] = replace(spec.tables[name], varies=True)
        problem = spec.problem()
        if problem.objective is not None or len(problem.soft_allowed):
            remedy = f"Declare a resource {COST} instead: the agent `solver` uses as little of it as it can."
            raise SpecError("a template has no goals, and nothing SOFT", remedy, file=file)
        for what, count, wanted in (("BALLS", problem.balls, balls), ("BINS", problem.bins, bins)):
            if count != wanted:
                remedy = "A shipped template, in agents/solver/templates, shows how this is written."
                raise SpecError(f"{what} is {count}, and here it must be {wanted}", remedy, file=file)
        self.declared = any(node.kind == "groups" for node in spec.tree.declarations)
        """Does it say itself what its groups of bins are?"""
        groupings = problem.groupings[::-1]  # the smallest groups first: what is near one another
        if self.near or len(problem.units) == 1:  # groups of any size are the same to one unit
            groupings = groupings[-1:]
        self.problem = problem = replace(problem, groupings=groupings)
        self._call, flat = compiled_problem(problem, self.near)
        self._flat = flat._replace(kinds=np.zeros(1, np.int64))  # the demand is another one each time
        self._targets: dict[str, list[Ints]] = {name: [] for name in varying}
        for name, start in problem.program.tables.items():
            if name in varying:
                table = spec.tables[name]
                self._targets[name].append(self._flat.data[start : start + table.values.size].reshape(table.sizes))
        capacities = {node.parts[0]: node.parts[2].parts for node in spec.tree.declarations if node.kind == "family"}
        for family in problem.families:
            source = capacities.get(family.name, ())[:1]  # A[i in n] => T[i], or a number
            for name in varying.keys() & source:
                part = self._flat.ceiling[family.offset : family.offset + family.count]
                self._targets[name].append(part.reshape(family.sizes))
        self._room = room(problem)

    def write(self, name: str, entries: Any, these: Any = ...) -> None:
        """Write new entries of a table, raw: all of it, or of `these`, as numpy's indices go."""
        for target in self._targets[name]:
            target[these] = entries


@kernel
def explore(
    call: Utilfn, flat: Flat, room: Room,
    members: Ints, best: Ints, worth: Ints, cost: int, turns: bool, seed: int, attempts: int,
) -> None:  # fmt: skip
    """Make so many attempts, fewer if there is no use in more.

    `best` int64 [balls] gets the allocation that leaves balls of the least `worth` int64 [balls], and of such the
    cheapest. Once none is left, dimension `cost`, unless -1, must be less used every time: its ceiling falls meanwhile.
    `members` are the bins of the groups as they are if nothing `turns` them; attempts place balls nearly in their order
    then.
    """
    ways, units = len(flat.ways) - 1, len(room.left)
    least, cheapest, most = 1 << 62, 0, flat.ceiling[cost]
    for number in range(attempts):
        way, which = number % ways, number // ways
        if turns:
            low, high = flat.groups[flat.ways[way]], flat.groups[flat.ways[way + 1]]
            turn = below(stream(seed, ways + way, which), 0, high - low)
            for at in range(low, high):
                flat.group_bins[at] = members[low + (at - low + turn) % (high - low)]
        # In groups as they are the first attempt takes the balls, too, the others each from the next 2, 3, ..., 9.
        reach = units if turns else 1 if which == 0 else 2 + (which - 1) % 8
        left = attempt(call, flat, room, seed, way, which, reach, False)
        lost, spent = 0, room.used[cost] if cost >= 0 else 0
        if left > 0:
            for at in range(flat.units[units]):
                ball = flat.unit_balls[at]
                lost += worth[ball] if room.alloc[ball] == NULL else 0
        if lost < least or (lost == least and spent < cheapest):
            best[:] = room.alloc
            least, cheapest = lost, spent
        if units == 1 and len(flat.sets) == 1 and left > 0:  # it was tried in every bin
            break
        if left == 0:
            if cost < 0 or spent <= 0:
                break
            flat.ceiling[cost] = spent - 1
    flat.ceiling[cost] = most


class Online(Template):
    """Solves by attempts in all bins: the search of this module."""

    def __init__(self, setup: Setup, *stated: Any) -> None:
        super().__init__(setup, *stated)
        self._setup = setup
        families = (family.offset for family in self.problem.families if family.name == COST and not family.sizes)
        self._best = np.zeros(self.problem.balls, np.int64)
        self.worth = np.ones(self.problem.balls, np.int64)
        """What balls are worth [balls], from 1; an answer leaves as little as possible of that."""
        self._fixed = self._flat.group_bins.copy(), self._best, self.worth, next(families, -1), not self.declared
        self._explore = prepared(explore, self._call, self._flat, self._room, *self._fixed, 1, 1)

    def find(self, units: int) -> Ints:
        """Return the best allocation [balls] that the attempts find, -1 for balls that are left.

        The next search overwrites it. Only the first `units` take part.
        """
        setup, place = self._setup, self._room._replace(left=self._room.left[:units])
        setup.seed += 1
        self._explore(self._call, self._flat, place, *self._fixed, setup.seed, setup.attempts)
        return self._best


def power(count: int) -> int:
    """Return the lowest power of two that is no less: templates are compiled for so many requests or machines.

    What is compiled does not depend on the number, so that a larger one only costs its tables and checks.
    """
    return 1 << (count - 1).bit_length()


def in_units(quanta: Any) -> Floats:
    """Convert to the quantities of the language, whose millionths they are."""
    units: Floats = np.asarray(quanta) / QUANTUM
    return units
