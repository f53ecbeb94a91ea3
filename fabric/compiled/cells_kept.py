"""Keeps where a run in cells is, between two windows, and goes on from there, as `fabric.compiled.numa_kept` does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fabric.compiled.cells_run import CellSimulation
from fabric.compiled.numa_kept import Kept, write
from fabric.compiled.numa_loop import ENDS
from simcore.vocabulary import Compiled, Floats


def numbers(simulation: CellSimulation, rule: Compiled) -> tuple[Floats, ...]:
    """Return the numbers that the run changes: every cell has its own. The simulation is going to play this rule."""
    simulation.take(rule)
    return tuple(array for cell in simulation.cells for array in cell.numbers)


def where(simulation: CellSimulation) -> dict[str, npt.NDArray[Any]]:
    """Return all else that the rest of the run depends on, cell after cell."""
    states = [cell.state for cell in simulation.cells]
    return {
        "at": np.array([state.at for state in states]),
        "now": np.array([state.now for state in states]),
        "due": np.concatenate([state.due[: state.at[ENDS]] for state in states]),
        "holder": np.concatenate([state.holder[: state.at[ENDS]] for state in states]),
        "left": simulation.left,
    }


def go_on(simulation: CellSimulation, kept: Kept, answers: npt.NDArray[Any]) -> None:
    """Bring a simulation that has answered nothing to where another one of the same run was."""
    write(simulation.record, answers)
    simulation.free[:] = simulation.left[:] = kept["left"]
    first = 0
    for cell, at, now in zip(simulation.cells, kept["at"], kept["now"], strict=True):
        state, ends = cell.state, int(at[ENDS])
        state.at[:], state.now[:] = at, now
        state.due[:ends], state.holder[:ends] = (kept[name][first : first + ends] for name in ("due", "holder"))
        first += ends
    simulation.follow(len(answers))
