"""Keep up what goals come to while a local search changes an allocation."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from binwright.agents.solver.backends.cpu import CALLED
from binwright.agents.solver.local.state import LATE, PAST, TRIED, State, begin_move, undo
from binwright.agents.solver.model import emit
from binwright.agents.solver.model.objective import Objective
from binwright.simcore.jit import callback, generated, lean
from binwright.simcore.types import Ints

Goals: TypeAlias = Callable[[Ints, Ints, Ints, Ints, Ints], int]
"""(alloc, data, numbers, used, values), as `binwright.agents.solver.model.emit.goals` says."""


def compiled(objective: Objective) -> Goals:
    """Compile the goals."""
    return _compiled(emit.goals(objective)[0])


@lru_cache(maxsize=32)
def _compiled(source: str) -> Goals:
    names: dict[str, Any] = {"__name__": __name__, **CALLED}
    exec(compile(source, "<goals>", "exec"), names)
    goals: Goals = generated(names["goals"], callers=True)
    return callback(goals, "int64", *["int64[::1]"] * 5)


@lean
def worse(values: Ints, row: int, other: int) -> bool:
    """Tell whether a row of values [rows, goals] is worse than another one, the first goal first."""
    for k in range(values.shape[1]):
        if values[row, k] != values[other, k]:
            return bool(values[row, k] > values[other, k])
    return False


@lean
def copy(values: Ints, row: int, to: int) -> None:
    """Write a row of values over another one."""
    for k in range(values.shape[1]):
        values[to, k] = values[row, k]


@lean
def begin(goals: Goals, state: State) -> None:
    """Write what the goals come to into all rows of `values`."""
    evaluate(goals, state)
    for row in range(1, PAST + LATE):
        copy(state.values, TRIED, row)


@lean
def evaluate(goals: Goals, state: State) -> None:
    """Write what the goals come to, where all balls are placed, into the row TRIED of `values`."""
    room = state.room
    goals(room.alloc, state.data, state.numbers, room.used, state.values[TRIED])


@lean
def take_back(state: State) -> None:
    """Take back what the move has changed, for the next one to begin."""
    undo(state)
    begin_move(state)
