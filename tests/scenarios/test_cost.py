"""What a training costs, before it has begun, and once a part of it is done."""

from pathlib import Path
from typing import Any

import pytest

from binwright.scenarios.learn import sweeping as costs
from binwright.scenarios.learn.sweeping import cost, points, train
from binwright.scenarios.learn.training import course_of
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from tests.support.learning import trained

pytest.importorskip("torch")
SETTINGS: dict[str, Any] = {"episodes": 2, "pool": 4, "updates": 2, "batch": 8, "warm": [0.0]}


def small(**changed: Any) -> dict[str, Any]:
    scenario = trained({"sched-rl": SETTINGS})
    return scenario | {"train": scenario["train"] | {"seeds": 2} | changed}


@pytest.mark.long
def test_cost_of_the_rest_follows_from_the_finished_part(tmp_path: Path) -> None:
    before = cost(scenario_from(small()), tmp_path)
    assert not list(tmp_path.iterdir())
    assert (before.iterations, before.tried) == (8, 3)
    assert before.seconds == pytest.approx(2 * before.preparing + 8 * before.each + 4 * before.validation)
    log = train(scenario_from(small(seeds=1, iterations=3)), tmp_path)
    took = log["cpu_seconds"].max()
    after = cost(scenario_from(small()), tmp_path)
    assert (after.iterations, after.tried, after.validation) == (5, 3, 0.0)
    assert isinstance(took, float)
    assert 0 < after.each <= took / 3
    assert after.seconds == pytest.approx(5 * after.each)
    assert cost(scenario_from(small()), None).iterations == 8


@pytest.mark.long
def test_every_point_of_a_sweep_goes_by_its_own_iterations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates, measured = [0.001, 0.01, 0.1], list[float]()

    def slower(scenario: Scenario, patience: float) -> costs.Measured:
        assert patience == pytest.approx(costs.PATIENCE / 3)
        rate = course_of(scenario).terms["train"]["agent"]["sched-rl"]["rate"]
        measured.append(rate)
        return costs.Measured(1000 * rate, 10 * rate, 100 * rate, 3)

    monkeypatch.setattr(costs, "_measured", slower)
    scenario = scenario_from(small(sweep={"rate": rates}))
    found = cost(scenario, tmp_path)
    assert (found.iterations, found.tried, measured) == (24, 9, rates)
    assert found.seconds == pytest.approx(sum(8 * 1000 * r + 2 * 10 * r + 4 * 100 * r for r in rates))
    assert found.each == pytest.approx(37)
    (_, first), *_ = points(scenario)
    log = train(first, tmp_path / "rate=0.001")
    measured.clear()
    again = cost(scenario, tmp_path)
    assert (again.iterations, again.tried, measured) == (16, 6, rates[1:])
    assert log["cpu_seconds"].max() is not None
    assert again.seconds == pytest.approx(sum(8 * 1000 * r + 2 * 10 * r + 4 * 100 * r for r in rates[1:]))
