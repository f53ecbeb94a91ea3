"""What comes from Python, tables and the command line is read as it is meant, or refused with a remedy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import binwright as bw
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.cli import main
from binwright.simcore.errors import UserError
from tests.support.solving import problem

PLAIN = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.S[BIN] += D[BALL] end"


def made(**inputs: Any) -> Problem:
    usual: dict[str, Any] = {"balls": 4, "bins": 3, "resources": {"S[b in BINS]": 4}, "tables": {"D": [1, 2, 3, 2]}}
    return problem(PLAIN, **usual | inputs)


def test_nowhere_is_none_too_and_the_last_balls_may_be_left_out() -> None:
    assert made(now=[None, 2, -1]).now.tolist() == [NULL, 2, NULL, NULL]
    assert made(now={0: None, 1: 2, 2: -1}).now.tolist() == [NULL, 2, NULL, NULL]


def test_numbers_of_numpy_are_numbers() -> None:
    result = made(balls=np.int64(4), bins=np.int32(3))
    answer = bw.solve(result, seed=np.int64(3), attempts=np.int64(2), time=np.float64(60))  # type: ignore[arg-type]
    assert answer.placed == 4


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a mapping for a table": ({"tables": {"D": {0: 1, 1: 2, 2: 3, 3: 2}}}, "tables['D']: is no table"),
    "a number for a table": ({"tables": {"D": 3}}, "tables['D']: is no table"),
    "a ball too few": ({"now": {0: 1, 2: 1}}, "now does not say where balls are: its balls are not these"),
    "a truth value for a bin": ({"now": [True]}, "True is no bin here"),
    "too many bins": ({"now": [0] * 6}, "does not say where the balls are"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_wrong_arguments_of_a_problem_are_refused(what: str) -> None:
    inputs, output = REFUSED[what]
    with pytest.raises(UserError) as raised:
        made(**inputs)
    assert output in str(raised.value)
    assert raised.value.remedy


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"time": "10s"}, "time: is no time"),
        ({"seed": 1.5}, "seed: is not a whole number"),
        ({"attempts": "3"}, "attempts: is not a whole number"),
        ({"device": None}, "device: unknown device"),
        ({"now": 3}, "now: is no list of bins"),
        ({"now": {1, 2}}, "now: is no list of bins"),
        ({"drain": ["a", 1]}, "drain is not a number: 'a'"),
    ],
)
def test_wrong_arguments_of_a_search_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        bw.solve(made(), **how)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (None, "problem: is no problem"),
        ("BALLS 1 BINS 1 RESOURCES S => 1 procedure UTILFN(BALL, BIN, ALLOC) end", "no such file or example"),
    ],
)
def test_only_problems_are_solved(what: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        bw.solve(what)


SPEC = """TABLE C FROM "{}" COLUMN "cpu"
BALLS len(C)
BINS 2
RESOURCES CPU[s in BINS] => 4
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.CPU[BIN] += C[BALL]
end
"""
FILES = {
    "empty.csv": ("name,cpu\na,1\nb,\n", "None in line 3 of empty.csv, column 'cpu', is not a number", "without units"),
    "late.csv": ("cpu\n" + "1\n" * 300 + "2 GB\n", "'2 GB' in line 302 of late.csv, column 'cpu'", "Write numbers"),
    "twice.csv": ("cpu,cpu\n1,2\n", "has column 'cpu' twice", "a name of its own"),
}


@pytest.mark.parametrize("name", FILES)
def test_mistakes_in_a_table_name_their_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, *output = FILES[name]
    (tmp_path / name).write_text(text)
    (tmp_path / "a.alloc").write_text(SPEC.format(name))
    assert main(["solve", str(tmp_path / "a.alloc")]) == 2
    shown = " ".join(capsys.readouterr().err.split())
    assert all(each in shown for each in output)
