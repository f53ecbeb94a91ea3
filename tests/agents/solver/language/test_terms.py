"""Goals are told term by term: what terms add is what the goal comes to, however it is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from agents.solver import problem
from agents.solver.model.problem import Problem
from binwright.cli import main
from binwright.solver_json import as_json
from tests.support.properties import scaled

ATOMS = ("2", "0.5", "UTIL.C[1]", "-UTIL.C[0]", "sum(b in BINS: UTIL.C[b])", "3 * (1 + ALLOC[0])", "max(1, ALLOC[1])")
BODY = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] end"


def made(*goals: str, more: str = "") -> Problem:
    """Three balls of 1.5, 2 and 4 in two bins."""
    lines = "".join(f"\nMINIMISE {goal}" for goal in goals)
    return problem(f"{more}TABLE D = [1.5, 2, 4] BALLS 3 BINS 2 RESOURCES C[b in BINS] => 9{lines}\n{BODY}")


@st.composite
def sums(draw: st.DrawFn) -> str:
    """Draw atoms with + and - between them, and parentheses somewhere."""
    parts = draw(st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4))
    text = parts[0]
    for part in parts[1:]:
        text = f"({text})" if draw(st.booleans()) else text
        part = f"({part} - 1)" if draw(st.booleans()) else part
        text += f" {draw(st.sampled_from(['+', '-']))}{draw(st.sampled_from([' ', '  # an aside ( ' + chr(10)]))}{part}"
    return text


@scaled(1)
@given(sums(), st.lists(st.integers(0, 1), min_size=3, max_size=3))
def test_terms_add_up_to_the_goal(text: str, alloc: list[int]) -> None:
    whole, apart = (made(goal).source.goals(2, alloc)[0] for goal in (f"({text})", text))
    assert len(whole.terms) == 1
    assert apart.raw == whole.raw
    assert sum(one.value for one in apart.terms) == pytest.approx(whole.terms[0].value)


def test_terms_have_their_text_their_sign_and_the_largest_entries() -> None:
    given = made("sum(b in BINS: UTIL.C[b]) - 2 * ALLOC[2] + (1 - UTIL.C[0])", "ALLOC[1]")
    first, second = given.source.goals(2, [0, 1, 1])
    assert [(one.text, one.value) for one in first.terms] == [
        ("sum(b in BINS: UTIL.C[b])", 7.5),
        ("2 * ALLOC[2]", -2),
        ("(1 - UTIL.C[0])", -0.5),
    ]
    assert first.terms[0].largest == (("b = 1", 6.0), ("b = 0", 1.5))
    assert [one.text for one in second.terms] == ["ALLOC[1]"]


@pytest.mark.long
def test_answers_and_explanations_have_the_terms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nodes.csv").write_text("name\nn-a\nn-b\n")
    file, answer = tmp_path / "a.alloc", tmp_path / "answer.json"
    file.write_text(
        'TABLE N FROM "nodes.csv" COLUMN "name" AS node\nTABLE D = [1.5, 2, 4]\nBALLS 3 BINS len(N) AS node\n'
        f"RESOURCES C[b in BINS] => 9\nMINIMISE sum(b in BINS: UTIL.C[b]) + 2 * ALLOC[2]\n{BODY}\n"
    )
    answer.write_text(json.dumps(as_json(bw.solve(file, attempts=1))))
    (goal,) = json.loads(answer.read_text())["goals"]
    assert [one["text"] for one in goal["terms"]] == ["sum(b in BINS: UTIL.C[b])", "2 * ALLOC[2]"]
    assert sum(one["value"] for one in goal["terms"]) == goal["value"]
    assert {one["entry"] for one in goal["terms"][0]["largest"]} <= {"b = n-a", "b = n-b"}
    assert main(["explain", str(file), str(answer)]) == 0
    shown = capsys.readouterr().out
    assert "7.5 by sum(b in BINS: UTIL.C[b])" in shown
    assert "most: " in shown
