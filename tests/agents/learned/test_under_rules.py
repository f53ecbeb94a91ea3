"""Learning on servers with rules of placement: episodes keep them, and are the runs in which the agents are used."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binwright.agents.learned.numa.rollouts import replays_of
from binwright.fabric.compiled.numa_loop import ANSWERED
from binwright.fabric.compiled.numa_replay import Replay
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.world import build_agent, build_learning
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.jit import kernel
from binwright.simcore.record import PLACED
from binwright.simcore.rng import stream
from binwright.simcore.types import Amounts, Compiled, Ints
from tests.support.learning import a_little, going_on, ruled

pytest.importorskip("safetensors")
DQN = {"episodes": 2, "pool": 6, "updates": 3, "batch": 8, "memory": 150, "annealed": 3, "warm": [0.0, 0.2]}
SETTINGS: dict[str, dict[str, Any]] = {
    "value-es": {"pairs": 2, "episodes": 4, "pool": 12, "warm": [0.0, 0.2], "sizes": 3},
    "cvd-rl": DQN,
    "sched-rl": DQN,
    "hindsight": {"episodes": 6, "pool": 12, "plans": 5, "warm": [0.0, 0.2]},
    "padrl": {"pool": 12, "episodes": 2, "plays": 2, "sequences": 4, "lessons": 2, "warm": [0.0, 0.2]},
}


@kernel
def stubborn(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """Take, as a `Scan`, the first node whatever is free there."""
    return 0


def keeps_the_rules(replay: Replay, groups: list[str]) -> int:
    """Count at every placement who is where, with nothing but the record; returns how many there were."""
    state, asked, roles = replay._state, replay._requests, replay._roles
    assert roles is not None
    answered = state.sequence[: state.at[ANSWERED]]
    placed = answered[state.outcome[answered] == PLACED]
    web, db = (roles[placed] == groups.index(group) for group in ("web", "db"))
    server, since = state.server[placed], state.decided[placed]
    until = since + asked.duration[placed]
    assert not (db & (server > 3)).any(), "where"
    assert not ((server == 1) & (since >= 150)).any(), "drain"
    for number in range(len(placed)):
        here = (server == server[number]) & (until > since[number]) & (np.arange(len(placed)) <= number)
        assert (here & web).sum() <= 3, "at most"
        assert not ((here & web).any() and (here & db).any()), "apart"
    return len(placed)


@pytest.mark.long
@pytest.mark.parametrize("name", SETTINGS)
def test_learners_keep_rules_of_placement_and_run_as_they_learned(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, used = ruled(train=a_little({name: SETTINGS[name]})), scenario_from(ruled())
    world = build_learning(used)
    usual: Callable[[Replay, Compiled], int] = Replay.placed
    roles, seen = world.draw(0).roles, []
    assert roles is not None
    groups = [role.group for role in roles.all]

    def checked(replay: Replay, rule: Compiled, *more: Any) -> int:
        found = usual(replay, rule, *more)
        seen.append(keeps_the_rules(replay, groups))
        return found

    monkeypatch.setattr(Replay, "placed", checked)
    going_on(scenario, tmp_path)
    assert len(seen) > 20
    path = str(next(tmp_path.glob("whole/*/best.safetensors")))
    used = scenario_from(ruled(agents=[{name: {"path": path}}, "best-fit"], replications=2))
    compiled, simpy = (Batch(used, tmp_path / engine).run(engine=engine) for engine in ("compiled", "simpy"))
    same = [column for column in compiled.runs.columns if column not in ("engine", "seconds", "decision_us")]
    assert compiled.runs[same].equals(simpy.runs[same])
    for row in compiled.runs.iter_rows(named=True):
        agent = build_agent(next(spec for spec in used.agents if spec.name == row["agent"].partition("(")[0]))
        agent.start(world.ledger(row["seed"]).view, stream(row["seed"], "agent"))
        assert agent.compiled is not None
        [replay] = replays_of(world, [row["seed"]], [0.0])
        assert replay.placed(agent.compiled) == row["scheduled"]


@pytest.mark.long
def test_a_place_that_a_rule_forbids_ends_the_training() -> None:
    workload = {**ruled()["workload"], "flavours": [{"cpu": 1, "mem": 1, "where": {"rack": "1"}}]}
    [replay] = replays_of(build_learning(scenario_from(ruled(workload=workload, placement=[]))), [0], [0.0])
    with pytest.raises(InfeasiblePlacement):
        replay.placed(Compiled(stubborn))
