"""The dense form of a vector problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.solver.model.program import (
    BALL,
    OPERATIONS,
    Add,
    Block,
    Const,
    Expr,
    For,
    Ints,
    Local,
    Matrix,
    Op,
    Problem,
    Read,
    Set,
)


def dense(problem: Problem) -> Matrix | None:
    """Demand per ball and capacity per bin, or None; see `Problem.matrix`."""
    proven = problem.program
    if not (proven.alloc_free and proven.bin_local and proven.bin_blind) or len(problem.soft_allowed):
        return None
    local = [family for family in problem.families if family.bin_axis is not None]
    if any(family.sizes[family.bin_axis or 0] != problem.bins for family in local) or not local:
        return None
    columns = [_columns(problem, family.offset, family.sizes, family.bin_axis or 0) for family in local]
    dims = np.concatenate(columns, axis=1)  # [bins, d]
    demand = _demand(problem, dims[0])
    if demand is None:
        return None
    names = tuple(_name(problem, dim) for dim in dims[0].tolist())
    return Matrix(demand, problem.capacity[dims], names)


def _columns(problem: Problem, offset: int, sizes: tuple[int, ...], axis: int) -> Ints:
    """[bins, d]: the dimensions of a family, by the bin that they belong to."""
    numbers = offset + np.arange(int(np.prod(sizes, dtype=np.int64))).reshape(sizes)
    return np.moveaxis(numbers, axis, 0).reshape(problem.bins, -1)


def _name(problem: Problem, dim: int) -> str:
    """A dimension's name without the bin."""
    family = next(one for one in problem.families if one.offset <= dim < one.offset + one.count)
    index = [str(number) for number in np.unravel_index(dim - family.offset, family.sizes)]
    del index[family.bin_axis or 0]
    return f"{family.name}[{', '.join(index)}]" if index else family.name


def _demand(problem: Problem, dims: Ints) -> Ints | None:
    """[balls, d]: what each ball adds to bin 0; None if one rejects."""
    column = {dim: number for number, dim in enumerate(dims.tolist())}
    demand = np.zeros((problem.balls, len(dims)), np.int64)
    if _straight(problem.program.body):
        _add_all(problem, demand, column)
        return demand
    from agents.solver.backends.reference import call

    for ball in range(problem.balls):
        added = call(problem, ball, 0, [])
        if added is None:
            return None
        for dim, amount in added:
            demand[ball, column[dim]] += amount
    return demand


def _straight(body: Block) -> bool:
    """No branches, loops that are the same for all, dimensions that do not depend on the ball: all balls at once."""
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
    return not isinstance(node, Const) and node != Local(1)


def _add_all(problem: Problem, demand: Ints, column: dict[int, int]) -> None:
    """Straight code with arrays for the balls."""
    balls = np.arange(problem.balls)
    values: dict[int, Ints] = {BALL: balls, 1: np.zeros_like(balls)}

    def value(node: Expr) -> Ints:
        if isinstance(node, Const):
            return np.full_like(balls, node.value)
        if isinstance(node, Local):
            return values[node.slot]
        if isinstance(node, Read):
            return problem.data[node.offset + value(node.index)]
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

    run(problem.program.body)


_ARRAYS: dict[str, Any] = {
    **OPERATIONS,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.logical_and,
    "or": np.logical_or,
}
_ARRAYS |= {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}
