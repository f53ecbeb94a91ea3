"""The reference back end and the verifier, which know nothing of each other's way to evaluate UTILFN."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver import examples, load_problem
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL, qdiv, qmul
from binwright.agents.solver.model.verify import faults, utilisation
from binwright.agents.solver.solving.solve import solve
from binwright.simcore.errors import UserError
from tests.reference.attempts import attempt
from tests.reference.columns import from_text
from tests.reference.interpreter import call
from tests.reference.utilisation import evaluate
from tests.support.properties import first, scaled
from tests.support.solving import problem
from tests.support.specifications import BALLS, BINS, specifications

VECTOR = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] end"


@scaled(1.2)
@given(specifications(), st.lists(st.integers(NULL, BINS - 1), min_size=BALLS, max_size=BALLS))
def test_program_and_text_agree_and_proofs_hold(text: str, alloc: list[int]) -> None:
    try:
        result = problem(text)
    except SpecError:
        return
    assert evaluate(result, alloc) == from_text(result, alloc) == utilisation(result, alloc)
    proven = result.program
    for ball in range(BALLS):
        added = call(result.program, ball, 1, alloc)
        if added is None:
            continue
        assert len(added) <= proven.adds
        assert not proven.non_negative or all(amount >= 0 for _, amount in added)
        assert not proven.bin_local or all(result.owner[dim] == 1 for dim, _ in added)
        assert not proven.alloc_free or call(result.program, ball, 1, []) == added


@scaled(0.4)
@given(specifications(), st.integers(0, 2**40), st.integers(0, 5))
def test_reference_attempts_repeat_and_keep_the_rules(text: str, seed: int, number: int) -> None:
    try:
        result = problem(text)
    except SpecError:
        return
    alloc, left = attempt(result, seed, number % len(result.groupings), number)
    assert (alloc, left) == attempt(result, seed, number % len(result.groupings), number)
    assert (left == 0) == (NULL not in alloc)
    if result.program.alloc_free:
        assert not faults(result, alloc)


@given(st.integers(-(10**15), 10**15), st.integers(-(10**15), 10**15))
def test_fixed_point_operations_are_exact_floors(a: int, b: int) -> None:
    assert qmul(a, b) == a * b // MICRO
    if b:
        assert qdiv(a, b) == a * MICRO // b


LOADED = {name: load_problem(name) for name in examples()}
SOLVED = [name for name, found in LOADED.items() if not found.searched and found.objective is None]


@pytest.mark.parametrize("name", first(4, SOLVED))
def test_examples_are_solved(name: str) -> None:
    answer = solve(load_problem(name), time=30)
    assert answer.status == "optimal"
    assert not faults(answer.problem, answer.alloc)


def test_verifier_finds_every_fault() -> None:
    result = problem(
        """TABLE D = [1, 2, 3, 1] BALLS 4 BINS 3 RESOURCES C[s in BINS] => 4, H[h in 2] => 1 PIN 3 TO 2
        FRIENDS 0, 1 FOES 0, 2 SOFT H SHARE 0.5 OVER 1
        procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] UTIL.H[0] += 0.4 UTIL.H[1] += 0.2
        if BALL == 3 and BIN == 0 REJECT end end"""
    )
    assert faults(result, [0, 0, 1, 2]) == []
    cases = {
        (0, 0, 1): "3 places for 4 balls",
        (0, 0, 3, 2): "ball 2 is in bin 3",
        (0, 0, 1, 1): "it is pinned to bin 2",
        (0, 1, 2, 2): "friends 0, 1 are in different bins",
        (0, 0, 0, 2): "foes 0, 2 together in bin 0",
        (0, 0, 1, 0): "UTILFN rejects ball 3 in bin 0",
        (1, 1, 1, 2): "C[1]: 6 of 4",
    }
    for alloc, message in cases.items():
        assert any(message in fault for fault in faults(result, alloc)), message


def test_order_dependence_is_refused() -> None:
    text = """BALLS 2 BINS 2 RESOURCES C[s in BINS] => 1
        procedure UTILFN(BALL, BIN, ALLOC) if BALL == 1 and ALLOC[0] != NULL REJECT end UTIL.C[BIN] += 1 end"""
    with pytest.raises(UserError, match="depends on the order"):
        solve(problem(text), attempts=64)


def test_unsolved_and_partial_answers() -> None:
    def found(demand: list[int], bins: int | str) -> Problem:
        return problem(VECTOR, balls=len(demand), bins=bins, resources={"C[s in BINS]": 2}, tables={"D": demand})

    assert solve(found([3], 2), attempts=4).status == "unsolved"
    answer = solve(found([1, 3], "?"), attempts=4)
    assert (answer.status, answer.placed) == ("partial", 1)
    assert solve(found([1, 1, 1], 2)).status == "optimal"
    with pytest.raises(UserError, match="unknown device"):
        solve(found([1], 1), device="abacus")


def test_groupings() -> None:
    result = problem(VECTOR, balls=1, bins=5, resources={"C[s in BINS]": 2}, tables={"D": [1]})
    assert [[members for members, _ in grouping] for grouping in result.groupings] == [
        [[0, 1, 2, 3, 4]],
        [[0, 1, 2, 3], [4]],
        [[0, 1], [2, 3], [4]],
        [[0], [1], [2], [3], [4]],
    ]
    few = problem(VECTOR, balls=5, bins="?", resources={"C[s in BINS]": 2}, tables={"D": [1] * 5}).with_bins(3)
    assert [len(grouping) for grouping in few.groupings] == [3, 2, 1]
    declared = problem("BALLS 1 BINS 5 RESOURCES C[s in BINS] => 1 GROUPS 3, 1 GROUPS 4 " + VECTOR, tables={"D": [1]})
    assert [[members for members, _ in grouping] for grouping in declared.groupings] == [[[3, 1], [4], [0], [2]]]


def test_published_attempts_spread_balls_where_the_number_of_bins_is_given() -> None:
    result = problem(VECTOR, balls=8, bins=8, resources={"C[s in BINS]": 8}, tables={"D": [1] * 8})
    for seed in range(5):
        assert len(set(solve(result, search="published", seed=seed, attempts=16).alloc)) >= 3


@pytest.mark.parametrize("search", ["ours", "published"])
def test_balls_share_a_bin_where_the_number_of_bins_is_searched(search: str) -> None:
    alike = problem(VECTOR, balls=8, bins="?", resources={"C[s in BINS]": 8}, tables={"D": [1] * 8})
    assert solve(alike, search=search, attempts=16).bins == 1


def test_every_allocation_is_reached() -> None:
    result = problem(VECTOR, balls=3, bins=4, resources={"C[s in BINS]": 3}, tables={"D": [1] * 3})
    assert {tuple(attempt(result, 1, 0, number)[0]) for number in range(1200)} == set(product(range(4), repeat=3))
