"""What a training costs, before it has begun, and once a part of it is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from binwright.cli import main
from scenarios.learn.cost import cost
from scenarios.learn.training import train
from scenarios.schema.load import scenario_from
from tests.support.learning import trained

pytest.importorskip("torch")
SETTINGS: dict[str, Any] = {"episodes": 2, "pool": 4, "updates": 2, "batch": 8, "warm": [0.0]}


def small(**changed: Any) -> dict[str, Any]:
    scenario = trained({"sched-rl": SETTINGS})
    return scenario | {"train": scenario["train"] | {"seeds": 2} | changed}


def test_what_is_left_costs_as_much_as_what_was_done(tmp_path: Path) -> None:
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
    sweep = small(sweep={"rate": [0.001, 0.01, 0.1]})
    assert cost(scenario_from(sweep), tmp_path / "sweep").iterations == 24


def test_the_command_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "small.yaml", tmp_path / "out"
    file.write_text(yaml.safe_dump(small()))
    assert main(["train", str(file), "--out", str(out), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("8 iterations are left of 4 for each of 2 trainings. They will take about ")
    assert "s an iteration, going by 3, and " in said
    assert not out.exists()
    train(scenario_from(small()), out)
    assert main(["train", str(file), "--out", str(out), "--dry-run"]) == 0
    assert capsys.readouterr().out == f"All 4 iterations are done in {out}.\n"
