"""Ask Z3 (de Moura and Bjorner, "Z3: an efficient SMT solver", TACAS 2008)."""

from __future__ import annotations

from time import monotonic

import numpy as np

from binwright.agents.solver.packing.rivals import LARGEST, Places, Tell, module
from binwright.simcore.types import Ints


def improve(demand: Ints, places: Places, bound: int, seconds: float, seed: int, tell: Tell) -> tuple[Ints | None, int]:
    """Return a placement into equal bins, None if none was found in time, and a lower bound.

    Z3 takes no hint: it is asked for as many bins as the known placement has, then for one fewer, and so on, until
    time is up, the bound is reached, or it proves that there is no such placement.
    """
    z3 = module("z3", "z3")
    until = monotonic() + seconds
    balls, bins = len(demand), len(places.price)
    if balls * bins > LARGEST:
        return None, bound
    solver = z3.SolverFor("QF_FD")
    chosen = [[z3.Bool(f"b{ball}_{target}") for target in range(bins)] for ball in range(balls)]
    for row in chosen:
        if monotonic() >= until:
            return None, bound
        solver.add(z3.PbEq([(choice, 1) for choice in row], 1))
    for target in range(bins):
        for amounts, room in zip(demand.T.tolist(), places.capacity[target].tolist(), strict=True):
            if monotonic() >= until:
                return None, bound
            row = [(chosen[ball][target], amount) for ball, amount in enumerate(amounts) if amount]
            if row:
                solver.add(z3.PbLe(row, room))
    where = None
    solver.set("random_seed", seed % 2**31)
    for count in range(bins, bound - 1, -1):
        for row in chosen if count < bins else ():
            solver.add(z3.Not(row[count]))
        left = until - monotonic()
        if left <= 0:
            break
        solver.set("timeout", max(int(1000 * left), 1))
        answer = solver.check()
        if answer == z3.unsat:
            return where, count + 1
        if answer != z3.sat:
            break
        model = solver.model()
        rows = [[z3.is_true(model[choice]) for choice in row] for row in chosen]
        where = np.array(rows, np.int64).argmax(axis=1)
        tell(len(np.unique(where)))
    return where, bound
