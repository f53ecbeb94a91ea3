"""Parts of scenarios, as mappings like those of a YAML file, and a run of one."""

from pathlib import Path
from typing import Any

import polars as pl

from binwright.scenarios.build.engines import Engine
from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario


def random_requests(requests: int, every: Any, flavours: list[Any], lifetimes: Any, **more: Any) -> dict[str, Any]:
    """Say requests that come at random, `every` so often, with lifetimes of this mean or law."""
    law = lifetimes if isinstance(lifetimes, dict) else {"exponential": {"mean": lifetimes}}
    arrivals = {"poisson": {"every": every}}
    return {"requests": requests, "arrivals": arrivals, "flavours": flavours, "lifetimes": law, **more}


def first_run(
    given: Scenario | dict[str, Any], folder: Path, engine: Engine = "auto"
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Play the first run of a scenario and record its requests; returns the row of its metrics, and the requests."""
    run = plan(given if isinstance(given, Scenario) else scenario_from({"record": ["requests"], **given}))[0]
    row = execute(run, folder, engine)
    return row, pl.read_parquet(folder / "details" / f"{run.name}.requests.parquet")
