"""Find the dense form of a vector problem: a matrix of demands and a matrix of capacities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from binwright.agents.solver.model.evaluate import evaluator
from binwright.agents.solver.model.program import Family, Program
from binwright.simcore.types import Ints


@dataclass(frozen=True)
class Matrix:
    """A vector problem: ball i adds demand[i] to the vector of its bin, whichever it is."""

    demand: Ints
    """[balls, d], millionths"""
    capacity: Ints
    """[bins, d], millionths"""
    names: tuple[str, ...]
    """[d]: `CPU`, or `CPU[2]` for a family with further indices."""


def dense(program: Program, families: Sequence[Family], capacity: Ints, balls: int, bins: int) -> Matrix | None:
    """Compute the demand of every ball and the capacity [dims] by bin; None if there is no dense form."""
    if not (program.alloc_free and program.bin_local and program.bin_blind):
        return None
    local = [(family, family.bin_axis) for family in families if family.bin_axis is not None]
    if any(family.sizes[axis] != bins for family, axis in local) or not local:
        return None
    dims = np.concatenate([by_bin(family, axis) for family, axis in local], axis=1)  # [bins, d]
    demand = _demand(program, balls, dims[0])
    if demand is None:
        return None
    names = (family.name_of(dim, axis) for family, axis in local for dim in by_bin(family, axis)[0].tolist())
    return Matrix(demand, capacity[dims], tuple(names))


def by_bin(family: Family, axis: int) -> Ints:
    """Return the dimensions of a family by the bin that they belong to, int64 [bins, its dimensions of a bin]."""
    numbers = family.offset + np.arange(family.count).reshape(family.sizes)
    return np.moveaxis(numbers, axis, 0).reshape(family.sizes[axis], -1)


def _demand(program: Program, balls: int, dims: Ints) -> Ints | None:
    """Compute what each ball adds to these dimensions [d] of bin 0, int64 [balls, d]; None if a ball is rejected."""
    every = np.arange(balls)
    try:  # all at once, if nothing depends on a test
        added = evaluator(program, min=np.minimum, max=np.maximum)(every, 0, ())
        rows = None if added is None else [(every, dim, amount) for dim, amount in added]
    except (TypeError, ValueError):
        rows = _one_by_one(program, balls)
    if rows is None:
        return None
    demand, order = np.zeros(balls * len(dims), np.int64), np.argsort(dims)
    for ball, dim, amount in rows:
        column = order[np.searchsorted(dims, dim, sorter=order)]
        np.add.at(demand, ball * len(dims) + column, amount)
    return demand.reshape(balls, len(dims))


def _one_by_one(program: Program, balls: int) -> list[tuple[Any, Any, Any]] | None:
    """List the additions of all balls: arrays of their balls, dimensions and amounts; None if a ball is rejected."""
    evaluate, found = evaluator(program), []
    for ball in range(balls):
        added = evaluate(ball, 0, ())
        if added is None:
            return None
        found += [(ball, dim, amount) for dim, amount in added]
    every, dims, amounts = np.array(found, np.int64).reshape(-1, 3).T
    return [(every, dims, amounts)]
