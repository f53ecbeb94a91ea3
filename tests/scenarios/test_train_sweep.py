"""The sweep of a training: every combination of settings, each as if it were trained alone."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import binwright as bw
from binwright.agents.learned import loop
from binwright.agents.learned.weights import read
from binwright.scenarios.learn.training import check_sweep, points, summary
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import ScenarioError, UserError
from tests.support.learning import trained
from tests.support.training import TINY, falling, interrupted

SHORT = {**TINY["train"], "iterations": 2, "validation": {"every": 1, "episodes": 2}}


def tiny(**train: Any) -> Scenario:
    return bw.scenario({**TINY, "train": {**SHORT, **train}})


def learning(**train: Any) -> Scenario:
    scenario = trained({})
    return bw.scenario({**scenario, "train": {**scenario["train"], **train}})


def test_points_are_all_combinations_and_keep_the_other_settings() -> None:
    agent = {"nara": {"episodes": 2, "epochs": 1}}
    found = points(tiny(agent=agent, sweep={"rate": [0.1, 0.01], "epochs": [2, 3]}))
    assert [point for point, _ in found] == [{"rate": rate, "epochs": n} for rate in (0.1, 0.01) for n in (2, 3)]
    for point, scenario in found:
        assert scenario.train is not None
        assert scenario.train.agent.chosen == ("nara", {"episodes": 2, **point})
        assert not scenario.train.sweep
    assert [point for point, _ in points(tiny())] == [{}]


@pytest.mark.long  # compiles a trainer's kernels
def test_every_point_is_trained_as_it_would_be_alone_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "PATIENCE", 0.0)  # a checkpoint after every iteration
    swept = tiny(sweep={"rate": [0.1, 0.001]})
    rows: list[dict[str, Any]] = []
    with pytest.raises(KeyboardInterrupt):
        bw.train(swept, out=tmp_path / "swept", jobs=1, on_progress=interrupted(1))
    log = bw.train(swept, out=tmp_path / "swept", jobs=1, on_progress=rows.append)
    assert [row["point"] for row in rows if row["split"] == "train"] == [0, 1, 1]
    assert log.group_by("set.rate", maintain_order=True).len().rows() == [(0.1, 4), (0.001, 4)]
    train = tiny().train
    assert train
    name, settings = train.agent.chosen
    alone = bw.train(tiny(agent={name: {**settings, "rate": 0.001}}), out=tmp_path / "alone")
    same = ["step", "split", "acceptance"]
    assert log.filter(pl.col("set.rate") == 0.001).select(same).equals(alone.select(same))
    one, other = (read(tmp_path / way / "seed-0/best.safetensors")[0] for way in ("swept/rate=0.001", "alone"))
    assert all(np.array_equal(one[key], other[key]) for key in one)
    found = pl.read_parquet(tmp_path / "swept" / "sweep.parquet")
    assert found.columns == ["set.rate", "seed", "acceptance", "step", "cpu_seconds"]
    assert found["set.rate"].to_list() == [0.1, 0.001]
    rows.clear()
    bw.train(swept, out=tmp_path / "swept", jobs=1, on_progress=rows.append)
    assert not rows
    assert pl.read_parquet(tmp_path / "swept" / "sweep.parquet").equals(found)


def test_a_point_that_goes_astray_leaves_the_rows_of_those_before(tmp_path: Path) -> None:
    agent = {falling(tmp_path): {"steep": 20.0}}
    with pytest.raises(UserError, match="training went astray: at, loss, weights of iteration 1"):
        bw.train(learning(agent=agent, sweep={"rate": [0.1, float("inf")]}), out=tmp_path / "out", jobs=1)
    assert pl.read_parquet(tmp_path / "out" / "sweep.parquet")["set.rate"].to_list() == [0.1]


def test_a_summary_has_the_best_validation_of_every_seed() -> None:
    rows = [
        {"set.rate": rate, "seed": seed, "split": split, "step": step, "acceptance": value, "cpu_seconds": 1.0 * step}
        for rate, seed, values in ((0.1, 0, (0.3, 0.5, 0.5)), (0.1, 1, (0.7, 0.1, 0.2)), (0.2, 0, (0.1, 0.2, 0.3)))
        for step, value in enumerate(values, 1)
        for split in ("train", "validation")
    ]
    found = summary(tiny(sweep={"rate": [0.1, 0.2]}), pl.DataFrame(rows))
    assert found.rows() == [(0.1, 0, 0.5, 2, 3.0), (0.1, 1, 0.7, 1, 3.0), (0.2, 0, 0.3, 3, 3.0)]


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ({"rat": [1.0]}, r"train\.agent\.nara\.rat: unknown option.*\n.*Did you mean 'rate'"),
        ({"rate": [0.1, "much"]}, r"train\.agent\.nara\.rate: expected a number, got 'much'"),
        ({"rate": []}, r"train\.sweep\.rate: expected at least 1 of these"),
    ],
)
def test_a_sweep_that_could_not_begin_is_refused(sweep: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        check_sweep(tiny(sweep=sweep))
