"""Movers in whole runs: the engine rehearses every plan, and counts again what is free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenarios.batch.batch import Batch
from scenarios.schema.load import scenario_from
from tests.support.learning import small

MOVERS: list[Any] = [
    {"defragment": {"size": 4, "together": 1}},
    {"defragment": {"goal": "stranded"}},
    "empty",
    "lars",
    {"solver": {"size": 4, "runs": 1}},
    {"vmr": {"size": 4}},
]


@pytest.mark.parametrize(
    "mover", [MOVERS[0], *(pytest.param(mover, marks=pytest.mark.long) for mover in MOVERS[1:])], ids=str
)
def test_every_mover_moves_in_a_run_and_twice_the_same(mover: Any, tmp_path: Path) -> None:
    scenario = small(
        overflow="drop",
        knowledge={"lifetimes": "known"},
        rescheduling={"every": "5 s", "moves": 3, "mover": mover},
        agents=["worst-fit"],
    )
    done = [Batch(scenario_from(scenario), tmp_path / name).run().runs for name in ("one", "two")]
    assert done[0]["moves"].to_list() == done[1]["moves"].to_list()
    assert done[0]["scheduled"].to_list() == done[1]["scheduled"].to_list()
    assert done[0]["moves"][0] > 0
