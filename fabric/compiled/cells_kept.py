"""Keeps where a run in cells is, between two windows, and goes on from there, as `fabric.compiled.numa_kept` does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fabric.compiled.cells_run import CellSimulation, Where
from fabric.compiled.numa_kept import Kept, check_answers, check_left, must, write
from fabric.compiled.numa_loop import COUNTERS, ENDS, FIRST
from simcore.vocabulary import Compiled, Floats


def numbers(simulation: CellSimulation, rule: Compiled) -> tuple[Floats, ...]:
    """Return the numbers that the run changes: every cell has its own. The simulation is going to play this rule."""
    simulation.take(rule)
    return tuple(array for cell in simulation.cells for array in cell.numbers)


def where(simulation: CellSimulation) -> dict[str, npt.NDArray[Any]]:
    """Return all else that the rest of the run depends on, cell after cell."""
    simulation.fetch(True)
    every = zip(*(cell.where() for cell in simulation.cells), strict=True)
    return {name: np.concatenate(arrays) for name, arrays in zip(Where._fields, every, strict=True)}


def go_on(simulation: CellSimulation, kept: Kept, answers: npt.NDArray[Any]) -> None:
    """Bring a simulation that has answered nothing to where another one of the same run was.

    What cannot be of this run raises an error, as in `fabric.compiled.numa_kept`.
    """
    check_answers(simulation, simulation.requests.rows, len(simulation.view.capacity), answers)
    write(simulation.record, answers)
    check_left(simulation, kept["holder"], kept["left"])
    at = kept["at"].reshape(-1, COUNTERS)
    ends = np.cumsum(at[:, ENDS])[:-1]
    heaps = np.split(kept["due"], ends), np.split(kept["holder"], ends)
    left = np.split(kept["left"], [cell.first for cell in simulation.cells[1:]])
    for cell, *each in zip(simulation.cells, at, kept["now"], *heaps, left, strict=True):
        where = Where(*each)
        must(where.at[FIRST] == cell.first and len(where.due) == len(where.holder) == where.at[ENDS])
        server = simulation.record.server[where.holder] - cell.first
        must(((server >= 0) & (server < len(cell.state.capacity))).all())
        cell.go_on(where)
    simulation.follow(len(answers))
