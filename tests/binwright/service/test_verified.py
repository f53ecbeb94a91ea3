"""Every answer is verified before it is stored."""

import json
from multiprocessing import Pipe
from typing import Any
from unittest.mock import patch

import pytest

from binwright.agents.solver import problem
from binwright.agents.solver.solving.solve import solve
from binwright.service.limits import Limits
from binwright.service.models import Submission
from binwright.service.worker import compile_request, run, verified
from binwright.simcore.errors import RunError
from tests.support.service import SMALL

FOUND = solve(problem(SMALL)).as_json()
"""Four balls in as few bins as possible, two."""
WEIGHTS = """
TABLE WEIGHT = [3, 5, 9]
BALLS 3 BINS 2
RESOURCES CPU[b in BINS] => 2
procedure UTILFN(BALL, BIN, ALLOC)
  UTIL.CPU[BIN] += 1
end
MINIMISE sum(b in BALLS: if ALLOC[b] == 0 then WEIGHT[b] else 0)
"""


def outcome(result: Any, text: str = SMALL) -> dict[str, Any]:
    """Verify what a search says that it has found."""
    return verified(compile_request(Submission(text=text), Limits()), result)


def test_a_right_answer_is_stored_with_what_is_used() -> None:
    result = outcome(FOUND)
    assert {key: value for key, value in result.items() if key != "resources"} == FOUND
    assert sorted(result["resources"][0]["used"]) == pytest.approx([0.8, 1.0])
    left = outcome(FOUND | {"alloc": [1, 1, None, None], "placed": 2})
    assert sum(left["resources"][0]["used"]) < 1.8


def test_what_a_goal_comes_to_is_computed_again() -> None:
    result = solve(problem(WEIGHTS)).as_json()
    [goal] = outcome(result, WEIGHTS)["goals"]
    assert (result["status"], goal["value"], goal["bound"]) == ("optimal", 3, 3)
    with pytest.raises(RunError, match="it says"):
        outcome(result | {"goals": [goal | {"value": 2}]}, WEIGHTS)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"alloc": [1, 1, 1, 9999]}, "bin 9999, which does not exist"),
        ({"alloc": [0, 0, 0, 0]}, r"1\.8 of 1"),
        ({"alloc": [0, 1]}, "2 places for 4 balls"),
        ({"alloc": [0, -5, 0, 0]}, "bin -5, which does not exist"),
        ({"alloc": [1, 1, 1, None]}, "it says"),
        ({"bins": None}, "it says|bin"),
        ({"bound": 3}, "bound 3"),
        ({"bound": -1}, "bound -1"),
        ({"placed": 3}, "it says"),
    ],
)
def test_an_answer_that_fails_verification_is_not_stored(more: dict[str, Any], says: str) -> None:
    with pytest.raises(RunError, match=says):
        outcome(FOUND | more)


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({"alloc": [1, 1, 1, 0]}, "the solver failed"),
        (FOUND | {"alloc": [10**30, 0, 0, 0]}, "the solver failed"),
        (FOUND | {"alloc": [0, 0, 0, 0]}, "the search gave a wrong answer: "),
    ],
)
def test_nonsense_from_a_search_is_a_failed_job(result: Any, says: str) -> None:
    local, theirs = Pipe(duplex=False)
    with patch("binwright.service.worker.confine"):
        run(theirs, Submission(text=SMALL).model_dump_json(), result, Limits())
    answer = json.loads(local.recv_bytes())
    assert answer["state"] == "failed"
    assert answer["error"]["message"].startswith(says)
