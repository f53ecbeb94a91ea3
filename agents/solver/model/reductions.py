"""Take sums, minima and maxima out of the program of goals: a move then evaluates only those terms that it changes.

A loop of the program is a *reduction* if each of its rounds, a *term*, can be evaluated alone, and what the term reads,
which are dimensions and the bins of balls, is the same whatever the allocation is. The rest of the program follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from binwright.agents.solver.model.program import Add, Block, Const, For, If, Local, Placed, Set, Stmt, Used

DIMENSION, BALL = 0, 1
"""What a term reads."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """The rounds of a loop: each term is `total` after `first` and then the body of the loop."""

    kind: str
    """What joins the terms: `add`, `min` or `max`."""
    total: int
    """The local that has the term, and in the rest of the program what all terms come to."""
    first: Block
    loop: For
    reads: Block
    """What the term reads: it adds `DIMENSION` to what is a dimension, and `BALL` to what is a ball."""

    @property
    def rounds(self) -> range:
        """Return the numbers of the rounds."""
        assert isinstance(self.loop.start, Const)
        assert isinstance(self.loop.stop, Const)
        return range(self.loop.start.value, self.loop.stop.value)


def take_out(body: Block) -> tuple[tuple[Reduction, ...], Block]:
    """Take all reductions out of a program; returns the rest of it, too."""
    found, taken = [], set[Stmt]()
    for at, one in enumerate(body):
        if isinstance(one, For):
            assigned = _assigned(one)
            first = tuple(early for early in body[:at] if isinstance(early, Set) and early.slot in assigned)
            made = _reduction(one, first, assigned)
            if made is not None:
                found.append(made)
                taken |= {one, *first}
    return tuple(found), tuple(one for one in body if one not in taken)


def _reduction(loop: For, first: Sequence[Set], assigned: set[int]) -> Reduction | None:
    """Make a reduction of a loop before which come these assignments to what it assigns, if it is one."""
    steady = isinstance(loop.start, Const) and isinstance(loop.stop, Const)
    if not steady or any(isinstance(node, Local) and node.slot not in assigned for node in _walk(loop)):
        return None
    try:
        reads = tuple(_reads((*first, *loop.body), _varying(loop)))
    except _Varies:
        return None
    total, kind = first[0].slot, "add"
    if len(first) > 1:  # whether there was none before is the second: `If(none or this < best, ...)`, or best < this
        kind = "max" if loop.body[-1].test.right.left == Local(total) else "min"  # type: ignore[union-attr]
    return Reduction(kind, total, tuple(first), loop, reads)


def _walk(node: Any) -> Iterator[Any]:
    """Iterate over a statement or an expression and all in it."""
    yield node
    for name in node.__slots__:
        part = getattr(node, name)
        for inner in part if isinstance(part, tuple) else (part,):
            if hasattr(inner, "__slots__"):
                yield from _walk(inner)


def _assigned(node: Stmt) -> set[int]:
    return {one.slot for one in _walk(node) if isinstance(one, Set | For)}


def _varies(node: Any, varying: set[int]) -> bool:
    """Tell whether a value depends on the allocation."""
    return any(
        isinstance(one, Used | Placed) or (isinstance(one, Local) and one.slot in varying) for one in _walk(node)
    )


def _varying(loop: For) -> set[int]:
    """Find the locals that may depend on the allocation."""
    found, more = set[int](), set[int]()
    while True:
        for one in _walk(loop):
            if isinstance(one, Set) and _varies(one.value, found):
                more.add(one.slot)
            elif isinstance(one, If) and _varies(one.test, found):
                more |= _assigned(one)
        if more == found:
            return found
        found = set(more)


class _Varies(Exception):
    """What is read depends on the allocation."""


def _reads(body: Block, varying: set[int]) -> Iterator[Stmt]:
    """Write the program that lists what a program reads, on whatever way through it."""
    for one in body:
        for value in (one.value,) if isinstance(one, Set) else (one.test,) if isinstance(one, If) else ():
            for node in _walk(value):
                if isinstance(node, Used | Placed):
                    index = node.dim if isinstance(node, Used) else node.ball
                    if _varies(index, varying):
                        raise _Varies
                    yield Add(index, Const(DIMENSION if isinstance(node, Used) else BALL))
        if isinstance(one, Set) and one.slot not in varying:
            yield one
        elif isinstance(one, If):
            then, other = tuple(_reads(one.then, varying)), tuple(_reads(one.other, varying))
            if _varies(one.test, varying):
                yield from (*then, *other)
            else:
                yield If(one.test, then, other)
        elif isinstance(one, For):
            if _varies(one.start, varying) or _varies(one.stop, varying):
                raise _Varies
            yield For(one.slot, one.start, one.stop, tuple(_reads(one.body, varying)))
