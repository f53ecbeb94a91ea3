"""Keep up what goals come to while a local search changes an allocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from binwright.agents.solver.backends.cpu import compiled
from binwright.agents.solver.local.state import LATE, PAST, TRIED, State, begin_move, undo
from binwright.agents.solver.model import emit
from binwright.agents.solver.model.objective import Objective
from binwright.simcore.jit import lean
from binwright.simcore.types import Ints

Goals: TypeAlias = Callable[[Ints, Ints, Ints, Ints, Ints], int]
"""(alloc, data, numbers, used, values), as `binwright.agents.solver.model.emit.goals` says."""


def compiled_goals(objective: Objective) -> Goals:
    """Compile the goals."""
    goals: Goals = compiled(emit.goals(objective)[0], "goals", *["int64[::1]"] * 5)
    return goals


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
