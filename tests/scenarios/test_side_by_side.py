"""Trainings side by side: in processes, interrupted or not, they come to what one after the other does."""

import os
import signal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import binwright as bw
from binwright.agents.learned.weights import read
from binwright.scenarios.batch import pool
from binwright.scenarios.batch.pool import child as original
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import UserError
from tests.support.learning import trained
from tests.support.training import falling, interrupted

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> str:
    return falling(tmp_path_factory.mktemp("agent"))


def scenario_of(name: str, **train: Any) -> Scenario:
    """Four seeds, each trained in moments."""
    data = trained({name: {"rate": 0.01, "steep": 20.0}}, iterations=3)
    return bw.scenario({**data, "train": {**data["train"], "seeds": 4, **train}})


def come_to(folder: Path) -> dict[str, Any]:
    """Read everything that trainings left in a folder, but for times."""
    result: dict[str, Any] = {}
    for file in sorted(folder.rglob("*.safetensors")):
        tensors, notes = read(file)
        notes = {key: value for key, value in notes.items() if "seconds" not in key}
        notes["trained"] = {key: value for key, value in notes.get("trained", {}).items() if "seconds" not in key}
        result[str(file.relative_to(folder))] = {name: array.tobytes() for name, array in tensors.items()}, notes
    for file in sorted(folder.rglob("*.parquet")):
        result[str(file.relative_to(folder))] = untimed(pl.read_parquet(file))
    return result


def untimed(log: pl.DataFrame) -> list[dict[str, Any]]:
    return log.select(name for name in log.columns if "seconds" not in name).to_dicts()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, agent: str) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("alone")
    bw.train(scenario_of(agent), out=folder, jobs=1)
    return come_to(folder)


@pytest.mark.long
def test_processes_come_to_the_same_and_go_on(tmp_path: Path, agent: str, alone: dict[str, Any]) -> None:
    assert len([name for name in alone if name.endswith("best.safetensors")]) == 4
    rows: list[dict[str, Any]] = []
    with pytest.raises(KeyboardInterrupt):
        bw.train(scenario_of(agent), out=tmp_path, jobs=2, on_progress=interrupted(3))
    log = bw.train(scenario_of(agent), out=tmp_path, jobs=2, on_progress=rows.append)
    assert come_to(tmp_path) == alone
    assert untimed(log) == alone["log.parquet"]
    assert {row["seed"] for row in rows} <= {0, 1, 2, 3}
    assert not list(tmp_path.rglob(".*.*")), "something unfinished"


@pytest.mark.long
def test_a_process_that_is_killed_is_a_message_and_what_it_has_is_kept(
    tmp_path: Path, agent: str, alone: dict[str, Any]
) -> None:
    started: list[int] = []

    def child(*arguments: Any) -> Any:
        process, pipe = original(*arguments)
        started.append(process.pid)
        return process, pipe

    def kill(row: dict[str, Any]) -> None:
        if started:
            os.kill(started.pop(), signal.SIGKILL)
            started.clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "child", child)
        with pytest.raises(UserError, match=r"the process that trained seed \d was killed by SIGKILL") as error:
            bw.train(scenario_of(agent), out=tmp_path, jobs=2, on_progress=kill)
    assert "the same command goes on" in str(error.value)
    bw.train(scenario_of(agent), out=tmp_path, jobs=2)
    assert come_to(tmp_path) == alone
