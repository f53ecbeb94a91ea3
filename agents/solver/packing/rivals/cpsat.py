"""Ask CP-SAT of Google's OR-Tools (Perron and Didier, https://developers.google.com/optimization/cp/cp_solver)."""

from __future__ import annotations

from time import monotonic

import numpy as np

from binwright.agents.solver.packing.rivals import LARGEST, Places, Tell, module
from binwright.simcore.cores import usable_threads
from binwright.simcore.types import Ints

PRESOLVED = 20_000
"""Choices up to which the model is simplified first: beyond, that takes a minute and no search begins."""


def improve(demand: Ints, places: Places, bound: int, seconds: float, seed: int, tell: Tell) -> tuple[Ints | None, int]:
    """Return a placement, None if none was found in time, and a lower bound; the known placement is given as a hint.

    The model has a Boolean for each ball and bin, and one for each bin: is it used? Of each kind, the bins that are
    used come first.
    """
    python = module("ortools.sat.python.cp_model", "cp-sat")
    began = monotonic()
    balls, bins = len(demand), len(places.price)
    if balls * bins > LARGEST:
        return None, bound
    model = python.CpModel()
    used = [model.new_bool_var("") for _ in range(bins)]
    chosen = [[model.new_bool_var("") for _ in range(bins)] for _ in range(balls)]
    for ball in range(balls):
        model.add_exactly_one(chosen[ball])
        for target in range(bins):
            if places.known is not None:
                model.add_hint(chosen[ball][target], int(places.known[ball] == target))
    for target in range(bins):
        if places.known is not None:
            model.add_hint(used[target], int((places.known == target).any()))
        column = [chosen[ball][target] for ball in range(balls)]
        for amounts, room in zip(demand.T.tolist(), places.capacity[target].tolist(), strict=True):
            model.add(python.LinearExpr.weighted_sum(column, amounts) <= room * used[target])
        if target and places.kind[target] == places.kind[target - 1]:
            model.add_implication(used[target], used[target - 1])
    cost = python.LinearExpr.weighted_sum(used, places.price.tolist())
    model.add(cost >= bound)
    model.minimize(cost)
    solver = python.CpSolver()
    solver.parameters.max_time_in_seconds = max(began + seconds - monotonic(), 0.01)
    solver.parameters.num_workers = usable_threads()
    solver.parameters.random_seed = seed % 2**31
    solver.parameters.cp_model_presolve = balls * bins <= PRESOLVED

    class OnSolution(python.CpSolverSolutionCallback):  # type: ignore[misc, name-defined]  # the module is an Any
        def on_solution_callback(self) -> None:
            tell(round(self.objective_value))

    status = solver.solve(model, OnSolution())
    if status not in (python.OPTIMAL, python.FEASIBLE):
        return None, bound
    where = np.array([[solver.value(choice) for choice in row] for row in chosen], np.int64).argmax(axis=1)
    return where, max(bound, round(solver.best_objective_bound))
