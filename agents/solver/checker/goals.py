"""Check goals: MINIMISE and MAXIMISE become a program over a whole allocation, with bounds of what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents.solver.checker.expressions import number
from agents.solver.checker.scope import Scope
from agents.solver.language import syntax as s
from agents.solver.language.constants import QUANTITY, Value
from agents.solver.language.tables import Table
from agents.solver.model.objective import Goal, Objective
from agents.solver.model.program import Family
from simcore.vocabulary import Ints

LOWEST = -(10**17)
"""What is used of a dimension where UTILFN may subtract: nothing is known but that utilisation stays above 1e12."""


def check_goals(
    nodes: Sequence[s.Goal],
    text: str,
    balls: int,
    bins: int,
    names: dict[str, Value],
    tables: dict[str, Table],
    families: Mapping[str, Family],
    ceiling: Ints,
) -> Objective | None:
    """Make the program of all goals, None if there are none; raises `SpecError` where one is refused."""
    if not nodes:
        return None
    scope = Scope(balls, bins, names, tables)
    scope.read_goals(families, {name: (LOWEST if one.falls else 0) for name, one in families.items()}, ceiling)
    found = [number(scope, node.value) for node in nodes]
    goals = tuple(
        Goal(node.aim, " ".join(text[slice(*node.span)].split()), value.kind == QUANTITY, value.low, value.high)
        for node, value in zip(nodes, found, strict=True)
    )
    code = scope.code
    return Objective(goals, tuple(code.out), tuple(value.code for value in found), code.slots, code.data())
