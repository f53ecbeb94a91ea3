"""Run a program of UTILFN in plain Python, node by node: this defines what programs mean."""

from collections.abc import Sequence

from binwright.agents.solver.model.arithmetic import OPERATIONS, placed
from binwright.agents.solver.model.program import (
    BALL,
    BIN,
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


class _Rejected(Exception):
    """Raised where UTILFN rejects, with the statement that does."""

    def __init__(self, by: Reject) -> None:
        super().__init__(by)
        self.by = by


def call(program: Program, ball: int, place: int, alloc: Sequence[int]) -> list[tuple[int, int]] | None:
    """Run the program once, and return (dimension, millionths) of each addition; None if it rejects.

    `alloc` is [balls], -1 for NULL; a program that does not read ALLOC may be given an empty one.
    """
    try:
        return _call(program, ball, place, alloc)
    except _Rejected:
        return None


def rejection(program: Program, ball: int, place: int, alloc: Sequence[int]) -> Reject | None:
    """Return what rejects the ball, None if nothing does."""
    try:
        _call(program, ball, place, alloc)
    except _Rejected as error:
        return error.by
    return None


def _call(program: Program, ball: int, place: int, alloc: Sequence[int]) -> list[tuple[int, int]]:
    values = [0] * program.slots
    values[BALL], values[BIN] = ball, place
    data = program.data
    added: list[tuple[int, int]] = []

    def value(node: Expr) -> int:
        if isinstance(node, Const):
            return node.value
        if isinstance(node, Local):
            return values[node.slot]
        if isinstance(node, Read):
            return int(data[node.offset + value(node.index)])
        if isinstance(node, Placed):
            return placed(alloc, value(node.ball), ball)
        assert not isinstance(node, Used)
        if node.kind == "and":
            return value(node.left) and value(node.right)
        if node.kind == "or":
            return value(node.left) or value(node.right)
        return OPERATIONS[node.kind](value(node.left), value(node.right))

    def run(block: Block) -> None:
        for one in block:
            if isinstance(one, Set):
                values[one.slot] = value(one.value)
            elif isinstance(one, If):
                run(one.then if value(one.test) else one.other)
            elif isinstance(one, For):
                for number in range(value(one.start), value(one.stop)):
                    values[one.slot] = number
                    run(one.body)
            elif isinstance(one, Add):
                added.append((value(one.dim), value(one.amount)))
            else:
                assert isinstance(one, Reject)
                raise _Rejected(one)

    run(program.body)
    return added
