"""`binwright train`: logs, checkpoints, going on after an interruption, and everything that can go wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import binwright as bw
from agents.learned import TRAINERS, ppo
from agents.learned.nara.trainer import NaraTrainer
from agents.learned.tensors import read
from agents.learned.trainer import TRAINING
from agents.learned.training import forget
from binwright.cli import main
from scenarios.load import load_scenario, shipped
from scenarios.training import course_of
from simcore.errors import ResultsError, ScenarioError, UserError

TINY: dict[str, Any] = {
    "name": "tiny",
    "cluster": {
        "network": {
            "topology": {
                "fabric": {
                    "racks": 4,
                    "servers_per_rack": 2,
                    "racks_per_pod": 2,
                    "fabric_switches": 2,
                    "uplinks": 1,
                    "capacities": [1, 1, 1],
                }
            }
        },
        "node": {"cpu": 10, "mem": 10},
    },
    "workload": {"demand": "uniform", "requests": 12, "holding": 4},
    "pacing": {"step": 1, "await_room": True},
    "agents": ["random", "tetris"],
    "train": {
        "agent": {"nara": {"episodes": 3, "minibatch": 16, "epochs": 2}},
        "iterations": 4,
        "episodes": {"workload.requests": 6},
        "validation": {"every": 2, "episodes": 5},
    },
}


def tiny(**train: Any) -> bw.api.Scenario:  # type: ignore[name-defined]
    return bw.scenario({**TINY, "train": {**TINY["train"], **train}})


def test_it_logs_validates_and_keeps_the_best(tmp_path: Path) -> None:
    log = bw.train(tiny(seeds=2), out=tmp_path)
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
        assert notes["resources"] == ["cpu", "mem"]
        assert json.loads((tmp_path / f"seed-{seed}" / "best.json").read_text()) == notes
        assert not any(name.startswith("adam") for name in tensors)
    assert pl.read_parquet(tmp_path / "log.parquet").equals(log)
    assert not list(tmp_path.rglob("*.part"))
    for split, metric in (("train", "kl"), ("validation", "allocation_cpu")):
        assert log.filter(pl.col("split") == split)[metric].is_finite().all()
    path = tmp_path / "seed-1" / "best.safetensors"
    results = bw.run(bw.scenario({**TINY, "agents": [{"nara": {"path": str(path)}}]}), out=tmp_path / "run")
    assert len(results.done) == 1


def interrupted(at: int) -> Any:
    """A watch that interrupts after so many rows."""
    seen = []

    def watch(row: dict[str, Any]) -> None:
        seen.append(row)
        if len(seen) == at:
            raise KeyboardInterrupt

    return watch


def sound(folder: Path) -> tuple[Any, Any, Any]:
    """What a training has come to, but for its times."""
    tensors, notes = read(folder / "seed-0" / "state.safetensors")
    notes = {key: value for key, value in notes.items() if "seconds" not in key}
    log = pl.read_parquet(folder / "log.parquet").drop("seconds", "cpu_seconds")
    return {name: array.tolist() for name, array in tensors.items()}, notes, log.to_dicts()


@pytest.mark.parametrize("at", [1, 2, 4])
def test_an_interrupted_training_goes_on_exactly(at: int, tmp_path: Path) -> None:
    bw.train(tiny(), out=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        bw.train(tiny(), out=tmp_path / "parts", watch=interrupted(at))
    rows: list[dict[str, Any]] = []
    bw.train(tiny(), out=tmp_path / "parts", watch=rows.append)
    assert 0 < len(rows) < 6
    assert sound(tmp_path / "parts") == sound(tmp_path / "whole")
    for file in ("best", "state"):
        one, other = (read(tmp_path / way / "seed-0" / f"{file}.safetensors")[0] for way in ("whole", "parts"))
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_what_is_complete_is_not_trained_again_unless_asked(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    bw.train(tiny(), out=tmp_path)
    bw.train(tiny(), out=tmp_path, watch=rows.append)
    assert rows == []
    bw.train(tiny(iterations=6), out=tmp_path, watch=rows.append)
    assert [row["step"] for row in rows] == [5, 6, 6]
    bw.train(tiny(), out=tmp_path, fresh=True, watch=rows.append)
    assert [row["step"] for row in rows[3:]] == [1, 2, 2, 3, 4, 4]


def test_it_says_what_is_next_before_the_first_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        bw.train(tiny(), out=tmp_path, watch=interrupted(2), say=said.append)
    assert said[0] == f"nara in tiny: 4 iterations, seed 0, into {tmp_path}"
    assert said[1].startswith("seed 0: preparing episodes; what is new on this machine is compiled first")
    bw.train(tiny(), out=tmp_path, say=said.append)
    assert said[3].startswith("seed 0: goes on after iteration 2 of 4; preparing")

    def begin(*arguments: Any) -> None:
        raise AssertionError("nothing is to be prepared")

    monkeypatch.setattr(NaraTrainer, "begin", begin)
    bw.train(tiny(), out=tmp_path, say=said.append)
    assert said[5:] == ["seed 0: 4 iterations are done already"]
    with pytest.raises(UserError, match="trained on other terms"):
        bw.train(bw.scenario({**TINY, "workload": {**TINY["workload"], "holding": 5}}), out=tmp_path)


def test_the_command_says_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(json.dumps({**TINY, "train": {**TINY["train"], "iterations": 1, "seeds": 2}}))
    assert main(["train", str(file), "--out", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"nara in tiny: 1 iteration, seeds 0 to 1, into {tmp_path / 'out'}"
    assert [line.partition(":")[0] for line in lines if "preparing" in line] == ["seed 0", "seed 1"]


def test_seeds_differ_and_threads_do_not_matter(tmp_path: Path) -> None:
    bw.train(tiny(iterations=1, seeds=2), out=tmp_path / "one")
    bw.train(tiny(iterations=1, threads=2), out=tmp_path / "two")
    torch.set_num_threads(1)
    one, other = (read(tmp_path / f"one/seed-{seed}/best.safetensors")[0]["logit.weight"] for seed in (0, 1))
    assert not np.array_equal(one, other)
    again = read(tmp_path / "two/seed-0/best.safetensors")[0]["logit.weight"]
    np.testing.assert_allclose(one, again, rtol=1e-4)


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
    with pytest.raises(UserError, match=r"iteration 3 is no finite number; state\.safetensors has iteration 2"):
        bw.train(tiny(), out=tmp_path / "bad")
    assert sound(tmp_path / "bad") == sound(tmp_path / "good")


def test_a_rate_that_is_far_too_large_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(json.dumps({**TINY, "train": {**TINY["train"], "agent": {"nara": {"episodes": 3, "rate": 1e30}}}}))
    assert main(["train", str(file), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "training went astray" in said
    assert "Lower the learning rate" in said
    assert not (tmp_path / "out" / "seed-0" / "state.safetensors").exists()


def test_other_terms_are_not_mixed(tmp_path: Path) -> None:
    bw.train(tiny(iterations=1), out=tmp_path)
    other = {**TINY["train"], "agent": {"nara": {"episodes": 4}}}
    with pytest.raises(UserError, match=r"trained on other terms: train\.agent\.nara\.episodes was 3, is 4"):
        bw.train(bw.scenario({**TINY, "train": other}), out=tmp_path)
    with pytest.raises(UserError, match="trained on other terms: workload"):
        bw.train(bw.scenario({**TINY, "workload": {**TINY["workload"], "holding": 5}}), out=tmp_path)
    forget(tmp_path / "seed-0")
    assert list((tmp_path / "seed-0").iterdir()) == []


def test_cuda_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="no CUDA device here"):
        bw.train(tiny(device="cuda"), out=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert course_of(tiny()).device == "cpu"


@pytest.mark.parametrize(
    ("train", "match"),
    [
        (None, "train: is missing"),
        ({"agent": "narra"}, "train.agent.narra: unknown key\n  Did you mean 'nara'"),
        ({"agent": {"nara": {"rat": 1}}}, "train.agent.nara.rat: unknown option"),
        ({"agent": {"nara": {"rate": "fast"}}}, "train.agent.nara.rate: is a wrong value"),
        ({"agent": "nara", "episodes": {"workload.request": 6}}, "workload.request: unknown key"),
        ({"agent": "nara", "device": "gpu"}, "train.device: is a wrong value"),
    ],
)
def test_mistakes_are_explained(train: Any, match: str, tmp_path: Path) -> None:
    data = {**TINY, "train": {**train, "iterations": 1} if train else None}
    with pytest.raises(ScenarioError, match=match):
        bw.train(bw.scenario(data), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="--out"):
        bw.train(tiny(iterations=1), out=tmp_path / "file" / "out")


def test_the_command_says_where_everything_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(json.dumps(TINY))
    assert main(["train", str(file), "--out", str(tmp_path / "out"), "--set", "train.iterations=2"]) == 0
    said = capsys.readouterr()
    assert "seed 0: 2 iterations" in said.out
    assert str(tmp_path / "out" / "seed-0" / "best.safetensors") in said.out
    assert "seed 0, iteration 2" in said.err


def test_validation_and_scenarios_never_meet_training_requests() -> None:
    course = course_of(load_scenario("nara/train-alpha"))
    assert max(course.held_out) < TRAINING
    assert min(course.held_out) >= 2**30
    assert len(course.training.draw(TRAINING)) == 32
    assert len(course.validation.draw(course.held_out[0])) == 128


def test_train_changes_no_run() -> None:
    """Runs are named by content, and this is none of it."""
    scenario = bw.scenario(TINY)
    bare = bw.scenario({key: value for key, value in TINY.items() if key != "train"})
    from scenarios.plan import plan

    assert [run.name for run in plan(scenario)] == [run.name for run in plan(bare)]


def test_every_trainer_is_used_by_a_shipped_scenario() -> None:
    used = {load_scenario(name).train.agent.chosen[0] for name in shipped() if load_scenario(name).train}  # type: ignore[union-attr]
    assert used == set(TRAINERS)


def test_two_trainings_never_share_a_folder(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with (tmp_path / ".lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ResultsError, match="another run is writing here"):
            bw.train(tiny(), out=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [".lock"]
    assert len(bw.train(tiny(iterations=1), out=tmp_path)) == 2
