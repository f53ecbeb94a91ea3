"""Compile a template for a cluster: a specification in which some tables get other numbers for every decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from binwright.agents.solver.backends.cpu import compiled_problem
from binwright.agents.solver.backends.flat import room
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.specification.load import specification, text_of
from binwright.simcore.errors import UserError
from binwright.simcore.types import QUANTUM, Floats, Ints, Placement, Refusal, Request, View

COST = "COST"
"""The resource of which as little as possible is used."""
T = TypeVar("T")


@dataclass
class Setup:
    """The options of the agent that hold for every search, and the seed of the last one, which alone changes."""

    path: str | None
    """A template instead of those that are shipped."""
    params: dict[str, float]
    attempts: int
    seed: int = 0

    def next_seed(self) -> int:
        """Return the seed of the next search."""
        self.seed += 1
        return self.seed


class Formulation:
    """Turns requests into a problem: `Servers`, `Connected`, `Virtual` or `Jobs`. The view is of the kind it is for."""

    def __init__(self, setup: Setup, view: View) -> None:
        self.setup = setup
        self.servers, self.nodes, self.kinds = view.capacity.shape

    def answers(self, view: Any, requests: Sequence[Request]) -> Iterator[tuple[Request, Placement | Refusal]]:
        """Answer requests, here one after another; those that get no place are left out."""
        for request in requests:
            if (answer := self.answer(view, request)) is not None:
                yield request, answer

    def answer(self, view: Any, request: Request) -> Placement | Refusal | None:
        """Answer a request; None if nothing is found."""
        raise NotImplementedError  # agents override `answers` or this


class Template:
    """A template, `setup.path` or the shipped one of this `name`, compiled once for clusters of these `sizes`.

    `varying` tables have the shapes and the largest entries that they will ever have, `tables` those that stay: floats
    are quantities, integers whole numbers. There must be so many `balls` and `bins`.
    """

    near: ClassVar[bool] = False
    """Groups of bins are near one another, and dimensions may be over until one is left: see `nearby`."""

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
        with as_file(files("binwright.agents.solver").joinpath("templates", f"{name}.alloc")) as shipped:
            file = shipped if setup.path is None else Path(setup.path)
            text = text_of(file)
        if clash := sizes.keys() & setup.params.keys():
            remedy = "Leave it out: it is a size of the cluster."
            raise UserError(f"{min(clash)} is given by the agent", key="params", value=setup.params, remedy=remedy)
        declared = specification(text, file=file).declared
        params = {**setup.params, **{name: value for name, value in sizes.items() if name in declared}}
        spec = specification(text, file=file, params=params, tables={**tables, **varying})
        for name in varying:
            spec.tables[name] = replace(spec.tables[name], varies=True)
        problem = spec.problem()
        if problem.objective is not None:
            remedy = f"Declare a resource {COST} instead: the agent `solver` uses as little of it as it can."
            raise SpecError("a template has no goals", remedy, file=file)
        for what, count, wanted in (("BALLS", problem.balls, balls), ("BINS", problem.bins, bins)):
            if count != wanted:
                remedy = "A shipped template, in agents/solver/templates, shows how this is written."
                raise SpecError(f"{what} is {count}, and here it must be {wanted}", remedy, file=file)
        declarations = spec.tree.declarations
        self.declared = any(node.kind == "groups" for node in declarations)
        """Does it say itself what its groups of bins are?"""
        groupings = problem.groupings[::-1]  # the smallest groups first: what is near one another
        if self.near or len(problem.units) == 1:  # groups of any size are the same to one unit
            groupings = groupings[-1:]
        self.problem = problem = replace(problem, groupings=groupings)
        self._call, self._flat = compiled_problem(problem, self.near)
        flat = self._flat
        self._targets: dict[str, list[Ints]] = {name: [] for name in varying}
        for name, start in problem.program.tables.items():
            if name in varying:
                shape = spec.tables[name].sizes
                self._targets[name].append(flat.data[start : start + int(np.prod(shape))].reshape(shape))
        families = {family.name: family for family in problem.families}
        for node in declarations:
            if node.kind != "family" or node.parts[2].kind != "index":
                continue
            name, table = node.parts[0], node.parts[2].parts[0]
            if table in varying:
                family = families[name]
                part = slice(family.offset, family.offset + family.count)
                if (problem.soft_group[part] >= 0).any():
                    remedy = f"Leave SOFT {name} out, or give it other capacities."
                    raise SpecError(f"{table} changes from request to request", remedy, node.at, text, file)
                self._targets[table].append(flat.ceiling[part].reshape(family.sizes))
        self._cost = next((each.offset for each in problem.families if each.name == COST and not each.sizes), -1)
        self._most = int(flat.ceiling[self._cost])
        self._best = np.zeros(problem.balls, np.int64)
        self._room = room(problem)

    def write(self, name: str, entries: Any, these: Any = ...) -> None:
        """Write new entries of a table, raw: all of it, or of `these`, as numpy's indices go."""
        for target in self._targets[name]:
            target[these] = entries


def by_size(make: Callable[[int], T]) -> Callable[[int], T]:
    """Return a function that makes a template for 1, 2, 4, ... requests, as many as there is room needed for.

    That for a single request is made at once, the others when they are needed. What is compiled does not depend on the
    number, so that a larger one only costs its tables and checks.
    """
    made = cache(make)
    made(1)
    return lambda requests: made(power(requests))


def power(count: int) -> int:
    """Return the lowest power of two that is no less."""
    return 1 << (count - 1).bit_length()


def exceeds(request: Request, most: Sequence[int]) -> bool:
    """Tell whether a request asks for more of something than there is at most."""
    return any(amount > limit for amount, limit in zip(request.demand, most, strict=True))


def in_units(quanta: Any) -> Floats:
    """Convert to the quantities of the language, whose millionths they are."""
    units: Floats = np.asarray(quanta) / QUANTUM
    return units
