"""Evaluate a program in plain Python, from the source that numba compiles, too."""

from collections.abc import Callable, Iterable, Sequence
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


def function_of(source: str, name: str, **functions: Callable[..., Any]) -> Callable[..., int]:
    """Make a function of its source; `functions` take the place of built-in ones."""
    names: dict[str, Any] = {"Ints": Ints, "placed": placed, "qmul": qmul, "qdiv": qdiv, **functions}
    exec(compile(source, f"<{name}>", "exec"), names)
    made: Callable[..., int] = names[name]
    return made
