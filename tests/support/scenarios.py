"""Parts of scenarios, as mappings like those of a YAML file, and a run of one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl
import pytest

from binwright.agents.world import World
from binwright.analysis.results_api import Results
from binwright.fabric.cluster import Cluster
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.cluster import cluster_of, servers_of
from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario


def random_requests(requests: int, every: Any, flavours: list[Any], lifetimes: Any, **more: Any) -> dict[str, Any]:
    """Say requests that come at random, `every` so often, with lifetimes of this mean or law."""
    law = lifetimes if isinstance(lifetimes, dict) else {"exponential": {"mean": lifetimes}}
    arrivals = {"poisson": {"every": every}}
    return {"requests": requests, "arrivals": arrivals, "flavours": flavours, "lifetimes": law, **more}


def build_cluster(scenario: Scenario, seed: int = 0) -> Cluster:
    """Make the cluster at the start of a run of a seed."""
    return cluster_of(scenario.cluster, servers_of(scenario, seed))


Way: TypeAlias = Literal["python", "compiled"]
WAYS: tuple[Way, ...] = ("python", "compiled")


@contextmanager
def deciding(way: Way) -> Iterator[None]:
    """Have agents decide in Python within it, or in machine code where they can."""
    with pytest.MonkeyPatch.context() as patch:
        if way == "python":
            patch.setattr(World, "compiles", lambda *_: False)
        yield


def run_as(way: Way, batch: Batch) -> Results:
    """Do the runs of a batch in this process, with agents that decide so."""
    with deciding(way):
        results = batch.run()
    assert results.runs["compiled"].unique().to_list() == [way == "compiled"]
    return results


def first_run(
    scenario: Scenario | dict[str, Any], folder: Path, way: Way = "compiled"
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Play the first run of a scenario and record its requests; returns the row of its metrics, and the requests."""
    run = plan(scenario if isinstance(scenario, Scenario) else scenario_from({"record": ["requests"], **scenario}))[0]
    with deciding(way):
        row = execute(run, folder)
    return row, pl.read_parquet(folder / "details" / f"{run.name}.requests.parquet")
