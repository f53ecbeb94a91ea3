"""`binwright train`: logs, checkpoints, going on after an interruption, and everything that can go wrong."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import binwright as bw
from binwright.agents.learned import loop, ppo
from binwright.agents.learned.loop import TRAINING, forget
from binwright.agents.learned.nara import NaraTrainer
from binwright.agents.learned.weights import read
from binwright.cli import main
from binwright.scenarios.learn.training import course_of
from binwright.scenarios.schema.load import load_scenario
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import ResultsError, UserError
from tests.support.training import TINY, falling, interrupted, sound


def tiny(**train: Any) -> Scenario:
    return bw.scenario({**TINY, "train": {**TINY["train"], **train}})


@pytest.mark.long
def test_training_logs_validates_and_keeps_the_best_weights(tmp_path: Path) -> None:
    log = bw.train(tiny(seeds=2), out=tmp_path, jobs=1)
    assert log.columns[:5] == ["step", "seconds", "cpu_seconds", "split", "seed"]
    assert log["seed"].unique().to_list() == [0, 1]
    for seed in (0, 1):
        rows = log.filter(pl.col("seed") == seed)
        assert rows.filter(pl.col("split") == "train")["step"].to_list() == [1, 2, 3, 4]
        judged = rows.filter(pl.col("split") == "validation")
        assert judged["step"].to_list() == [2, 4]
        assert rows["seconds"].is_sorted()
        tensors, notes = read(tmp_path / f"seed-{seed}" / "best.safetensors")
        assert notes["trained"]["acceptance"] == judged["acceptance"].max()
        assert notes["iterations"] == 4 >= notes["trained"]["step"]
        assert notes["resources"] == ["cpu", "mem"]
        assert json.loads((tmp_path / f"seed-{seed}" / "best.json").read_text()) == notes
        assert not any(name.startswith("adam") for name in tensors)
    assert pl.read_parquet(tmp_path / "log.parquet").equals(log)
    assert not [path for path in tmp_path.rglob(".*") if path.suffix[1:].isdecimal()]
    for split, metric in (("train", "kl"), ("validation", "acceptance")):
        assert log.filter(pl.col("split") == split)[metric].is_finite().all()
    path = tmp_path / "seed-1" / "best.safetensors"
    results = bw.run(bw.scenario({**TINY, "agents": [{"nara": {"path": str(path)}}]}), out=tmp_path / "run")
    assert len(results.done) == 1


@pytest.mark.long
def test_weights_of_every_validation_are_kept_and_place_as_they_were_judged(tmp_path: Path) -> None:
    log = bw.train(tiny(validation={"every": 2, "episodes": 2, "keep": True}), out=tmp_path)
    for row in log.filter(pl.col("split") == "validation").to_dicts():
        path = tmp_path / "seed-0" / f"step-{row['step']}.safetensors"
        assert read(path)[1]["trained"]["acceptance"] == row["acceptance"]
        options = {**TINY, "agents": [{"nara": {"path": str(path)}}], "replications": 2, "seed": 2**30}
        runs = bw.run(bw.scenario(options), out=tmp_path / f"run-{row['step']}").runs
        assert runs["acceptance"].mean() == pytest.approx(row["acceptance"])
    bw.train(tiny(iterations=1), out=tmp_path, fresh=True)
    assert not list((tmp_path / "seed-0").glob("step-*"))


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes a checkpoint after every iteration."""
    monkeypatch.setattr(loop, "PATIENCE", 0.0)


@pytest.mark.long  # compiles a trainer's kernels
@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("at", [2, 1, 4])
def test_an_interrupted_training_goes_on_exactly(at: int, tmp_path: Path) -> None:
    bw.train(tiny(), out=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        bw.train(tiny(), out=tmp_path / "parts", on_progress=interrupted(at))
    rows: list[dict[str, Any]] = []
    bw.train(tiny(), out=tmp_path / "parts", on_progress=rows.append)
    assert 0 < len(rows) < 6
    assert sound(tmp_path / "parts") == sound(tmp_path / "whole")
    each, other = (read(tmp_path / way / "seed-0" / "best.safetensors")[0] for way in ("whole", "parts"))
    assert all(np.array_equal(each[name], other[name]) for name in each)


def test_what_is_interrupted_goes_on_from_its_last_checkpoint(tmp_path: Path) -> None:
    agent = {falling(tmp_path): {"rate": 0.1}}
    with pytest.raises(KeyboardInterrupt):
        bw.train(tiny(agent=agent), out=tmp_path / "out", on_progress=interrupted(2))
    rows: list[dict[str, Any]] = []
    bw.train(tiny(agent=agent), out=tmp_path / "out", on_progress=rows.append)
    assert [row["step"] for row in rows] == [1, 2, 2, 3, 4, 4], "there was none within the first seconds"
    bw.train(tiny(agent=agent, iterations=5), out=tmp_path / "out", on_progress=rows.append)
    assert [row["step"] for row in rows[6:]] == [5, 5]
    notes = read(tmp_path / "out" / "seed-0" / "best.safetensors")[1]
    assert (notes["iterations"], notes["trained"]["step"]) == (5, 2)


@pytest.mark.long  # compiles a trainer's kernels
def test_a_complete_training_is_repeated_with_fresh_only(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    bw.train(tiny(), out=tmp_path)
    bw.train(tiny(), out=tmp_path, on_progress=rows.append)
    assert rows == []
    bw.train(tiny(iterations=6), out=tmp_path, on_progress=rows.append)
    assert [row["step"] for row in rows] == [5, 6, 6]
    bw.train(tiny(), out=tmp_path, fresh=True, on_progress=rows.append)
    assert [row["step"] for row in rows[3:]] == [1, 2, 2, 3, 4, 4]


@pytest.mark.long  # compiles a trainer's kernels
@pytest.mark.usefixtures("patience")
def test_a_loss_that_is_no_number_stops_it_and_keeps_the_last_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    iterate, loss_of, now = NaraTrainer.iterate, ppo.loss_of, [0]

    def counted(self: NaraTrainer, iteration: int) -> dict[str, float]:
        now[0] = iteration
        return iterate(self, iteration)

    def astray(*arguments: Any) -> tuple[torch.Tensor, torch.Tensor]:
        loss, parts = loss_of(*arguments)
        return loss * (float("nan") if now[0] == 3 else 1.0), parts

    bw.train(tiny(iterations=2), out=tmp_path / "good")
    monkeypatch.setattr(NaraTrainer, "iterate", counted)
    monkeypatch.setattr(ppo, "loss_of", astray)
    with pytest.raises(UserError, match="entropy, weights of iteration 3 is not a finite number"):
        bw.train(tiny(), out=tmp_path / "bad")
    assert sound(tmp_path / "bad") == sound(tmp_path / "good")


@pytest.mark.long  # compiles a trainer's kernels
def test_other_terms_are_not_mixed(tmp_path: Path) -> None:
    bw.train(tiny(iterations=1), out=tmp_path)
    other = {**TINY["train"], "agent": {"nara": {"episodes": 4}}}
    with pytest.raises(UserError, match=r"trained on other terms: train\.agent\.nara\.episodes was 3, is 4"):
        bw.train(bw.scenario({**TINY, "train": other}), out=tmp_path)
    with pytest.raises(UserError, match=r"trained on other terms: train\.agent\.value-es was absent, is {}; train"):
        bw.train(bw.scenario({**TINY, "train": {**TINY["train"], "agent": "value-es"}}), out=tmp_path)
    with pytest.raises(UserError, match="trained on other terms: workload"):
        bw.train(bw.scenario({**TINY, "workload": {**TINY["workload"], "holding": 5}}), out=tmp_path)
    forget(tmp_path / "seed-0")
    assert list((tmp_path / "seed-0").iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "problem", "remedy"),
    [
        ("cvd-rl.pool=0", "pool: expected 1 or more, got 0", ""),
        ("cvd-rl.warm=[0, 1.5]", "warm.1: expected less than 1, got 1.5", ""),
        ("cvd-rl.against=best-fits", "against: unknown agent (got 'best-fits')", "Did you mean 'best-fit'?"),
    ],
)
def test_settings_out_of_bounds_name_their_place(
    setting: str, problem: str, remedy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent, _, source = setting.partition(".")
    key, _, value = source.partition("=")
    file = tmp_path / "tiny.yaml"
    lines = "train:", "  iterations: 1", "  agent:", f"    {agent}:", f"      {key}: {value}"
    text = "\n".join([*lines, *(f"{key}: {json.dumps(TINY[key])}" for key in TINY if key != "train")])
    file.write_text(text)
    assert main(["validate", str(file)]) == 2
    assert f"{file}:5: train.agent.{agent}.{problem}" in capsys.readouterr().out
    assert main(["train", str(file), "--out", str(tmp_path / "out")]) == 2
    output = capsys.readouterr().err
    assert f"{file}:5: train.agent.{agent}.{problem}" in output
    assert remedy in output
    assert not (tmp_path / "out").exists()


def test_validation_and_scenarios_never_meet_training_requests() -> None:
    course = course_of(load_scenario("nara/train-alpha"))
    assert max(course.held_out) < TRAINING
    assert min(course.held_out) >= 2**30
    assert len(course.training.draw(TRAINING)) == 32
    assert len(course.validation.draw(course.held_out[0])) == 128


@pytest.mark.long  # compiles a trainer's kernels
def test_two_trainings_never_share_a_folder(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with (tmp_path / ".lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ResultsError, match="another run is writing here"):
            bw.train(tiny(), out=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [".lock"]
    assert len(bw.train(tiny(iterations=1), out=tmp_path)) == 2


def test_a_checkpoint_of_another_version_is_a_message(tmp_path: Path) -> None:
    agent = {falling(tmp_path): {"rate": 0.1}}
    bw.train(tiny(agent=agent, iterations=1), out=tmp_path / "out")
    file = tmp_path / "out" / "seed-0" / "state.pt"
    state = torch.load(file)
    torch.save(state | {"trainer": {"before": 1.0}}, file)
    with pytest.raises(UserError, match="this checkpoint is of another version of binwright"):
        bw.train(tiny(agent=agent, iterations=2), out=tmp_path / "out")
    file.write_bytes(file.read_bytes()[:99])
    with pytest.raises(UserError, match="this checkpoint is damaged"):
        bw.train(tiny(agent=agent, iterations=2), out=tmp_path / "out")
    bw.train(tiny(agent=agent, iterations=2), out=tmp_path / "out", fresh=True)
