"""Queue-v0 against RLScheduler's program, written out in tests/reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.environments.queue_env import QueueEnv
from binwright.agents.waiting_jobs import visible
from binwright.scenarios.build.world import build_learning
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from binwright.simcore.types import Request
from tests.reference import rlscheduler
from tests.reference.rlscheduler import Job
from tests.support.properties import scaled

SCENARIO: dict[str, Any] = {
    "cluster": {"servers": 1, "node": {"cpu": 8}},
    "overflow": {"wait": {"together": 1000, "one_by_one": True}},
    "knowledge": {"lifetimes": "known"},
    "agents": ["in-line"],
}


def environment(folder: Path, jobs: list[Job], **options: Any) -> QueueEnv:
    """Make the environment of these jobs."""
    rows = [f"{i},{job.submitted},{job.ran},{job.processors}" for i, job in enumerate(jobs)]
    (folder / "jobs.csv").write_text("\n".join(["id,arrival,lifetime,cpu", *rows]))
    workload = {"trace": "table", "path": str(folder / "jobs.csv")}
    return QueueEnv(build_learning(scenario_from({**SCENARIO, "workload": workload})), **options)


jobs = st.lists(st.builds(Job, st.integers(1, 30), st.integers(1, 30), st.integers(1, 8)), min_size=1, max_size=15)


@given(jobs.map(sorted), st.booleans())
@scaled(1)
def test_choosing_the_shortest_is_sjf_of_the_program(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[Job], passing: bool
) -> None:
    env = environment(tmp_path_factory.mktemp("jobs"), drawn, backfilling="easy" if passing else "none", longest=100.0)
    seen, _ = env.reset(seed=0)
    over, steps, reward = False, 0, 0.0
    while not over:
        assert reward == 0.0
        assert seen in env.observation_space
        times = np.where(seen["mask"], seen["jobs"][:, 1], np.inf)
        seen, reward, over, _, _ = env.step(np.int64(times.argmin()))
        steps += 1
    starts = rlscheduler.starts(drawn, "sjf", passing, 8)
    assert reward == pytest.approx(-rlscheduler.slowdown(drawn, starts))
    assert steps <= len(drawn)
    assert not seen["mask"].any()


def test_what_is_seen(tmp_path: Path) -> None:
    env = environment(tmp_path, [Job(0, 36, 8), Job(4, 72, 2), Job(9, 9, 8)], longest=90.0)
    seen, info = env.reset(seed=0)
    assert seen["jobs"][0] == pytest.approx([0, 0.4, 1 - 1e-5, 1, 1, 1, 1, 1 - 1e-5])
    assert seen["jobs"][1:] == pytest.approx(np.tile([0, 1, 1, 1, 1, 1, 1, 0], (127, 1)))
    assert (seen["mask"] == info["action_mask"]).all()
    assert seen["mask"].tolist() == [1, *[0] * 127]
    seen, *_ = env.step(np.int64(0))  # the second comes at 4, while the first runs
    assert seen["jobs"][0] == pytest.approx([0, 0.8, 0.25, 1, 1, 1, 1, 1e-5])
    seen, *_ = env.step(np.int64(7))  # no job is there: the first
    assert seen["jobs"][0] == pytest.approx([27 / 43200, 0.1, 1 - 1e-5, 1, 1, 1, 1, 1e-5])
    _, reward, over, _, _ = env.step(np.int64(0))
    assert over
    assert reward == pytest.approx(-(1 + (32 + 72) / 72 + (99 + 9) / 10) / 3)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.int64(0))


def test_of_many_the_shortest_and_the_smallest_are_seen() -> None:
    line = [Request(i, float(i), float(9 - i), (i + 1,), False) for i in range(6)]
    assert [one.index for one in visible(line, 4)] == [5, 0, 4, 1]
    assert visible(line, 6) == line


def test_it_is_a_gymnasium_environment() -> None:
    import binwright.environments  # noqa: F401

    env = gymnasium.make("binwright/Queue-v0", scenario=scenario_from({**SCENARIO, "workload": WAITING}))
    check_env(env.unwrapped, skip_render_check=True)


WAITING = {
    "requests": 30,
    "arrivals": {"poisson": {"every": "1 s"}},
    "flavours": [{"cpu": 3}],
    "lifetimes": {"fixed": "5 s"},
}


@pytest.mark.parametrize(
    ("changes", "key"),
    [({"overflow": "wait"}, "overflow"), ({"knowledge": {"lifetimes": "hidden"}}, "knowledge.lifetimes")],
)
def test_scenarios_without_a_line_to_choose_from_are_refused(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(UserError) as error:
        QueueEnv(build_learning(scenario_from({**SCENARIO, "workload": WAITING, "agents": ["first-fit"], **changes})))
    assert error.value.key == key
