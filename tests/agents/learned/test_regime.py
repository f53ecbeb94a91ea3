"""What weights were learned on, and what else they are used on."""

import re
from pathlib import Path

import numpy as np
import pytest

from binwright.agents.learned.weights import SHIPPED, Regime, outside, read, regime_from, regime_of
from binwright.analysis.measure.condition import outside_of
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.errors import WorkloadError

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

pytest.importorskip("safetensors")

NUMA = ("value-es-", "hindsight-", "cvd-rl-", "padrl-", "sched-rl-")


def test_servers_and_requests_in_a_few_numbers() -> None:
    capacity = np.full((3, 2, 2), 40)
    demand = np.array([[4, 8], [16, 8], [20, 40]])
    found = regime_of(capacity, demand, np.array([False, False, True]))
    # 16 of 40 cores are large, and so is half of 40 GB; the first request takes a fifth of a node.
    assert found is not None
    assert (found.kinds, *found.shares, found.large) == pytest.approx((1, 1 / 3, 56 / 120, 1.4 / 1.6))
    capacity[2] += 1
    assert regime_of(capacity, demand, np.zeros(3, bool)).kinds == 2  # type: ignore[union-attr]
    assert regime_of(capacity, demand[:0], np.zeros(0, bool)) is None
    assert regime_from({"regime": {"kinds": 2, "shares": [0.5, 0.25], "large": 0.1}}) == Regime(2, (0.5, 0.25), 0.1)
    assert regime_from({}) is None


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (Regime(1, (0.07, 0.06), 0.25), ""),
        (Regime(1, (0.02, 0.025), 0.0), ""),
        (Regime(2, (0.04, 0.04), 0.1), "servers of several kinds"),
        (Regime(1, (0.09, 0.08), 0.1), "larger requests"),
        (Regime(1, (0.01, 0.01), 0.1), "smaller requests"),
        (Regime(1, (0.03, 0.045), 0.1), "requests for another mix of resources"),
        (Regime(3, (0.09, 0.08), 0.35), "servers of several kinds, larger requests, more large requests"),
    ],
)
def test_regimes_that_differ_are_described(now: Regime, said: str) -> None:
    was = Regime(1, (0.04, 0.04), 0.1)
    found = outside(was, now)
    assert re.sub(r" \([^)]*\)", "", found) == said
    assert found.count("; in training ") == len(said.split(", ")) * bool(said)
    assert bool(outside(now, was)) == bool(said)
    assert outside(was, was) == outside(now, now) == ""


def test_all_shipped_weights_on_servers_say_what_they_were_learned_on() -> None:
    files = [file for file in SHIPPED.glob("*.safetensors") if file.name.startswith(NUMA)]
    assert files
    assert not [file.name for file in files if regime_from(read(file)[1]) is None]


@pytest.mark.parametrize(("name", "fires"), [("quickstart", False), ("regimes/few", False), ("regimes/mixed", True)])
def test_shipped_weights_warn_where_they_may_do_harm(name: str, fires: bool, tmp_path: Path) -> None:
    agents = "agents=[best-fit, value-es, hindsight, cvd-rl, padrl]"
    scenario = load_scenario(name, [agents, "replications=2", "workload.requests=2000"])
    results = Batch(scenario, tmp_path / "out").run()
    said = outside_of(results.runs, results.swept)
    for agent in ("value-es", "hindsight", "cvd-rl", "padrl"):
        assert bool(re.search(rf"{agent}\b[^:;]*: servers of several kinds \(2; in training 1\)", said)) == fires
    assert bool(said) == fires
    assert results.runs.filter(agent="best-fit")["outside"].is_null().all()


def test_windows_of_the_trace_after_those_of_the_training_are_the_same_regime() -> None:
    was = regime_from(read(SHIPPED / "value-es-huawei-10.safetensors")[1])
    assert was is not None
    world, told = build_world(load_scenario("moves/worth-room")), []
    for seed in range(20):
        try:
            workload = world.draw(seed)
        except WorkloadError:
            pytest.skip("the trace is not here")
        ledger = world.ledger(0)
        now = regime_of(ledger.view.capacity, workload.demand, ledger.spreads(workload.demand))
        assert now is not None
        told.append(outside(was, now))
    assert not any(told)
