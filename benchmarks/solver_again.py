"""`python -m benchmarks.solver_again [--instances N] [--seconds S]`: solving again after a small change.

An allocation is searched for anew; then 1 % of the balls (two at least) exchange what they need, and the changed
problem is solved twice: anew, and from where the balls are. Prints, in Markdown, the medians of the seconds that it
took, the ratio of their sums, and how many balls moved. `vector` is 10,000 balls on 1,000 equal bins, 2 % of them free.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

import numpy as np

import binwright as bw
from agents.solver import changed, problem
from agents.solver.model.problem import Problem
from agents.solver.specification.spec import Spec
from benchmarks.solver_forms import foes, hours, pods
from simcore.cores import usable_threads

VECTOR = """
BALLS len(NEEDS)
RESOURCES CPU[s in BINS] => 1000, MEMORY[s in BINS] => 1000
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.CPU[BIN] += NEEDS[BALL, 0]
    UTIL.MEMORY[BIN] += NEEDS[BALL, 1]
end"""


def vector(seed: int, bins: int = 1000, each: int = 10, slack: float = 0.02) -> Problem:
    """Draw balls of two resources that fill bins but for the slack."""
    rng = np.random.default_rng(seed)
    needs = rng.dirichlet(np.full(each, 2.0), size=(bins, 2)).transpose(0, 2, 1).reshape(-1, 2)
    table = rng.permutation(np.floor(needs * 1000 * (1 - slack)).astype(int))
    return problem(f"BINS {bins} {VECTOR}", tables={"NEEDS": table})


FORMS: dict[str, Callable[[int], Problem]] = {
    "vector": vector,
    "pods": lambda seed: pods(seed, nodes=120, slack=0.03).problem,
    "foes": lambda seed: foes(seed, nodes=60).problem,
    "hours": lambda seed: hours(seed, servers=60).problem,
}


def exchanged(given: Problem, seed: int) -> Problem:
    """Let 1 % of the balls exchange what they need."""
    source = given.source
    assert isinstance(source, Spec)
    needs = source.given.tables["NEEDS"].values.reshape(given.balls, -1).copy()
    some = np.random.default_rng(seed).choice(given.balls, max(2, given.balls // 100), replace=False)
    needs[some] = needs[np.roll(some, 1)]
    return source.extended("", {"NEEDS": needs}).problem()


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--instances", type=int, default=5)
    asked.add_argument("--seconds", type=float, default=30.0)
    given = asked.parse_args(argv)
    print(f"Load when it began: {os.getloadavg()[0]:.1f} on {usable_threads()} cores.\n")
    print("| form | balls, bins | solved | anew, s | from where things are, s | times as fast | balls that move |")
    print("| --- " * 7 + "|")
    for name, form in FORMS.items():
        anew, again, moved, solved, size = [], [], [], 0, ""
        for seed in range(given.instances + 1):
            first = bw.solve(form(seed), time=given.seconds)
            later = exchanged(first.problem, seed)
            here = changed(later, first.alloc)
            one, other = (bw.solve(each, seed=1, time=given.seconds) for each in (later, here))
            if seed == 0:
                continue  # compiled now
            size = f"{later.balls:,}, {later.bins:,}"
            anew.append(one.seconds)
            again.append(other.seconds)
            moved.append(len(other.moves))
            solved += other.placed == later.balls
        times = f"{np.median(anew):.3g} | {np.median(again):.3g} | {sum(anew) / sum(again):.1f}"
        print(f"| {name} | {size} | {solved} of {len(anew)} | {times} | {np.median(moved):.0f} |", flush=True)


if __name__ == "__main__":
    main()
