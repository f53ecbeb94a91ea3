"""Find vector problems: the dense form of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from binwright.agents.solver.model.evaluate import evaluator
from binwright.agents.solver.model.program import Family, Program
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.types import Ints


class Matrix(NamedTuple):
    """A vector problem: ball i adds demand[i] to the vector of its bin, whichever it is. It is never written to."""

    demand: Ints
    """[balls, d], millionths"""
    capacity: Ints
    """[bins, d], millionths"""
    names: tuple[str, ...]
    """[d]: `CPU`, or `CPU[2]` for a family with further indices."""

    def weigh(self) -> Ints:
        """Weigh balls, int64 [balls], from 1: by their shares of a mean bin, the scarcer a resource the more."""
        share = self.demand / np.maximum(self.capacity.mean(axis=0), 1)
        scarcity = share.sum(axis=0)
        scarcity /= max(scarcity.max(), 1e-9)
        weight: Ints = 1 + np.minimum(np.rint(rows_dot(share, scarcity) * 1e6), 1e9).astype(np.int64)
        return weight


def dense(program: Program, families: Sequence[Family], capacity: Ints, balls: int, bins: int) -> Matrix | None:
    """Compute the demand of every ball and the capacity [dims] by bin; None if there is no dense form."""
    if not (program.alloc_free and program.bin_local and program.bin_blind):
        return None
    parts, names = list[Ints](), list[str]()
    for family in families:
        if family.bin_axis is not None:
            if family.sizes[family.bin_axis] != bins:
                return None
            numbers = family.offset + np.arange(family.count).reshape(family.sizes)
            parts.append(np.moveaxis(numbers, family.bin_axis, 0).reshape(bins, -1))
            names += [family.name_of(dim, family.bin_axis) for dim in parts[-1][0].tolist()]
    if not parts:
        return None
    dims = np.ascontiguousarray(np.concatenate(parts, axis=1))  # kernels are compiled for one layout
    demand = _demand(program, balls, dims[0])
    return None if demand is None else Matrix(demand, capacity[dims], tuple(names))


def _demand(program: Program, balls: int, dims: Ints) -> Ints | None:
    """Compute what each ball adds to these dimensions [d] of bin 0, int64 [balls, d]; None if a ball is rejected."""
    every, rows = np.arange(balls), list[tuple[Any, Any, Any]]()
    try:  # all at once, if nothing depends on a test
        added = evaluator(program, min=np.minimum, max=np.maximum)(every, 0, ())
        if added is None:
            return None
        rows = [(every, dim, amount) for dim, amount in added]
    except (TypeError, ValueError):
        evaluate = evaluator(program)
        for ball in range(balls):
            if (added := evaluate(ball, 0, ())) is None:
                return None
            rows += [(ball, dim, amount) for dim, amount in added]
        balls_of, dims_of, amounts_of = np.array(rows, np.int64).reshape(-1, 3).T
        rows = [(balls_of, dims_of, amounts_of)]
    demand, order = np.zeros(balls * len(dims), np.int64), np.argsort(dims)
    for ball, dim, amount in rows:
        column = order[np.searchsorted(dims, dim, sorter=order)]
        np.add.at(demand, ball * len(dims) + column, amount)
    return demand.reshape(balls, len(dims))
