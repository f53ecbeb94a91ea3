"""`python -m benchmarks.solver_again [--instances N] [--seconds S] [--page]`: solving again after a small change.

An allocation is searched for; then 1 % of the balls (two at least) exchange what they need, and the changed problem is
solved twice: anew, and from where the balls are. Prints, in Markdown, medians, ratios, and how many balls moved; with
`--page` into docs/experiments/solver-again.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import binwright as bw
from agents.solver import changed, problem
from agents.solver.model.problem import Problem
from agents.solver.specification.spec import Spec
from benchmarks.solver_forms import foes, hours, pods
from simcore.cores import usable_threads

PAGE = Path(__file__).parents[1] / "docs/experiments/solver-again.md"
TEXT = """# Solving again after a small change

How much faster is it to go on from where things are than to begin anew? `python -m benchmarks.solver_again --page`
measured it and wrote this page, on {cores} cores, load {load:.1f} when it began. An allocation is searched for; then
1 % of the balls (two at least) exchange what they need, and the changed problem is solved anew and
[from where the balls are](../guides/solver.md#from-where-things-are). Medians of {count} instances, in seconds, from
the problem to a verified answer; the ratio is that of the sums, and in brackets the least and the most of an instance.
`vector` has two resources and equal bins, 2 % of them free; the others have constraints that couple bins. Each form is
there in two sizes: what is the same for both, reading the problem and verifying the answer, weighs less in the larger
one, and to begin anew takes longer the more there is to place.

| form | balls, bins | solved | anew | from where things are | times as fast | balls that move |
| --- | --- | --- | --- | --- | --- | --- |
"""

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


FORMS: dict[str, Callable[[int, int], Problem]] = {
    "vector": lambda seed, times: vector(seed, bins=1000 * times),
    "pods": lambda seed, times: pods(seed, nodes=120 * times, slack=0.03).problem,
    "foes": lambda seed, times: foes(seed, nodes=60 * times).problem,
    "hours": lambda seed, times: hours(seed, servers=60 * times).problem,
}
SIZES = 1, 5
"""How many times as many bins as the smallest problem of a form has."""


def exchanged(given: Problem, seed: int) -> Problem:
    """Let 1 % of the balls exchange what they need."""
    source = given.source
    assert isinstance(source, Spec)
    needs = source.given.tables["NEEDS"].values.reshape(given.balls, -1).copy()
    some = np.random.default_rng(seed).choice(given.balls, max(2, given.balls // 100), replace=False)
    needs[some] = needs[np.roll(some, 1)]
    return source.extended("", {"NEEDS": needs}).problem()


def measured(name: str, times: int, instances: int, seconds: float) -> str:
    """Solve some instances of a form and size again, and return their row of the table."""
    anew, again, moved, solved, size = list[float](), list[float](), list[int](), 0, ""
    for seed in range(instances + 1):
        first = bw.solve(FORMS[name](seed, times), time=seconds)
        later = exchanged(first.problem, seed)
        here = changed(later, first.alloc)
        one, other = (bw.solve(each, seed=1, time=seconds) for each in (later, here))
        if seed == 0:
            continue  # compiled now
        size = f"{later.balls:,}, {later.bins:,}"
        anew.append(one.seconds)
        again.append(other.seconds)
        moved.append(len(other.moves))
        solved += other.placed == later.balls
    each = np.array(anew) / again
    ratio = f"{sum(anew) / sum(again):.1f} ({each.min():.1f} to {each.max():.1f})"
    took = f"{np.median(anew):.3f} | {np.median(again):.3f} | {ratio}"
    return f"| {name} | {size} | {solved} of {len(anew)} | {took} | {np.median(moved):,.0f} |"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table, or write the page."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--instances", type=int, default=5)
    asked.add_argument("--seconds", type=float, default=30.0)
    asked.add_argument("--page", action="store_true")
    given = asked.parse_args(argv)
    head = TEXT.format(count=given.instances, cores=usable_threads(), load=os.getloadavg()[0])
    rows = [measured(name, times, given.instances, given.seconds) for name in FORMS for times in SIZES]
    table = "\n".join(rows)
    if given.page:
        PAGE.write_text(f"{head}{table}\n", encoding="utf-8")
    else:
        print(f"{head}{table}")


if __name__ == "__main__":
    main()
