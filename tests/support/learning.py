"""What tests of agents that learn on NUMA servers share: requests, a scenario, and what training must keep to."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from binwright.agents.learned import loop
from binwright.agents.learned.weights import read
from binwright.fabric.cluster import NEVER, Cluster
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.learn.training import train
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.workload import Workload
from tests.support.scenarios import random_requests, run_as
from tests.support.training import plain


def busy(n: int, names: tuple[str, ...] = ("cpu", "mem"), nodes: int = 2) -> tuple[Workload, Cluster]:
    """Requests that fill six servers; those for more than 10 of the last resource are spread."""
    rng = np.random.default_rng(5)
    capacity = np.full((6, nodes, len(names)), 40)
    above = (NEVER,) * (len(names) - 1) + (10,)
    times = np.cumsum(rng.exponential(1, n)), rng.exponential(90, n)
    requests = Workload(names, *times, rng.integers(1, 16, (n, len(names))), np.arange(n))
    return requests, Cluster(names, capacity, above, capacity[0])


def small(**changed: Any) -> dict[str, Any]:
    """A scenario in which something is learned in moments."""
    return {
        "name": "small",
        "cluster": {"servers": 3, "nodes": 2, "node": {"cpu": 10, "mem": 10}, "spread_above": {"mem": 6}},
        "workload": random_requests(
            300, "1 s", [{"cpu": 1, "mem": 1}, {"cpu": 4, "mem": 8}, {"cpu": 8, "mem": 16}], "8 s"
        ),
        "overflow": "stop",
        "agents": ["best-fit"],
    } | changed


def crowded(**changed: Any) -> dict[str, Any]:
    """The same with other demands, of which what fits nowhere is lost."""
    usual = small()
    flavours = [{"cpu": 1, "mem": 1, "weight": 3}, {"cpu": 4, "mem": 5}, {"cpu": 8, "mem": 16}]
    return usual | {"workload": {**usual["workload"], "flavours": flavours}, "overflow": "drop"} | changed


def trained(agent: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """The same with a little training."""
    return small(train=a_little(agent) | changed)


def a_little(agent: dict[str, Any]) -> dict[str, Any]:
    """A training that takes moments."""
    return {"agent": agent, "iterations": 4, "validation": {"every": 2, "episodes": 3}}


def going_on(scenario: dict[str, Any], folder: Path, rows: int = 2) -> pl.DataFrame:
    """Training that is interrupted after so many rows of its log ends as if it was not: that log; and it is used."""
    torch = pytest.importorskip("torch")
    whole = train(scenario_from(scenario), folder / "whole")
    seen: list[dict[str, Any]] = []

    def interrupt(row: dict[str, Any]) -> None:
        seen.append(row)
        if len(seen) == rows:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "PATIENCE", 0.0)
        with pytest.raises(KeyboardInterrupt):
            train(scenario_from(scenario), folder / "parts", watch=interrupt)
    again = train(scenario_from(scenario), folder / "parts")
    retained = [name for name in whole.columns if "seconds" not in name]
    assert whole.select(retained).equals(again.select(retained))
    each, other = (read(next((folder / part).glob("*/best.safetensors")))[0] for part in ("whole", "parts"))
    assert each.keys() == other.keys()
    for name, array in each.items():
        np.testing.assert_array_equal(array, other[name])
    each, other = (plain(torch.load(next((folder / part).glob("*/state.pt")))) for part in ("whole", "parts"))
    assert each == other
    return whole


def in_use(agent: str, folder: Path, servers: int = 5, **options: Any) -> None:
    """What `going_on` left in its folder is used on so many servers."""
    path = str(next(folder.glob("whole/*/best.safetensors")))
    cluster = small()["cluster"] | {"servers": servers}
    used = scenario_from(small(agents=["best-fit", {agent: {"path": path, **options}}], cluster=cluster))
    results = [run_as(engine, Batch(used, folder / engine)) for engine in ("compiled", "python")]
    assert not len(results[0].failed), results[0].failed["error"][0]
    same = [column for column in results[0].runs.columns if column not in ("compiled", "seconds", "decision_us")]
    assert results[0].runs[same].equals(results[1].runs[same])
