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
from tests.support.service import SMALL

FOUND = {
    "alloc": [1, 1, 1, 0],
    "bins": 2,
    "bound": 2,
    "checked": 7,
    "seconds": 0.5,
    "search": "local search",
    "interrupted": False,
    "impossible": "",
    "notes": [],
    "at_fault": [],
    "goal_bounds": [],
}
"""What a search may say of `SMALL`, four balls for as few bins as possible."""
WEIGHTS = """
TABLE WEIGHT = [3, 5, 9]
BALLS 3 BINS 2
RESOURCES CPU[b in BINS] => 2
procedure UTILFN(BALL, BIN, ALLOC)
  UTIL.CPU[BIN] += 1
end
MINIMISE sum(b in BALLS: if ALLOC[b] == 0 then WEIGHT[b] else 0)
"""


def outcome(found: Any, text: str = SMALL) -> dict[str, Any]:
    """Verify what a search says that it has found."""
    compiled = compile_request(Submission(text=text), Limits())
    return verified(compiled, found, Limits())


def test_a_right_answer_is_stored_as_the_server_computes_it() -> None:
    result = outcome(FOUND)["result"]
    assert (result["status"], result["alloc"]) == ("optimal", FOUND["alloc"])
    assert (result["placed"], result["used"], result["checked"], result["seconds"]) == (4, 2, 7, 0.5)
    left = outcome(FOUND | {"alloc": [1, 1, -1, -1]})["result"]
    assert (left["status"], left["placed"], left["alloc"]) == ("partial", 2, [1, 1, None, None])


def test_a_goal_that_a_search_proved_is_optimal_in_the_service_as_in_the_command() -> None:
    answer = solve(problem(WEIGHTS))
    assert (answer.status, answer.goals[0].value, answer.goals[0].bound) == ("optimal", 3, 3)
    found = FOUND | {"alloc": answer.alloc, "bound": answer.bound, "goal_bounds": [3]}
    result = outcome(found, WEIGHTS)["result"]
    [goal] = result["goals"]
    assert (result["status"], goal["value"], goal["bound"]) == ("optimal", 3, 3)
    assert "better than its bound" in outcome(found | {"goal_bounds": [4]}, WEIGHTS)["error"]["message"]


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (FOUND | {"alloc": [1, 1, 1, 9999]}, "bin 9999, which does not exist"),
        (FOUND | {"alloc": [0, 0, 0, 0]}, "1.8 of 1"),
        (FOUND | {"alloc": [0, 1]}, "2 places for 4 balls"),
        (FOUND | {"bins": 10**9}, "a wrong answer: 1000000000 bins"),
        (FOUND | {"bins": 0}, "a wrong answer: 0 bins"),
        (FOUND | {"bound": 3}, "a wrong answer: 2 bins, and at least 3"),
        (FOUND | {"bound": -1}, "a wrong answer: 2 bins, and at least -1"),
        (FOUND | {"alloc": [0, -5, 0, 0]}, "bin -5, which does not exist"),
        (FOUND | {"alloc": [0, 0, None, 0]}, "a wrong answer: a place or a number of bins"),
        (FOUND | {"alloc": [10**30, 0, 0, 0]}, "a wrong answer: a place or a number of bins"),
        (FOUND | {"alloc": [1.0, 1, 1, 0]}, "a wrong answer: a place or a number of bins"),
        (FOUND | {"bins": None}, "a wrong answer: a place or a number of bins"),
        (FOUND | {"bound": 1.5}, "a wrong answer: a place or a number of bins"),
    ],
)
def test_an_answer_that_fails_verification_is_not_stored(found: Any, says: str) -> None:
    answer = outcome(found)
    assert answer["state"] == "failed"
    assert says in answer["error"]["message"]


@pytest.mark.parametrize("found", [{"alloc": [1, 1, 1, 0]}, []])
def test_nonsense_from_a_search_is_a_failed_job(found: Any) -> None:
    here, theirs = Pipe(duplex=False)
    with patch("binwright.service.worker.confine"):
        run(theirs, Submission(text=SMALL).model_dump_json(), found, Limits(), 1)
    answer = json.loads(here.recv_bytes())
    assert (answer["state"], answer["error"]["message"]) == ("failed", "the solver failed")
