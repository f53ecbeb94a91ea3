"""Prove properties of a program from the additions that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.solver.model.program import BIN, Const, Expr, Local


@dataclass(frozen=True)
class Added:
    """One `UTIL... += ...` of a program."""

    family: str
    lowest: int
    """No amount is less."""
    arguments: tuple[Expr, ...]
    """The indices of the resource."""
    loops: tuple[Local | None, ...]
    """The variables of the loops around it; None for a row of a table, whose entries may repeat."""
    branches: tuple[tuple[int, bool], ...]
    """The branches around it: (number, whether it is the side that runs if the test is true)."""


def bin_axis(added: Sequence[Added], family: str, axes: int) -> int | None:
    """Find the index of a family that is BIN wherever something is added to it; None if there is none."""
    places = [one.arguments for one in added if one.family == family]
    every = (axis for axis in range(axes) if places and all(place[axis] == Local(BIN) for place in places))
    return next(every, None)


def distinct(added: Sequence[Added]) -> bool:
    """Tell whether no call can touch a dimension twice.

    It cannot if each loop around an addition is an index of it, and no two additions can meet.
    """
    for number, one in enumerate(added):
        if not all(loop is not None and loop in one.arguments for loop in one.loops):
            return False
        if any(_may_meet(one, other) for other in added[:number]):
            return False
    return True


def _may_meet(one: Added, other: Added) -> bool:
    """Tell whether two additions of one call might touch the same dimension."""
    if one.family != other.family:
        return False
    if any((number, not side) in other.branches for number, side in one.branches) and not (one.loops or other.loops):
        return False
    pairs = zip(one.arguments, other.arguments, strict=True)
    return not any(isinstance(a, Const) and isinstance(b, Const) and a != b for a, b in pairs)
