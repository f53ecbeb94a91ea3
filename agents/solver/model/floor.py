"""Find what each ball takes of the bin that it is in at least, whatever the other balls do.

This makes a vector problem that every allocation of the problem's own solves, too, so that its bounds hold. It has the
families of dimensions that belong to a bin and that nothing is taken from. What depends on ALLOC is left out of UTILFN:
what it adds to these families is not below zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from binwright.agents.solver.model.dense import by_bin
from binwright.agents.solver.model.evaluate import evaluator
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import (
    BALL,
    BIN,
    MICRO,
    NULL,
    Add,
    Block,
    Const,
    Expr,
    For,
    If,
    Local,
    Placed,
    Program,
    Read,
    Reject,
    Set,
    Used,
)
from binwright.simcore.types import Ints

STEPS = 2_000_000
"""Nodes of UTILFN that may be evaluated: a second."""


@dataclass(frozen=True)
class Floor:
    """A vector problem that is no harder than the problem's own."""

    demand: Ints
    """[units, d], millionths: what a unit (see `Problem.units`) takes of its bin at least"""
    capacity: Ints
    """[bins, d], millionths, as far as SOFT allows"""
    names: tuple[str, ...]
    """[d]: `CPU`, or `CPU[2]` for a family with further indices."""
    foes: tuple[tuple[int, int], ...]
    """Pairs of units that cannot share a bin."""


def floor(problem: Problem) -> Floor | None:
    """Find the floor of a problem; None if there is none, or it takes too long."""
    families = [
        (family, family.bin_axis) for family in problem.families if family.bin_axis is not None and not family.falls
    ]
    families = [(family, axis) for family, axis in families if family.sizes[axis] == problem.bins]
    if not families or not problem.balls:
        return None
    of_families = [by_bin(family, axis) for family, axis in families]
    dims = np.concatenate(of_families, axis=1)  # [bins, d]
    matrix = problem.matrix
    if matrix is not None and not (matrix.demand < 0).any() and matrix.demand.shape[1] == dims.shape[1]:
        demand: Ints | None = matrix.demand
    else:
        demand = _by_calls(problem, dims)
    if demand is None:
        return None
    of_units = np.add.reduceat(demand[problem.units.members], problem.units.offsets[:-1], axis=0)
    names = (
        family.name_of(dim, axis) for (family, axis), one in zip(families, of_families, strict=True) for dim in one[0]
    )
    return Floor(of_units, problem.ceiling[dims], tuple(names), tuple(pairs(problem)))


def pairs(problem: Problem) -> Iterator[tuple[int, int]]:
    """Find the pairs of units that FOES, and PIN, keep apart."""
    unit_of = problem.unit_of.tolist()
    for members, chance in problem.foes:
        units = {unit_of[ball] for ball in members}
        if chance == MICRO and len(units) == 2:
            one, other = units
            yield one, other
    pinned = np.flatnonzero(problem.pins != NULL)
    first: dict[int, int] = {}  # of each bin, a unit that is pinned to it: more say no more
    for ball in pinned.tolist():
        first.setdefault(int(problem.pins[ball]), unit_of[ball])
    yield from combinations(sorted(set(first.values())), 2)


def _by_calls(problem: Problem, dims: Ints) -> Ints | None:
    """Evaluate what is left of UTILFN for all balls and bins, int64 [balls, d]; None if that takes too long."""
    program = without_alloc(problem)
    bins = 1 if program.bin_blind else problem.bins
    if problem.balls * bins * max(1, program.steps) > STEPS:
        return None
    evaluate = evaluator(program)
    column = {dim: at for own in dims.tolist() for at, dim in enumerate(own)}
    least = np.full((problem.balls, dims.shape[1]), np.iinfo(np.int64).max)
    for ball, pin in enumerate(problem.pins.tolist()):
        for place in range(bins) if pin == NULL or program.bin_blind else (pin,):
            added = evaluate(ball, place, ())
            if added is None:
                continue
            amounts = np.zeros(dims.shape[1], np.int64)
            for dim, amount in added:
                if dim in column:
                    amounts[column[dim]] += amount
            np.minimum(least[ball], amounts, out=least[ball])
    # A ball that is rejected everywhere is somebody else's to report.
    return np.where(least == np.iinfo(np.int64).max, 0, least)


def without_alloc(problem: Problem) -> Program:
    """Leave out of UTILFN what depends on ALLOC, or is not certain to be legal without it."""
    program = problem.program
    if program.alloc_free:
        return program
    sliced = _Slice(problem)
    return replace(program, body=sliced.kept(program.body), alloc_free=True, bin_blind=False)


Span = tuple[int, int]


class _Slice:
    """Tells which expressions can do without ALLOC.

    A read or a division may be legal only because of a REJECT that is left out: those whose index or divisor is not
    plainly within its limits count as depending on ALLOC.
    """

    def __init__(self, problem: Problem) -> None:
        self.program = problem.program
        self.spans: dict[int, Span | None] = {BALL: (0, problem.balls - 1), BIN: (0, problem.bins - 1)}
        """By local: its least and largest value, None if that is not known."""
        self.ends = dict(pairwise((*self.program.parts, len(self.program.data))))
        self.unknown: set[int] = set()
        """Locals that depend on ALLOC."""
        before = -1
        while len(self.unknown) > before:  # a loop may read what it assigns further down
            before = len(self.unknown)
            self.mark(self.program.body, certain=True)

    def depends(self, node: Expr) -> bool:
        """Tell whether an expression depends on ALLOC."""
        if isinstance(node, Const):
            return False
        if isinstance(node, Local):
            return node.slot in self.unknown
        if isinstance(node, Placed | Used):
            return True
        if isinstance(node, Read):
            span, end = self.span(node.index), self.ends.get(node.offset)
            legal = span is not None and end is not None and span[0] >= 0 and node.offset + span[1] < end
            return not legal or self.depends(node.index)
        if node.kind in ("div", "mod", "qdiv") and not (isinstance(node.right, Const) and node.right.value > 0):
            return True
        return self.depends(node.left) or self.depends(node.right)

    def span(self, node: Expr) -> Span | None:
        """Bound an expression of constants, BALL, BIN and variables of loops over constants."""
        if isinstance(node, Const):
            return node.value, node.value
        if isinstance(node, Local):
            return self.spans.get(node.slot)
        if isinstance(node, Read):
            end = self.ends.get(node.offset)
            values = self.program.data[node.offset : end]
            return (int(values.min()), int(values.max())) if end is not None and len(values) else None
        if isinstance(node, Placed | Used) or node.kind not in ("add", "sub", "mul"):
            return None
        left, right = self.span(node.left), self.span(node.right)
        if left is None or right is None:
            return None
        if node.kind == "add":
            return left[0] + right[0], left[1] + right[1]
        if node.kind == "sub":
            return left[0] - right[1], left[1] - right[0]
        corners = [a * b for a in left for b in right]
        return min(corners), max(corners)

    def mark(self, block: Block, *, certain: bool) -> None:
        """Add to `unknown` what a block assigns from ALLOC, or assigns at all if it is not `certain` to run."""
        for one in block:
            if isinstance(one, Set):
                if not certain or self.depends(one.value):
                    self.unknown.add(one.slot)
                self.spans[one.slot] = None
            elif isinstance(one, If):
                fixed = certain and not self.depends(one.test)
                self.mark(one.then, certain=fixed)
                self.mark(one.other, certain=fixed)
            elif isinstance(one, For):
                fixed = certain and not self.depends(one.start) and not self.depends(one.stop)
                start, stop = self.span(one.start), self.span(one.stop)
                self.spans[one.slot] = (start[0], stop[1] - 1) if start is not None and stop is not None else None
                if not fixed:
                    self.unknown.add(one.slot)
                self.mark(one.body, certain=fixed)

    def kept(self, block: Block) -> Block:
        """Leave out the statements of a block that depend on ALLOC."""
        return tuple(part for one in block for part in self.part(one))

    def part(self, one: Set | If | For | Add | Reject) -> Block:
        """Keep a statement, or what is left of it, or nothing."""
        if isinstance(one, Set):
            return () if one.slot in self.unknown else (one,)
        if isinstance(one, If):
            return () if self.depends(one.test) else (If(one.test, self.kept(one.then), self.kept(one.other)),)
        if isinstance(one, For):
            return () if one.slot in self.unknown else (For(one.slot, one.start, one.stop, self.kept(one.body)),)
        if isinstance(one, Add):
            return () if self.depends(one.dim) or self.depends(one.amount) else (one,)
        return (one,)
