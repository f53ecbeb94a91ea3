"""Evaluate a program in plain Python, from the source that numba compiles, too."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import index
from typing import Any, TypeAlias

import numpy as np

from binwright.agents.solver.model.emit import utilfn
from binwright.agents.solver.model.program import OPERATIONS, Program, Reject, placed, qdiv, qmul
from binwright.simcore.types import Ints

Added: TypeAlias = list[tuple[Any, Any]]
"""The dimension and the millionths of each addition."""
Evaluate: TypeAlias = Callable[[Any, int, Sequence[int]], Added | None]
"""(ball, bin, ALLOC [balls]) -> what the ball adds; None if it is rejected."""


def evaluator(program: Program, **functions: Callable[..., Any]) -> Evaluate:
    """Return a function that runs a program; `functions` take the place of built-in ones.

    A program without branches can be called for an array of balls [n] at once, with functions that take arrays: each
    part of an addition is an array then, or a number that is the same for all. Others raise `ValueError` or
    `TypeError`.
    """
    source, numbers = utilfn(program, spelt=True, early=False)
    run = function_of(source, "utilfn", **functions)
    one_by_one = program.data.data  # numpy would return numbers of 64 bits, five times as slowly

    def evaluate(ball: Any, place: int, alloc: Sequence[int]) -> Added | None:
        dims: dict[int, Any] = {}
        amounts: dict[int, Any] = {}
        data = one_by_one if isinstance(ball, int) else program.data
        rejected = run(ball, place, alloc, data, numbers, None, None, dims, amounts, 0) < 0
        return None if rejected else list(zip(dims.values(), amounts.values(), strict=True))

    return evaluate


def demands(program: Program, balls: int, dims: Ints) -> Ints | None:
    """Compute what each ball adds to these dimensions [d] of bin 0, int64 [balls, d]; None if a ball is rejected."""
    every, column = np.arange(balls), np.zeros(int(dims.max(initial=0)) + 1, np.int64)
    column[dims] = np.arange(len(dims))
    rows: Iterable[tuple[Any, Added | None]]
    try:  # all at once, if nothing depends on a test
        rows = [(every, evaluator(program, min=np.minimum, max=np.maximum)(every, 0, ()))]
    except (TypeError, ValueError):
        evaluate = evaluator(program)
        rows = ((ball, evaluate(ball, 0, ())) for ball in range(balls))
    demand = np.zeros((balls, len(dims)), np.int64)
    for ball, added in rows:
        if added is None:
            return None
        for dim, amount in added:
            demand[ball, column[dim]] += amount
    return demand


def rejection(program: Program, ball: int, place: int, alloc: Sequence[int]) -> Reject | None:
    """Return the statement that rejects a ball in a bin, None if nothing does."""
    source, numbers = utilfn(program, spelt=True, early=False)
    end = function_of(source, "utilfn")(ball, place, alloc, program.data.data, numbers, None, None, {}, {}, 0)
    return None if end >= 0 else program.rejects[-1 - end]


class UnstatedError(Exception):
    """What a program computes cannot be stated without an allocation: a test, an index, what is not linear or large."""


class Unknown:
    """Stands for a number that depends on the allocation, as all does that is computed from it; it is no test."""

    __array_ufunc__ = None  # numpy leaves operations to it

    def computed(self, symbol: str, left: Any, right: Any) -> Any:
        """Return what an operation comes to, one side of which this is."""
        return self

    def __bool__(self) -> bool:
        raise UnstatedError

    def __index__(self) -> int:
        raise UnstatedError


def _operation(symbol: str, left: Any, right: Any) -> Any:
    """Return what an operation comes to, with unknown numbers too."""
    unknown = next((side for side in (left, right) if isinstance(side, Unknown)), None)
    return OPERATIONS[symbol](left, right) if unknown is None else unknown.computed(symbol, left, right)


def _method(symbol: str, *, reflected: bool) -> Callable[[Any, Any], Any]:
    return lambda x, y: _operation(symbol, *((y, x) if reflected else (x, y)))


REFLECTED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge"}
"""Methods of operators whose left side is a number; those of others begin with r."""
WITH_UNKNOWN = {symbol: partial(_operation, symbol) for symbol in ("min", "max", "qmul", "qdiv")}
"""What programs call, for `function_of`."""
for _symbol, _of_numbers in OPERATIONS.items():
    _name = _of_numbers.__name__.strip("_")
    setattr(Unknown, f"__{REFLECTED.get(_name, 'r' + _name)}__", _method(_symbol, reflected=True))
    setattr(Unknown, f"__{_name}__", _method(_symbol, reflected=False))


class Entries:
    """Stands for an array: collects which entries are `read`, where nothing is known of their `values`."""

    def __init__(self, values: Any = None) -> None:
        self.read, self._values = set[int](), values

    def __getitem__(self, place: Any) -> Any:
        if self._values is None:
            self.read.add(index(place))
        return Unknown() if self._values is None or isinstance(place, Unknown) else self._values[place]


def term_reads(
    source: str, data: Ints, numbers: Sequence[int], ranges: Sequence[range], dims: int
) -> Iterator[tuple[int, int]]:
    """List what the terms of goals that are taken apart read: (dimension, or `dims` + ball; term).

    Raises `UnstatedError` where that depends on the allocation.
    """
    run = function_of(source, "goals", **WITH_UNKNOWN, placed=lambda alloc, ball, _: alloc[ball])
    for term, (which, at) in enumerate((which, at) for which, each in enumerate(ranges) for at in each):
        alloc, used = Entries(), Entries()
        run(alloc, Entries(data.data), numbers, used, None, None, which, at)
        yield from ((dim, term) for dim in used.read)
        yield from ((dims + ball, term) for ball in alloc.read)


def function_of(source: str, name: str, **functions: Any) -> Callable[..., int]:
    """Make a function of its source; `functions` take the place of built-in ones."""
    names: dict[str, Any] = {"Ints": Ints, "placed": placed, "qmul": qmul, "qdiv": qdiv, **functions}
    exec(compile(source, f"<{name}>", "exec"), names)
    made: Callable[..., int] = names[name]
    return made
