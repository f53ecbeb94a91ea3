"""value-es: the rule against plain Python, weights and their mistakes, and training."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.learned.value import (
    KNOWN,
    SIZE,
    TERMS,
    ValueES,
    value_es,
    value_of,
)
from binwright.fabric.compiled.numa_replay import Replay
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.learn.sweeping import train
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.rules import Overflow
from tests.reference.value_es import gains
from tests.support.learning import busy, going_on, in_use, shipped, trained
from tests.support.properties import scaled

pytest.importorskip("safetensors")


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
@scaled(1.5)
def test_value_es_takes_the_place_of_highest_gain(seed: int, spread: bool, network: bool) -> None:
    rng = np.random.default_rng(seed)
    capacity = np.tile(np.array([40, 90]), (4, 2, 1)) + rng.integers(0, 2, (4, 1, 1)) * 10
    free = rng.integers(0, capacity + 1)
    demand = int(rng.integers(1, 30)), int(rng.integers(1, 30))
    weights = rng.normal(size=SIZE)
    if not network:
        weights[:] = 0
        weights[:TERMS] = KNOWN
    code = value_es(free, capacity, demand, spread, weights, np.zeros(0))
    possible = gains(free, capacity, demand, spread, weights)
    if not possible:
        assert code == -1
    else:
        assert possible[code] >= max(possible.values()) - 1e-9


def test_of_equal_places_it_is_the_first() -> None:
    free = np.full((3, 2, 2), 40)
    assert value_es(free, free.copy(), (2, 2), False, np.zeros(SIZE), np.zeros(0)) == 0


def test_a_replay_is_the_run_again_and_again() -> None:
    workload, cluster = busy(600)
    rules = [value_of(np.random.default_rng(seed).normal(size=SIZE), np.zeros((0, 4))) for seed in (1, 2)]
    for mode in ("drop", "stop"):
        expected = []
        for rule in rules:
            simulation = Simulation(workload, Ledger(cluster), Overflow(mode))
            simulation.loop.go(rules[0], 20)
            before = int((simulation.record.outcome == 1).sum())
            simulation.loop.go(rule)
            expected.append(int((simulation.record.outcome == 1).sum()) - before)
        simulation = Simulation(workload, Ledger(cluster), Overflow(mode))
        simulation.loop.go(rules[0], 20)
        replay = Replay(simulation)
        assert [replay.placed(rules[i]) for i in (0, 1, 1, 0)] == [expected[i] for i in (0, 1, 1, 0)]
        assert expected[0] != expected[1]


def test_compiled_and_step_by_step_it_is_the_same() -> None:
    workload, cluster = busy(400)
    engine = Simulation(workload, Ledger(cluster))
    agent = ValueES(untrained=True)
    agent.start(engine.view, stream(0, "agent"))
    play(engine, agent)
    compiled = Simulation(workload, Ledger(cluster))
    assert agent.compiled
    compiled.loop.go(agent.compiled)
    np.testing.assert_array_equal(engine.record.server, compiled.record.server)
    np.testing.assert_array_equal(engine.record.node, compiled.record.node)
    assert (engine.record.outcome == 2).any()


LITTLE = {"value-es": {"pairs": 2, "episodes": 2, "warm": [0.0, 0.2]}}


@pytest.mark.long
def test_training_goes_on_and_its_weights_are_used(tmp_path: Path) -> None:
    going_on(trained(LITTLE), tmp_path)
    in_use("value-es", tmp_path)


@pytest.mark.parametrize("changed", [{"overflow": "wait"}, {"pacing": {"step": "1 s"}}])
def test_scenarios_that_value_es_cannot_learn_with_are_refused(changed: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(UserError, match="does not learn with it"):
        train(scenario_from(trained(LITTLE) | changed), tmp_path / "out")


@pytest.mark.parametrize("weights", ["huawei-10", "huawei-month"])
def test_shipped_value_es_weights_run_on_any_number_of_servers(weights: str, tmp_path: Path) -> None:
    shipped("value-es", tmp_path, weights)
