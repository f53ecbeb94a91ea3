"""NULL equals NULL and nothing else, on every device and for the verifier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from agents.solver import problem
from agents.solver.language.errors import SpecError
from agents.solver.model.problem import Problem
from agents.solver.model.program import NULL
from agents.solver.model.verify import utilisation
from tests.reference.interpreter import call
from tests.reference.utilisation import evaluate
from tests.support.opencl import opencl_device
from tests.support.properties import scaled

OTHERS = ["BIN - 1", "0 - 1", "-1", "0.5 - 1.5", "ONE", "DOWN[0]", "DOWN[BIN]", "min(BIN, -1)", "BIN", "0"]


def comparing(test: str) -> Problem:
    return problem(
        "PARAM ONE = -1 TABLE DOWN = [-1, 0] BALLS 2 BINS 2 RESOURCES C => 9, D => 9 "
        f"procedure UTILFN(BALL, BIN, ALLOC) if {test} UTIL.C += 1 else UTIL.D += 1 end end"
    )


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("op", ["==", "!="])
@pytest.mark.parametrize("turned", [False, True])
def test_null_equals_no_number(other: str, op: str, turned: bool) -> None:
    test = f"{other} {op} ALLOC[1 - BALL]" if turned else f"ALLOC[1 - BALL] {op} {other}"
    found = comparing(test)
    assert call(found.program, 0, 0, [NULL, NULL]) == [(0 if op == "!=" else 1, 10**6)]
    for alloc in ([0, NULL], [1, NULL], [NULL, 0], [1, 0], [0, 0]):
        assert evaluate(found, alloc) == utilisation(found, alloc)


def test_null_equals_null() -> None:
    assert call(comparing("ALLOC[1 - BALL] == NULL").program, 0, 0, [NULL, NULL]) == [(0, 10**6)]
    assert call(comparing("ALLOC[0] == ALLOC[1]").program, 0, 0, [NULL, NULL]) == [(0, 10**6)]
    assert call(comparing("(if BALL == 0 then NULL else 1) == ALLOC[1]").program, 0, 0, [NULL, NULL]) == [(0, 10**6)]


@pytest.mark.parametrize("device", ["reference", "cpu", "opencl"])
def test_a_ball_that_is_not_placed_is_not_left_of_bin_0(device: str) -> None:
    if device == "opencl":
        opencl_device()
    found = problem(
        "BALLS 2 BINS 2 RESOURCES S[b in BINS] => 5 procedure UTILFN(BALL, BIN, ALLOC) "
        "UTIL.S[BIN] += 1 if ALLOC[1 - BALL] == BIN - 1 REJECT end end"
    )
    answer = bw.solve(found, device=device, search="published", attempts=4)
    assert answer.placed == 2
    assert answer.alloc[0] == answer.alloc[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("let x = if BALL == 0 then ALLOC[1] else BIN - 1", "a number below zero is not a bin"),
        ("let x = if BALL == 0 then T[0] else NULL", "a number below zero is not a bin"),
    ],
)
def test_a_number_below_zero_never_passes_for_a_bin(text: str, message: str) -> None:
    """It would be taken for an index, once it is not NULL."""
    with pytest.raises(SpecError, match=message):
        problem(
            "TABLE T = [-5, 1] BALLS 2 BINS 2 RESOURCES C => 9 "
            f"procedure UTILFN(BALL, BIN, ALLOC) {text} if x != NULL UTIL.C += T[x] end end"
        )


@pytest.mark.parametrize("more", ["PARAM x = NULL", "TABLE X = [NULL]", "TABLE X[i in 2] = NULL", "FOES 0, NULL"])
def test_null_is_no_constant(more: str) -> None:
    with pytest.raises(SpecError, match="NULL is not a number"):
        problem(f"BALLS 2 BINS 2 RESOURCES C => 9 {more} procedure UTILFN(BALL, BIN, ALLOC) end")


@scaled(1.0)
@given(st.lists(st.integers(NULL, 3), min_size=3, max_size=3), st.integers(-3, 3), st.sampled_from(["==", "!="]))
def test_the_text_and_the_program_agree(alloc: list[int], less: int, op: str) -> None:
    found = problem(
        f"PARAM D = {less} BALLS 3 BINS 4 RESOURCES C => 99 procedure UTILFN(BALL, BIN, ALLOC) "
        f"for o in BALLS except BALL if ALLOC[o] {op} BIN + D UTIL.C += o + 1 end "
        f"if ALLOC[o] {op} (BIN + D) / 2 UTIL.C += 10 end end end"
    )
    assert evaluate(found, alloc) == utilisation(found, alloc)
    expected = [(o + 1) * 10**6 for o in (1, 2) if (alloc[o] == 1 + less and alloc[o] != NULL) == (op == "==")]
    assert [amount for _, amount in call(found.program, 0, 1, alloc) or () if amount < 10**7] == expected
