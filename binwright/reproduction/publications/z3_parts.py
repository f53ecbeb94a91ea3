"""Pack machines by Z3, one part after another, as Wrasse's authors did: whole inputs are too much for it.

De Moura and Bjorner, "Z3: an efficient SMT solver", TACAS 2008.
"""

from __future__ import annotations

from importlib import import_module
from time import monotonic

import numpy as np

from binwright.agents.solver.model.packing_bound import lower_bound
from binwright.agents.solver.packing import heuristics
from binwright.agents.solver.packing.pack import keeps
from binwright.simcore.errors import BinwrightError
from binwright.simcore.types import Ints

PART = 120
"""Balls of a part, at most."""
SHORTEST = 0.05
"""Seconds below which a part is given up."""


def pack_parts(demand: Ints, capacity: Ints, seconds: float) -> Ints | None:
    """Place balls of demand [balls, d] into equal bins, int64 [balls]; None if one part has no placement in time.

    No two parts share a bin. The balls are cut into parts as equal as can be, in their order; each has an equal share
    of the time that is left. Where Z3 finds nothing in half of its time, it is asked for one bin more, in half of the
    time that is left then.
    """
    until = monotonic() + seconds
    count = -(-len(demand) // PART)
    placed: list[Ints] = []
    used = 0
    for number, part in enumerate(np.array_split(demand, count)):
        most, least = int(heuristics.ffd_prod(part, capacity).max()) + 1, lower_bound(part, capacity)
        end = monotonic() + (until - monotonic()) / (count - number)
        where = None
        while where is None and end - monotonic() > SHORTEST:
            where = place(part, capacity, most, least, (end - monotonic()) / 2)
            most += 1
        if where is None:
            return None
        bins, where = np.unique(where, return_inverse=True)
        placed.append(used + where)
        used += len(bins)
    whole = np.concatenate(placed)
    if not keeps(demand, capacity, whole):
        raise BinwrightError("Z3 answered a placement that breaks the rules: a bug, please report it")
    return whole


def place(demand: Ints, capacity: Ints, bins: int, least: int, seconds: float) -> Ints | None:
    """Place balls into `bins` equal bins, then one fewer, and so on: int64 [balls]; None if it finds none.

    It ends with the last placement when time is up, `least` is reached, or Z3 proves that fewer bins are not enough.
    """
    z3 = import_module("z3")
    until = monotonic() + seconds
    solver = z3.SolverFor("QF_FD")
    chosen = [[z3.Bool(f"b{ball}_{target}") for target in range(bins)] for ball in range(len(demand))]
    for row in chosen:
        if monotonic() >= until:
            return None
        solver.add(z3.PbEq([(choice, 1) for choice in row], 1))
    for target in range(bins):
        for amounts, room in zip(demand.T.tolist(), capacity.tolist(), strict=True):
            if monotonic() >= until:
                return None
            row = [(chosen[ball][target], amount) for ball, amount in enumerate(amounts) if amount]
            if row:
                solver.add(z3.PbLe(row, room))
    where = None
    solver.set("random_seed", 0)
    for count in range(bins, least - 1, -1):
        for row in chosen if count < bins else ():
            solver.add(z3.Not(row[count]))
        left = until - monotonic()
        if left <= 0:
            break
        solver.set("timeout", max(int(1000 * left), 1))
        if solver.check() != z3.sat:
            break
        model = solver.model()
        rows = [[z3.is_true(model[choice]) for choice in row] for row in chosen]
        where = np.array(rows, np.int64).argmax(axis=1)
    return where
