"""CP-SAT: what it calls optimal, or impossible, is so by brute force; it ends in time; all goes on without it."""

from time import monotonic

import numpy as np
import pytest
from hypothesis import given

import binwright as bw
from binwright.agents.solver import load_problem
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.solving import exact
from tests.support.goals import aims, every
from tests.support.properties import first, scaled
from tests.support.solving import nothing_compiled, possible, problem, right
from tests.support.specifications import specifications

pytest.importorskip("ortools")


def never() -> bool:
    return False


@scaled(0.6)
@given(specifications())
def test_impossible_problems_and_found_allocations_are_verified(text: str) -> None:
    try:
        requested = problem(text)
    except SpecError:
        return
    if not exact.suits(requested):
        return
    proof = exact.prove(requested, never)
    if proof.alloc is None:
        assert not proof.impossible or not possible(requested)
    else:
        assert not proof.impossible
        assert right(requested, proof.alloc)


@scaled(0.3)
@given(aims())
def test_optimal_answers_are_the_best_of_all_allocations(case: Problem) -> None:
    values = every(case)
    proof = exact.prove(case, never)
    assert proof.impossible == (not values)
    if proof.alloc is not None:
        best = min(values.values())
        assert proof.bounds == best[: len(proof.bounds)]
        assert values[tuple(proof.alloc)][: len(proof.bounds)] == proof.bounds


@pytest.mark.parametrize(
    ("goal", "best"),
    [
        ("if ALLOC[0] == 1 then 0 else ALLOC[1]", 2),
        ("FREE[ALLOC[0]] * ALLOC[0] * ALLOC[1]", 0),
        ("max(i in 4: ALLOC[i % 3] * (1 - i % 2))", 2),
        ("count(b in 3: (if ALLOC[b] == 0 then NULL else ALLOC[b]) != b - 1)", 3),
        ("count(b in 3: not (ALLOC[b] == 0 or ALLOC[b] == 2))", 3),
        ("if ALLOC[0] == 0 then 0 else " * 20 + "1", 1),
        ("if (if ALLOC[0] < 2 then NULL else 0) == 0 then 2 // (1 + (if ALLOC[0] < 2 then NULL else 0)) else 1", 2),
    ],
)
def test_numbers_and_zeros_stand_beside_what_varies(goal: str, best: int) -> None:
    text = "TABLE FREE = [0, 0, 0] BALLS 3 BINS 3 RESOURCES C[b in BINS] => 3 procedure UTILFN(BALL, BIN, ALLOC) end"
    answer = bw.solve(problem(f"{text} MAXIMISE {goal}"))
    assert (answer.status, answer.goals[0].value, answer.search) == ("optimal", best, "CP-SAT")


@pytest.mark.parametrize(
    ("name", "status", "values"),
    [("access-lists", "optimal", [65]), ("cheapest", "optimal", [9, 0.96875]), ("drain", "optimal", [52])],
)
def test_examples_are_proven(name: str, status: str, values: list[float]) -> None:
    with nothing_compiled():
        answer = bw.solve(load_problem(name), time=60)
    assert (answer.status, [each.value for each in answer.goals], answer.search) == (status, values, "CP-SAT")
    assert not faults(answer.problem, answer.alloc)


def hard(balls: int) -> Problem:
    """Return a problem of a goal that takes CP-SAT long."""
    demand = np.random.default_rng(1).integers(10**5, 10**6, balls)
    text = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] end"
    text += " MINIMISE max(b in BINS: UTIL.C[b]) - min(b in BINS: UTIL.C[b])"
    return problem(text, balls=balls, bins=8, resources={"C[b in BINS]": 10**8}, tables={"D": demand})


def test_a_proof_ends_in_time() -> None:
    began = monotonic()
    exact.prove(hard(60), lambda: monotonic() > began + 0.5)
    assert monotonic() - began < 5


def test_largest_sums_are_exact() -> None:
    """Of 900 balls of nearly the largest quantity only one fits, and not if a millionth is missing."""
    demand = [999_999_999 + ball / 10**6 for ball in range(900)]
    for room, fits in ((999_999_999, True), (999_999_998.999999, False)):
        text = "procedure UTILFN(BALL, BIN, ALLOC) if BIN == 0 UTIL.C += D[BALL] end if BIN > 0 UTIL.N += 1 end end"
        sizes = {"C": room, "N": 899}
        requested = problem(text, balls=900, bins=2, resources=sizes, tables={"D": demand})
        assert exact.prove(requested, never).impossible is not fits


@pytest.mark.parametrize("name", first(1, ["drain", "access-lists"]))
def test_without_or_tools_the_answer_says_that_fewer_proofs_are_looked_for(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "installed", lambda: False)
    answer = bw.solve(load_problem(name), time=2)
    assert answer.placed == answer.problem.balls
    assert answer.status == "solved"
    assert any("without OR-Tools" in note for note in answer.notes)
