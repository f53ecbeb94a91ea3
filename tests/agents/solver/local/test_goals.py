"""Goals: the compiled ones are what the text says, and the best allocation is found where all can be tried."""

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver.backends.cpu import attempts
from binwright.agents.solver.local.polish import improved
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import goals_of
from binwright.cli import main
from binwright.simcore.errors import UserError
from tests.support.goals import aims, every, said
from tests.support.properties import scaled
from tests.support.solving import problem


@pytest.mark.long
@scaled(0.12)
@given(aims())
def test_best_allocation_is_found_and_bounds_hold(inputs: Problem) -> None:
    right = every(inputs)
    answer = bw.solve(inputs, attempts=8)
    assert (answer.placed == inputs.balls) == bool(right)
    assert inputs.objective is not None
    if not right:
        assert answer.goals == ()
        return
    goals = inputs.objective.goals
    assert right[tuple(answer.alloc)] == min(right.values())
    for goal, *values in zip(goals, *right.values(), strict=True):
        assert goal.bound <= min(values)
    expected = [goal.number(raw) for goal, raw in zip(goals, min(right.values()), strict=True)]
    assert [each.value for each in answer.goals] == expected
    assert (answer.status == "optimal") == all(each.gap == 0 for each in answer.goals)


@pytest.mark.long
@scaled(0.6)
@given(aims(), st.data())
def test_goals_in_plain_python_are_what_the_text_says(inputs: Problem, data: st.DataObject) -> None:
    assert inputs.objective is not None
    alloc = data.draw(st.lists(st.integers(0, inputs.bins - 1), min_size=inputs.balls, max_size=inputs.balls))
    assert goals_of(inputs, alloc) == said(inputs, alloc)


@pytest.mark.parametrize(
    "goal",
    [
        "sum(b in BINS: max(0, UTIL.C[b] - 7) * (b + 1))",
        "count(a in BALLS: ALLOC[a] != HOME[a])",
        "sum(a in BALLS except 3: COST[ALLOC[a]]) + max(b in BINS: UTIL.C[b])",
        "sum(b in BINS: sum(a in BALLS: if ALLOC[a] == b then UTIL.C[(b + 1) % BINS] else 0))",
        "sum(a in BALLS: UTIL.C[ALLOC[a]])",
        "sum(b in BINS: if UTIL.C[b] > 6 then UTIL.C[0] else count(a in 5: ALLOC[a] == b)) + UTIL.C[1]",
    ],
)
def test_terms_that_a_move_changes_add_up_to_the_goals(goal: str) -> None:
    rng = np.random.default_rng(3)
    tables = {"NEED": rng.integers(1, 4, 30), "HOME": rng.integers(0, 8, 30), "COST": rng.integers(0, 9, 8)}
    inputs = problem(
        f"MINIMISE {goal} MINIMISE max(b in BINS: UTIL.C[b]) NOW HOME FRIENDS 0, 1 "
        "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += NEED[BALL] end",
        balls=30,
        bins=8,
        resources={"C[b in BINS]": 20},
        tables=tables,
    )
    start = next(iter(attempts(inputs, 0, 0, 100))).where.tolist()
    for actual in islice(improved(inputs, 0, start, 4, lambda: False), 4):
        assert actual.values == goals_of(inputs, actual.where.tolist())


@pytest.mark.long
def test_a_bound_that_is_reached_is_a_proof() -> None:
    text = "BALLS 12 BINS 3 RESOURCES C[b in BINS] => 8 procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += 1 end"
    together = bw.solve(problem(f"{text} MAXIMISE count(b in 2: ALLOC[b] == 2)"))
    assert (together.status, together.goals[0].value, together.goals[0].gap) == ("optimal", 2, 0)
    even = bw.solve(problem(f"{text} MINIMISE max(s in BINS: UTIL.C[s])"), attempts=4)
    assert (even.status, even.goals[0].value, even.goals[0].bound) == ("solved", 4, 0)


@pytest.mark.long
def test_wishes_that_hold_go_on_holding() -> None:
    inputs = problem(
        "FRIENDS 0, 1 WITH 0.9 FOES 2, 3 WITH 0.9 procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += 1 end "
        "MINIMISE count(b in BALLS: ALLOC[b] == ALLOC[0]) - count(b in BALLS: ALLOC[b] == ALLOC[2])",
        balls=4,
        bins=4,
        resources={"C[b in BINS]": 4},
    )
    answer = bw.solve(inputs, attempts=8)
    assert all(not wish.broken(answer.alloc) for wish in answer.problem.wishes)


def test_published_search_refuses_goals() -> None:
    with pytest.raises(UserError, match=r"search: goals are .* [(]got 'published'[)]"):
        bw.solve("power", search="published")


@pytest.mark.long
def test_solve_prints_the_values_of_goals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.alloc"
    body = "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += 1 end"
    file.write_text(f"BALLS 3 BINS 2 RESOURCES C[b in BINS] => 3 MAXIMISE UTIL.C[1] {body} MINIMISE UTIL.C[0]")
    assert main(["solve", str(file), "--time", "60s"]) == 0
    shown = capsys.readouterr().out
    assert "maximise UTIL.C[1]: 3 (no allocation is better)" in shown
    assert "minimise UTIL.C[0]: 0 (no allocation is better)" in shown
    assert main(["solve", str(file), "--time", "60s", "--json"]) == 0
    comparison = json.loads(capsys.readouterr().out)
    assert "3 of 3 balls in 1 of 2 bins" in shown
    assert (comparison["used"], comparison["bins"], comparison["gap"]) == (1, 2, None)
    assert comparison["goals"][1] == {
        "aim": "MINIMISE", "text": "UTIL.C[0]", "value": 0, "bound": 0, "gap": 0,
    }  # fmt: skip
