"""Every answer is verified before it is stored."""

import json
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Any

import pytest

from binwright.agents.solver import problem
from binwright.agents.solver.solving.solve import solve
from binwright.service import pool
from binwright.service.jobs import Jobs, Row
from binwright.service.limits import Limits
from binwright.service.models import Submission
from tests.support.service import SMALL

FOUND = {
    "alloc": [1, 1, 1, 0], "bins": 2, "bound": 2, "checked": 7, "seconds": 0.5, "search": "local search",
    "interrupted": False, "impossible": "", "notes": [], "at_fault": [], "goal_bounds": [],
}  # fmt: skip
"""What a search may say of `SMALL`, four balls for as few bins as possible."""


class Says:
    """A worker that says that it has found something; it is asked for nothing else."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def solve(self, task: pool.Task) -> dict[str, Any]:
        return {"found": self._found}

    def memory(self) -> int:
        return 0

    def end(self) -> None:
        pass


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Row]]:
    """Make what says what becomes of a job whose worker says that it has found something."""
    said: list[Any] = []
    jobs = Jobs(tmp_path_factory.mktemp("jobs"), Limits())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "settle", lambda: None)  # this process goes on with other tests
        pool.prepare()

    def worker(limits: Limits, seconds: float, core: int | None, devices: Any = None) -> Any:
        return judge(limits, seconds, core) if devices is None else Says(said[-1])  # who verifies has no devices

    judge = pool.Worker
    patched = pytest.MonkeyPatch()
    patched.setattr(pool, "Worker", worker)
    found = pool.Pool(jobs, Limits(), 1)
    found.start()

    def became(what: Any, text: str = SMALL) -> Row:
        said.append(what)
        row, _ = jobs.add("me", str(len(said)), Submission(text=text).canonical)
        found.wake()
        until = monotonic() + 60
        while (now := jobs.get("me", row.id)) is None or now.finished is None:
            assert monotonic() < until
            sleep(0.01)
        return now

    yield became
    found.stop()
    patched.undo()
    jobs.close()


def test_verified_answers_are_stored_as_the_server_computed_them(outcome: Callable[[Any], Row]) -> None:
    row = outcome(FOUND)
    assert (row.state, row.status) == ("done", "optimal")
    result = json.loads(str(row.result))
    assert result["alloc"] == FOUND["alloc"]
    assert (result["placed"], result["used"], result["checked"], result["seconds"]) == (4, 2, 7, 0.5)
    left = json.loads(str(outcome(FOUND | {"alloc": [1, 1, -1, -1]}).result))
    assert (left["status"], left["placed"], left["alloc"]) == ("partial", 2, [1, 1, None, None])


WEIGHTS = """
TABLE WEIGHT = [3, 5, 9]
BALLS 3 BINS 2
RESOURCES CPU[b in BINS] => 2
procedure UTILFN(BALL, BIN, ALLOC)
  UTIL.CPU[BIN] += 1
end
MINIMISE sum(b in BALLS: if ALLOC[b] == 0 then WEIGHT[b] else 0)
"""


def test_a_goal_that_a_search_proved_is_optimal_in_the_service_as_in_the_command(outcome: Callable[..., Row]) -> None:
    answer = solve(problem(WEIGHTS))
    assert (answer.status, answer.goals[0].value, answer.goals[0].bound) == ("optimal", 3, 3)
    found = FOUND | {"alloc": answer.alloc, "bound": answer.bound, "goal_bounds": [3]}
    row = outcome(found, WEIGHTS)
    [goal] = json.loads(str(row.result))["goals"]
    assert (row.status, goal["value"], goal["bound"]) == ("optimal", 3, 3)
    assert "better than its bound" in str(outcome(found | {"goal_bounds": [4]}, WEIGHTS).error)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (FOUND | {"alloc": [9999, -5, None, 0], "status": "optimal"}, "is no answer"),
        (FOUND | {"alloc": [10**30, 0, 0, 0]}, "is no answer"),
        (FOUND | {"alloc": [1, 1, 1, 9999]}, "bin 9999, which does not exist"),
        (FOUND | {"alloc": [0, 0, 0, 0]}, "is used"),
        (FOUND | {"alloc": [0, 1]}, "2 places for 4 balls"),
        (FOUND | {"bins": 10**9}, "a wrong answer: 1000000000 bins"),
        (FOUND | {"bins": 0}, "a wrong answer: 0 bins"),
        (FOUND | {"bound": 3}, "a wrong answer: 2 bins, and at least 3"),
        (FOUND | {"seconds": float("nan")}, "is no answer"),
        ({"alloc": [1, 1, 1, 0]}, "is no answer"),
        ([], "is no answer"),
        (None, "is no answer"),
    ],
)
def test_an_answer_that_fails_verification_is_not_stored(outcome: Callable[[Any], Row], found: Any, says: str) -> None:
    row = outcome(found)
    assert (row.state, row.result, row.status) == ("failed", None, None)
    assert says in str(row.error)
