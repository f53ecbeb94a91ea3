"""Small problems with goals, and what all their allocations come to."""

from collections.abc import Sequence
from itertools import product

from hypothesis import strategies as st

from binwright.agents.solver import problem
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import faults
from tests.reference.goals import goals_from_text

TERMS = [
    "sum(s in BINS: if UTIL.C[s] > 0 then PRICE[s] else 0)",
    "max(s in BINS: UTIL.C[s] / (s + 1)) - min(s in BINS: UTIL.C[s])",
    "count(b in BALLS: ALLOC[b] == b % BINS)",
    "sum(b in BALLS: D[b] * ALLOC[b])",
    "sum(s in BINS: UTIL.C[s] * UTIL.C[s])",
    "sum(z in 2: abs(UTIL.Z[0, z] - UTIL.Z[1, z]))",
    "if ALLOC[0] == ALLOC[1] and UTIL.Z[0, 0] <= 1.5 then -2 else min(UTIL.C[0], 1)",
    "sum(b in 1 .. BALLS except 2: PRICE[ALLOC[b]] // 2 + ALLOC[b] % 2)",
    "max(a in 2: max(z in 2: UTIL.Z[a, z])) + 0.25",
    "min(s in BINS: max(UTIL.C[s], UTIL.C[(s + 1) % BINS]))",
    "max(s in BINS: sum(b in BALLS: if ALLOC[b] == s and UTIL.Z[0, b % 2] > 0 then D[b] else 0))",
    "count(b in 1 .. BALLS: ALLOC[b] == ALLOC[b - 1]) * MOVES",
    "UTIL.C[ALLOC[0]] + max(b in BALLS: UTIL.C[ALLOC[b]])",
    "sum(s in count(b in BALLS: ALLOC[b] == 0): UTIL.C[s % BINS])",
    "sum(s in BINS: sum(k in D[s]: UTIL.C[s] - k)) - max(b in BALLS: D[b])",
    "if ALLOC[0] == 1 then 0 else ALLOC[1]",  # one branch is where the other begins
]


@st.composite
def aims(draw: st.DrawFn) -> Problem:
    """Draw small problems with two goals."""
    balls, bins = draw(st.integers(3, 4)), draw(st.integers(2, 3))
    demand = draw(st.lists(st.integers(0, 3), min_size=balls, max_size=balls))
    price = draw(st.lists(st.integers(0, 4), min_size=bins, max_size=bins))
    home = draw(st.lists(st.integers(-1, bins - 1), min_size=balls, max_size=balls))
    lines = [f"TABLE D = {demand} TABLE PRICE = {price} TABLE HOME = {home} BALLS {balls} BINS {bins}"]
    lines.append(f"NOW HOME MOVES {draw(st.integers(1, balls))}")
    lines.append(f"RESOURCES C[b in BINS] => {draw(st.integers(3, 9))}, Z[a in 2, z in 2] => {draw(st.integers(1, 5))}")
    lines += draw(st.lists(st.sampled_from(["FOES 0, 1", "FRIENDS 1, 2", "PIN 0 TO 1"]), max_size=1))
    lines.append("procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] UTIL.Z[BALL % 2, BIN % 2] += 1 end")
    weights = st.lists(st.sampled_from([0, 0, 0, 1, -1, 2]), min_size=len(TERMS), max_size=len(TERMS))
    lines.insert(0, f"TABLE W = {draw(weights)}")  # which terms count is in a table: compiled once
    for start, aim in enumerate(("MINIMISE", "MAXIMISE")):
        lines.append(f"{aim} {' + '.join(f'W[{k}] * ({TERMS[k]})' for k in range(start, len(TERMS), 2))}")
    return problem(" ".join(lines))


def every(inputs: Problem) -> dict[tuple[int, ...], tuple[int, ...]]:
    """All right allocations of all balls, and what they come to, so that less is better."""
    bin_of = {}
    for alloc in product(range(inputs.bins), repeat=inputs.balls):
        if not faults(inputs, alloc):
            bin_of[alloc] = said(inputs, alloc)
    return bin_of


def said(inputs: Problem, alloc: Sequence[int]) -> tuple[int, ...]:
    """What the text says that goals come to, so that less is better."""
    assert inputs.objective is not None
    values = zip(inputs.objective.goals, goals_from_text(inputs, alloc), strict=True)
    return tuple(-raw if goal.aim == "MAXIMISE" else raw for goal, raw in values)
