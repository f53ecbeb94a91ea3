"""Meaning of the language on small specifications, tables from outside, and the command."""

import json
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from binwright.agents.solver import problem
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.language.tables import from_array
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.verify import utilisation
from binwright.cli import main
from tests.reference.columns import from_text
from tests.reference.interpreter import call
from tests.reference.utilisation import evaluate

HEAD = """TABLE T = [3, 1, 2] TABLE R = [[0, 1], [], [2, 2, 1]] TABLE Q = [0.5, 1.25, 2]
BALLS 3 BINS 2 RESOURCES X => 1000 """


def value(expression: str, ball: int = 2, alloc: tuple[int, ...] = (1, -1, -1)) -> int:
    """What an expression comes to, in millionths."""
    text = f"{HEAD} procedure UTILFN(BALL, BIN, ALLOC) UTIL.X += {expression} end"
    added = call(problem(text).program, ball, 0, alloc)
    assert added is not None
    return added[0][1]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2 * 3 - 4", 3),
        ("7 // 2 + -7 // 2 + 7 % 3 + -7 % 3", 3 - 4 + 1 + 2),
        ("2 / 3", 0.666666),
        ("-2 / 3", -0.666667),
        ("Q[0] * Q[1] * 0.000001", 0),
        ("-0.5 * 0.000001", -0.000001),
        ("0.0000005 + 0.0000015", 0.000002),
        ("T[BALL] + Q[BALL]", 4),
        ("min(3, 2.5, 4) + max(1, 2) + abs(-1)", 5.5),
        ("floor(7 / 2) + ceil(7 / 2) + floor(-0.5) + ceil(-0.5) + ceil(BALL)", 3 + 4 - 1 + 0 + 2),
        ("T[floor(Q[1])] + T[ceil(Q[0] - 0.1)]", 2),
        ("len(T) + len(R[2]) + len(R[1])", 6),
        ("sum(i in R[BALL]: i) + sum(i in 3: i * i) + sum(i in 1 .. 3: 10)", 5 + 5 + 20),
        ("sum(t in T: t)", 6),
        ("count(o in BALLS except BALL: ALLOC[o] == NULL)", 1),
        ("count(o in BALLS: ALLOC[o] == NULL)", 2),
        ("count(o in BALLS: ALLOC[o] != NULL and ALLOC[o] > 0)", 1),
        ("if ALLOC[0] == 1 then 1 else 0.5", 1),
        ("if not (BALL == 1 or BIN == 1) and 2 >= 2 then BALLS else BINS", 3),
        ("R[2, BALL]", 1),
        ("if 1.5 == T[1] + 0.5 then 1 else 0", 1),
        (f"min({', '.join(300 * ['BALL + 1'])})", 3),
    ],
)
def test_expressions(expression: str, expected: float) -> None:
    assert value(expression) == round(expected * MICRO)


def test_a_test_at_run_time_rejects() -> None:
    result = problem(f"{HEAD} procedure UTILFN(BALL, BIN, ALLOC) UTIL.X += T[BALL + 1] / BALL end")
    assert [call(result.program, ball, 0, [-1] * 3) is None for ball in range(3)] == [True, False, True]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.array(["a"]), "D is not numeric"),
        ([Decimal(1)], "is not numeric"),
        (np.array([np.nan]), "out of range"),
        (np.array([2e9]), "out of range"),
        (np.float64(1), "is a single number"),
        ([[[1], [2, 3]], [[4]]], "mixes numbers and rows"),
    ],
)
def test_wrong_tables_from_python(data: Any, message: str) -> None:
    data = np.array(data) if isinstance(data, np.floating) else data
    with pytest.raises(SpecError, match=message):
        problem("BALLS 1 BINS 1 RESOURCES C => 1 procedure UTILFN(BALL, BIN, ALLOC) end", tables={"D": data})


@pytest.mark.parametrize("rows", [[range(2), range(1)], [pl.Series([0, 1]), pl.Series([0])]])
def test_rows_of_a_table_are_whatever_has_an_order(rows: Any) -> None:
    ours, lists = (from_array("T", each, None) for each in (rows, [[0, 1], [0]]))
    assert (ours.sizes, ours.values.tolist()) == (lists.sizes, lists.values.tolist())
    assert np.array_equal(ours.starts, lists.starts)  # type: ignore[arg-type]


def test_solve_prints_text_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "vm-placement"]) == 0
    assert "optimal: 4 of 4 balls in 2 bins" in capsys.readouterr().out
    assert main(["solve", "vm-placement", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["status"], result["alloc"], result["used"]) == ("optimal", [1, 1, 1, 0], 2)


def test_solve_check_describes_the_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "--check", "vm-placement"]) == 0
    shown = capsys.readouterr().out
    assert "4 balls, 2 bins, 4 dimensions" in shown
    assert "alloc-free" in shown
    assert main(["solve", "--check", "job-start"]) == 0
    shown = capsys.readouterr().out
    assert "alloc-free" not in shown
    assert "line 17: an index of LENGTH is tested at run time, and rejects" in shown
    assert main(["solve", "--check", "--json", "job-start"]) == 2
    assert "--json: is for answers" in capsys.readouterr().err


# -- NULL, in constants and in UTILFN ----------------------------------------------------------------------------------


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
    result = comparing(test)
    assert call(result.program, 0, 0, [NULL, NULL]) == [(0 if op == "!=" else 1, 10**6)]
    for alloc in ([0, NULL], [1, NULL], [NULL, 0], [1, 0], [0, 0]):
        assert evaluate(result, alloc) == from_text(result, alloc) == utilisation(result, alloc)
