"""Read HOSE and PIPE: the bandwidth between balls, on the links that their bins hang on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from agents.solver.language import declared
from agents.solver.language import syntax as s
from agents.solver.language.constants import Value, micro
from agents.solver.language.errors import SpecError
from agents.solver.language.tables import LARGEST, Table
from agents.solver.model.program import MICRO

Made = tuple[list[int], Value]
"""The balls of a set, and its rate."""


def links(node: s.Linked, made: Iterable[Made], balls: int, number: int) -> tuple[dict[str, Table], Sequence[s.Stmt]]:
    """Make of declaration `number` the tables, and what it adds to UTILFN; sets without bandwidth add nothing."""
    if unknown := {"BALL", *(axis.name for axis in node.axes)} & s.names_in(node.links):
        remedy = "Links follow from BIN alone: LINK[BIN], UPLINK[BIN // 4], PORT[SWITCH[BIN]]."
        raise SpecError(f"{min(unknown)} is not known behind OVER", remedy, node.links[0].at)
    sets: list[tuple[list[int], int]] = []
    for members, value in made:
        rate = micro(value)
        if not 0 <= rate <= LARGEST * MICRO:
            raise SpecError("this rate is out of range", "It is 0 to 1e9: choose a larger unit.", node.rate.at)
        if not rate:
            continue
        if node.kind == "PIPE" and len(members) != 2:
            here = "is 1 ball" if len(members) == 1 else f"are {len(members)} balls"
            raise SpecError(f"a pipe has two ends, here {here}", "Name two, or write HOSE.", node.at)
        sets.append((members, rate))
    if not sets:
        return {}, ()
    name = f"{node.kind} {number}"
    own, others, rates = f"{name} of", f"{name} balls", f"{name} rates"
    if node.kind == "HOSE":
        far = declared.rows(others, [members for members, _ in sets])
        mine = declared.rows_of(balls, [members for members, _ in sets], own)
        amounts = [rate for _, rate in sets]
        statement = declared.hose(node.at, node.links, own, others, rates)
    else:
        pairs: dict[tuple[int, int], int] = {}  # both ways, and several pipes of two balls, are one
        for members, rate in sets:
            pair = min(members), max(members)
            pairs[pair] = pairs.get(pair, 0) + rate
        ends = [end for one, other in pairs for end in ((one, other), (other, one))]
        mine = declared.rows_of(balls, [[ball] for ball, _ in ends], own)
        far = Table(others, True, (len(ends),), np.array([other for _, other in ends], np.int64))
        amounts = [rate for rate in pairs.values() for _ in range(2)]
        statement = declared.pipe(node.at, node.links, own, others, rates)
    table = Table(rates, False, (len(amounts),), np.array(amounts, np.int64))
    return {own: mine, others: far, rates: table}, (statement,)
