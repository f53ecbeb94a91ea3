"""`python -m benchmarks.solver_rebalancing [--seconds S] [--seeds N] [--objects N ...]`: make load even in few moves.

Objects with four resources lie unevenly in bins, and only some of them may move, one for each twenty. The goal is what
exceeds the mean load by more than 5 %, summed over bins and resources, or the load of the fullest bin. Prints, in
Markdown, what these come to at first, after a plain local search in numpy, after CP-SAT with a hint, which has two
workers and besides the time that making its model takes, and after `binwright solve`; then our mean beside the rivals'.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import binwright as bw
from agents.solver import problem
from agents.solver.model.problem import Problem
from analysis.compare.statistics import mean_interval
from simcore.types import Ints

RESOURCES = 4
LARGEST = 1_000_000
"""Booleans of a model of CP-SAT, at most."""
GOALS = {
    "excess": "sum(b in BINS: sum(r in len(LIMIT): max(0, UTIL.LOAD[b, r] - LIMIT[r])))",
    "fullest": "max(b in BINS: max(r in len(LIMIT): UTIL.LOAD[b, r]))",
}
TEXT = """
BALLS len(NEED) BINS {bins}
RESOURCES LOAD[b in BINS, r in len(LIMIT)] => {capacity}
NOW HOME
MOVES {moves}
MINIMISE {goal}
procedure UTILFN(BALL, BIN, ALLOC)
    for r in len(LIMIT)
        UTIL.LOAD[BIN, r] += NEED[BALL, r]
    end
end
"""


@dataclass(frozen=True)
class Cluster:
    """Objects in bins."""

    need: Ints
    """[objects, RESOURCES]"""
    home: Ints
    """[objects]"""
    bins: int
    moves: int
    """How many objects may move."""

    @classmethod
    def drawn(cls, objects: int, seed: int) -> Cluster:
        """Draw objects, twenty for each bin: some bins get several times as many as others."""
        rng = np.random.default_rng(seed)
        bins = objects // 20
        need = np.maximum(1, rng.lognormal(4.2, 0.9, (objects, RESOURCES))).astype(np.int64)
        home = rng.choice(bins, objects, p=rng.dirichlet(np.full(bins, 8.0)))
        return cls(need, home, bins, objects // 20)

    @property
    def limit(self) -> Ints:
        """Return what a bin may have of each resource before it counts as excess: the mean and 5 %."""
        return np.asarray(self.need.sum(0) * 105 // (100 * self.bins))

    def problem(self, goal: str) -> Problem:
        """State it in the language."""
        text = TEXT.format(bins=self.bins, capacity=2 * self.load(self.home).max(), moves=self.moves, goal=GOALS[goal])
        return problem(text, tables={"NEED": self.need, "HOME": self.home, "LIMIT": self.limit})

    def load(self, where: Ints) -> Ints:
        """Sum up what is in each bin: [bins, RESOURCES]."""
        load = np.zeros((self.bins, RESOURCES), np.int64)
        np.add.at(load, where, self.need)
        return load

    def value(self, goal: str, where: Ints) -> int:
        """Evaluate a goal for an allocation [objects], which must keep the limit on moves."""
        assert (where != self.home).sum() <= self.moves
        return int(self.parts(goal, self.load(where)).sum() if goal == "excess" else self.load(where).max())

    def parts(self, goal: str, load: Ints) -> NDArray[Any]:
        """Return what each bin, of load [..., RESOURCES], counts: its excess, or a steep function of how full it is."""
        if goal == "excess":
            return np.asarray(np.maximum(0, load - self.limit).sum(-1))
        return np.asarray(((load / self.limit.mean()) ** 16).sum(-1))

    def local_search(self, goal: str, seconds: float, seed: int) -> Ints:
        """Improve by plain local search: of all moves of an object from a bad bin take the best, or bring one home.

        Where no move is better, or all are used, a moved object goes home by chance, and others move instead.
        """
        rng, until = np.random.default_rng(seed), perf_counter() + seconds
        where, load = self.home.copy(), self.load(self.home)
        best, least = where.copy(), self.value(goal, where)
        while perf_counter() < until:
            part = self.parts(goal, load)
            away = np.flatnonzero(where != self.home)
            better = False
            if len(away) < self.moves:
                bad = rng.choice(self.bins, p=part / part.sum()) if part.sum() else 0
                inside = np.flatnonzero(where == bad)
                gain = part[bad] - self.parts(goal, load[bad] - self.need[inside])
                cost = self.parts(goal, load + self.need[inside][:, None]) - part
                cost[:, bad] = gain
                one, there = divmod(int((cost - gain[:, None]).argmin()), self.bins)
                better = cost[one, there] < gain[one]
                if better:
                    self.move(where, load, int(inside[one]), there)
            if not better and len(away):
                for ball in rng.choice(away, min(len(away), 3), replace=False).tolist():
                    self.move(where, load, ball, int(self.home[ball]))
            if self.value(goal, where) < least:
                best, least = where.copy(), self.value(goal, where)
        return best

    def cp_sat(self, goal: str, seconds: float) -> Ints | None:
        """Improve by CP-SAT, which is told where the objects are; None where its model would be too large."""
        from ortools.sat.python import cp_model

        objects, bins = len(self.home), range(self.bins)
        if objects * self.bins > LARGEST:
            return None
        model: Any = cp_model.CpModel()
        is_in = [[model.new_bool_var("") for _ in bins] for _ in range(objects)]
        for one, home in zip(is_in, self.home.tolist(), strict=True):
            model.add_exactly_one(one)
            for b in bins:
                model.add_hint(one[b], b == home)
        model.add(sum(one[home] for one, home in zip(is_in, self.home.tolist(), strict=True)) >= objects - self.moves)
        most = int(self.need.sum())
        parts = [[model.new_int_var(0, most, "") for _ in range(RESOURCES)] for _ in bins]
        for r in range(RESOURCES):
            need, limit = self.need[:, r].tolist(), int(self.limit[r]) if goal == "excess" else 0
            for b in bins:
                load = cp_model.LinearExpr.weighted_sum([one[b] for one in is_in], need)
                model.add(load <= parts[b][r] + limit)
        values = [part for row in parts for part in row]
        if goal == "excess":
            model.minimize(sum(values))
        else:
            largest = model.new_int_var(0, most, "")
            model.add_max_equality(largest, values)
            model.minimize(largest)
        solver: Any = cp_model.CpSolver()
        solver.parameters.num_workers, solver.parameters.max_time_in_seconds = 2, seconds
        if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return self.home
        found = [[solver.boolean_value(var) for var in one] for one in is_in]
        return np.asarray(np.argmax(found, axis=1))

    def move(self, where: Ints, load: Ints, one: int, there: int) -> None:
        """Move an object."""
        load[where[one]] -= self.need[one]
        load[there] += self.need[one]
        where[one] = there


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--objects", type=int, nargs="+", default=[2000])
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}\n")
    print("| objects | goal | seed | at first | local search | CP-SAT | ours | checked |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    ratios: dict[str, list[list[float]]] = {}
    for objects in given.objects:
        for goal in GOALS:
            bw.solve(Cluster.drawn(200, 0).problem(goal), attempts=1)  # compiled
            for seed in range(given.seeds):
                cluster = Cluster.drawn(objects, seed)
                plain = cluster.value(goal, cluster.local_search(goal, given.seconds, seed))
                found = cluster.cp_sat(goal, given.seconds)
                exact = None if found is None else cluster.value(goal, found)
                answer = bw.solve(cluster.problem(goal), time=given.seconds)
                ours = cluster.value(goal, np.array(answer.alloc))
                row = objects, goal, seed, cluster.value(goal, cluster.home), plain, exact or "", ours, answer.checked
                print("|", *(f"{one} |" for one in row), flush=True)
                ratio = [ours / plain, ours / exact if exact else np.nan]
                ratios.setdefault(f"{objects} objects, {goal}", []).append(ratio)
    for name, each in ratios.items():
        for rival, beside in zip(("local search", "CP-SAT"), np.transpose(each), strict=True):
            if not np.isnan(beside).any():
                middle, half = mean_interval(100 * (beside - 1))
                print(f"\n{name}: ours is {middle:+.1f} ± {half:.1f} % beside {rival}")


if __name__ == "__main__":
    main()
