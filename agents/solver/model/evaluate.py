"""Evaluate a program in plain Python, from the source that numba compiles, too."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from typing import Any, TypeAlias

import numpy as np

from binwright.agents.solver.model.arithmetic import placed, qdiv, qmul
from binwright.agents.solver.model.emit import goals, utilfn
from binwright.agents.solver.model.program import Objective, Program, Reject
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


def goal_values(objective: Objective) -> Callable[[Sequence[int], Sequence[int]], tuple[int, ...]]:
    """Return a function of ALLOC [balls] and utilisation [dims]: what each goal comes to, less being better."""
    source, numbers = goals(objective, spelt=True)
    run, data = function_of(source, "goals"), objective.data.data

    def evaluate(alloc: Sequence[int], used: Sequence[int]) -> tuple[int, ...]:
        values = [0] * len(objective.goals)
        run(alloc, data, numbers, used, values)
        return tuple(values)

    return evaluate


class Unknown:
    """Stands for a number that depends on the allocation, as all does that is computed from it; it is no test."""

    __array_ufunc__ = None  # numpy leaves operations to it

    def _operation(self, *_: object) -> "Unknown":
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = _operation
    __mod__ = __rmod__ = __and__ = __rand__ = __or__ = __ror__ = __lt__ = __le__ = __gt__ = __ge__ = _operation
    __eq__ = __ne__ = _operation  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError


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
    """List what the terms of split goals read: (dimension, or `dims` + ball; term).

    Raises `TypeError` where that depends on the allocation.
    """

    def if_known(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *of: Unknown() if any(isinstance(each, Unknown) for each in of) else function(*of)

    functions = {function.__name__: if_known(function) for function in (min, max, qmul, qdiv)}
    run = function_of(source, "goals", **functions, placed=lambda alloc, ball, _: alloc[ball])
    for term, (which, at) in enumerate((which, at) for which, each in enumerate(ranges) for at in each):
        alloc, used = Entries(), Entries()
        run(alloc, Entries(data.data), numbers, used, None, None, which, at)
        yield from ((dim, term) for dim in used.read)
        yield from ((dims + ball, term) for ball in alloc.read)


def function_of(source: str, name: str, **functions: Callable[..., Any]) -> Callable[..., int]:
    """Make a function of its source; `functions` take the place of built-in ones."""
    names: dict[str, Any] = {"Ints": Ints, "placed": placed, "qmul": qmul, "qdiv": qdiv, **functions}
    exec(compile(source, f"<{name}>", "exec"), names)
    made: Callable[..., int] = names[name]
    return made
