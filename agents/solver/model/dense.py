"""Find the dense form of a vector problem: a matrix of demands and a matrix of capacities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.solver.model.interpreter import OPERATIONS, call
from agents.solver.model.program import (
    BALL,
    BIN,
    Add,
    Block,
    Const,
    Expr,
    Family,
    For,
    Local,
    Op,
    Program,
    Read,
    Set,
)
from simcore.vocabulary import Ints


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
    dims = np.concatenate([_by_bin(family, axis) for family, axis in local], axis=1)  # [bins, d]
    demand = _demand(program, balls, dims[0])
    if demand is None:
        return None
    names = (family.name_of(dim, axis) for family, axis in local for dim in _by_bin(family, axis)[0].tolist())
    return Matrix(demand, capacity[dims], tuple(names))


def _by_bin(family: Family, axis: int) -> Ints:
    """Return the dimensions of a family by the bin that they belong to, int64 [bins, its dimensions of a bin]."""
    numbers = family.offset + np.arange(family.count).reshape(family.sizes)
    return np.moveaxis(numbers, axis, 0).reshape(family.sizes[axis], -1)


def _demand(program: Program, balls: int, dims: Ints) -> Ints | None:
    """Compute what each ball adds to these dimensions [d] of bin 0, int64 [balls, d]; None if a ball rejects."""
    column = {dim: number for number, dim in enumerate(dims.tolist())}
    demand = np.zeros((balls, len(dims)), np.int64)
    if _straight(program.body):
        _add_all(program, demand, column)
        return demand
    for ball in range(balls):
        added = call(program, ball, 0, [])
        if added is None:
            return None
        for dim, amount in added:
            demand[ball, column[dim]] += amount
    return demand


def _straight(body: Block) -> bool:
    """Tell whether a block can run for all balls at once.

    It has no branches, its loops are the same for all balls, and its dimensions do not depend on the ball.
    """
    return all(
        isinstance(one, Set)
        or (isinstance(one, Add) and not _uses_locals(one.dim))
        or (isinstance(one, For) and _fixed(one) and _straight(one.body))
        for one in body
    )


def _fixed(loop: For) -> bool:
    return isinstance(loop.start, Const) and isinstance(loop.stop, Const)


def _uses_locals(node: Expr) -> bool:
    if isinstance(node, Op):
        return _uses_locals(node.left) or _uses_locals(node.right)
    return not isinstance(node, Const) and node != Local(BIN)


def _add_all(program: Program, demand: Ints, column: dict[int, int]) -> None:
    """Run straight code with arrays [balls]; adds to `demand` [balls, d], in the `column` of each dimension."""
    balls = np.arange(len(demand))
    values: dict[int, Ints] = {BALL: balls, BIN: np.zeros_like(balls)}

    def value(node: Expr) -> Ints:
        if isinstance(node, Const):
            return np.full_like(balls, node.value)
        if isinstance(node, Local):
            return values[node.slot]
        if isinstance(node, Read):
            return program.data[node.offset + value(node.index)]
        assert isinstance(node, Op)
        return np.asarray(_ARRAYS[node.kind](value(node.left), value(node.right)), np.int64)

    def run(body: Block) -> None:
        for one in body:
            if isinstance(one, Set):
                values[one.slot] = value(one.value)
            elif isinstance(one, Add):
                demand[:, column[int(value(one.dim)[0])]] += value(one.amount)
            elif isinstance(one, For) and isinstance(one.start, Const) and isinstance(one.stop, Const):
                for number in range(one.start.value, one.stop.value):
                    values[one.slot] = np.full_like(balls, number)
                    run(one.body)

    run(program.body)


_ARRAYS: dict[str, Any] = {
    **OPERATIONS,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.logical_and,
    "or": np.logical_or,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
}
"""The operations with arrays for operands."""
