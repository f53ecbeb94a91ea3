"""State a problem by a template, with a cluster's values and the options of the agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

from binwright.agents.solver.online.incremental import Online
from binwright.agents.solver.specification.load import specification, text_of
from binwright.simcore.errors import UserError
from binwright.simcore.types import QUANTUM, Floats, Ints, Request


class BySize:
    """A template compiled for at most 1, 2, 4, ... requests.

    That for a single request is made at once, the others when they are needed. What is compiled does not depend on the
    number, so that a larger one only costs its tables and checks.
    """

    def __init__(self, make: Callable[[int], Online]) -> None:
        self._make = make
        self._made: dict[int, Online] = {}
        self(1)

    def __call__(self, requests: int) -> Online:
        """Return the smallest one that has room for so many requests."""
        size = 1 << (requests - 1).bit_length()
        if size not in self._made:
            self._made[size] = self._make(size)
        return self._made[size]


def exceeds(request: Request, most: Sequence[int]) -> bool:
    """Tell whether a request asks for more of something than there is at most."""
    return any(amount > limit for amount, limit in zip(request.demand, most, strict=True))


def in_units(quanta: Ints) -> Floats:
    """Convert quanta to quantities of the language, whose millionths they are."""
    return quanta / QUANTUM


class Stated(NamedTuple):
    """A template with a cluster's values: `varying` has the tables that change, and their largest entries."""

    template: str
    params: Mapping[str, int]
    tables: Mapping[str, Any]
    varying: Mapping[str, int]
    balls: int
    bins: int


@dataclass
class Setup:
    """What the options of an agent say about every search, and the seed of the last one, which alone changes."""

    path: str | None
    """A template instead of those that are shipped."""
    params: dict[str, float]
    attempts: int
    deadline: float | None
    pieces: int
    balls: int
    seed: int = 0

    def next_seed(self) -> int:
        """Return the seed of the next search."""
        self.seed += 1
        return self.seed

    def online(self, stated: Stated) -> Online:
        """Compile the search for a template, or for `path`."""
        return Online(*self.given(stated))

    def given(self, stated: Stated) -> tuple[Any, ...]:
        """Return the arguments of `Varying` for a template, or for `path`."""
        with as_file(files("binwright.agents.solver").joinpath("templates", f"{stated.template}.alloc")) as shipped:
            file = shipped if self.path is None else Path(self.path)
            text = text_of(file)
        declared = specification(text, file=file).declared
        for name in self.params:
            if name in stated.params:
                remedy = "Leave it out: it is a size of the cluster."
                raise UserError(f"{name} is given by the agent", key="params", value=self.params, remedy=remedy)
        params = {**self.params, **{name: value for name, value in stated.params.items() if name in declared}}
        varying = {name: (0, most) for name, most in stated.varying.items()}
        return text, file, params, stated.tables, varying, stated.balls, stated.bins
