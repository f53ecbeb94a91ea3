"""`python -m benchmarks.solver_quality [--page] [--balls N ...] [--families NAME ...]`: coupled problems beside rivals.

Five families: jobs whose workers share bandwidth, objects to rebalance, pods spread over zones, replicas kept apart,
and VLANs of which a switch carries few. Prints, in Markdown, what a plain greedy, a plain local search, CP-SAT, HiGHS
and `binwright solve` come to; with `--page` it goes into the documentation.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from datetime import date
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from benchmarks.solver_families import FAMILIES
from benchmarks.solver_instance import Instance
from binwright.agents.solver.solving.answer import Progress
from binwright.agents.solver.solving.solve import solve

PAGE = Path(__file__).parents[1] / "docs/experiments/solver-quality.md"
START, END = "<!-- coupled -->\n", "<!-- /coupled -->\n"
SECONDS = {200: 5.0, 2_000: 10.0, 20_000: 30.0}
"""For each solver, by balls."""
MOST_VARIABLES = 1_000_000
"""Of a linear model: larger ones are not read in the time."""


def cp_sat(given: Instance, seconds: float) -> float | None:
    """Return what CP-SAT comes to with two workers; None without an answer."""
    model_builder: Any = import_module("ortools.linear_solver.python.model_builder")
    linear, model, solver = given.linear(), model_builder.Model(), model_builder.Solver("sat")
    low = np.full(len(linear.high), -np.inf)
    zero = np.zeros(len(linear.worth))
    model.helper.fill_model_from_sparse_data(
        zero, linear.most, linear.worth, low, linear.high, sparse.csr_matrix(linear.rows)
    )
    for number in range(len(zero)):
        model.helper.set_var_integrality(number, True)
    model.helper.set_maximize(True)
    solver.set_time_limit_in_seconds(seconds)
    solver.set_solver_specific_parameters("num_workers:2")
    found = solver.solve(model)
    known = found in (model_builder.SolveStatus.OPTIMAL, model_builder.SolveStatus.FEASIBLE)
    return float(solver.objective_value) if known else None


def highs(given: Instance, seconds: float) -> float | None:
    """Return what HiGHS comes to; None without an answer."""
    linear = given.linear()
    bounds, rows = Bounds(0, linear.most), LinearConstraint(linear.rows, -np.inf, linear.high)
    found = milp(-linear.worth, integrality=1, bounds=bounds, constraints=rows, options={"time_limit": seconds})
    return None if found.x is None else -float(found.fun)


def row(name: str, balls: int, seed: int, seconds: float) -> list[Any]:
    """Measure an instance: what each rival comes to, ours, and when ours and greedy had a first complete answer."""
    given = FAMILIES[name](balls, seed)
    began = perf_counter()
    plain = given.value(given.greedy(np.argsort(-given.sizes, kind="stable")))
    took = perf_counter() - began
    local = given.value(given.local_search(seconds, seed))
    small = given.variables <= MOST_VARIABLES
    exact = [rival(given, seconds) if small else "not tried" for rival in (cp_sat, highs)]
    made, complete = given.problem(), list[float]()

    def look(how: Progress) -> None:
        if how.placed == made.balls:
            complete.append(how.seconds)

    answer = solve(made, time=seconds, progress=look)
    first = min([*complete, answer.seconds]) if answer.placed == made.balls else None
    ours = given.value(np.array(answer.alloc))
    return [
        name,
        balls,
        seed,
        plain,
        took,
        local,
        *(round(one) if isinstance(one, float) else one or "none" for one in exact),
        ours,
        first,
    ]


def verdicts(rows: list[list[Any]]) -> str:
    """Count against each rival where ours is ahead, level and behind."""
    lines = ["| against | wins | ties | losses |", "|---|---|---|---|"]
    for rival, at in (("greedy", 3), ("local search", 5), ("CP-SAT", 6), ("HiGHS", 7)):
        tried = [(one[8], -np.inf if one[at] == "none" else one[at]) for one in rows if one[at] != "not tried"]
        how = Counter("wins" if ours > other else "ties" if ours == other else "losses" for ours, other in tried)
        lines.append(f"| {rival} | {how['wins']} | {how['ties']} | {how['losses']} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables, and write them into the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--balls", type=int, nargs="+", default=list(SECONDS), choices=SECONDS)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args()
    head = "family", "balls", "greedy", "local search", "CP-SAT", "HiGHS", "ours", "complete after s"
    lines, rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"], list[list[Any]]()
    load = os.getloadavg()[0]
    for name in asked.families:
        solve(FAMILIES[name](200, 99).problem(), time=30)  # compiled
        for balls in asked.balls:
            for seed in range(asked.seeds):
                rows.append(row(name, balls, seed, SECONDS[balls]))
                shown = [one for at, one in enumerate(rows[-1]) if at not in (2, 4)]  # without seed and time of greedy
                cells = ("" if one is None else f"{one:.2g}" if isinstance(one, float) else f"{one}" for one in shown)
                lines.append(f"| {' | '.join(cells)} |")
                print(lines[-1], flush=True)
    where = f"{len(os.sched_getaffinity(0))} cores at load {load:.1f}"
    said = f"Measured on {date.today()} on {where}, instances of each: {asked.seeds}."
    text = "\n".join([said, "", verdicts(rows), "", *lines, ""])
    print(text)
    if asked.page:
        before, _, rest = PAGE.read_text("utf-8").partition(START)
        PAGE.write_text(before + START + text + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
