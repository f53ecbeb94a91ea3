"""Training an agent with every combination of some settings: the `sweep` of a scenario's `train:`."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from agents.learned.common.training import Row
from scenarios.learn.training import check_training, train
from scenarios.schema.explain import explain
from scenarios.schema.scenario import Scenario
from scenarios.schema.source import Place, Source
from scenarios.schema.train import Train
from simcore.files import write_table

TABLE = "sweep.parquet"
"""A row per point and seed: the settings, the best validation, and how long it took."""


def points(scenario: Scenario) -> list[tuple[dict[str, Any], Scenario]]:
    """List every combination of settings, and the scenario that trains with them; the last setting varies fastest."""
    spec = scenario.train
    if spec is None or not spec.sweep:
        return [({}, scenario)]
    combined = (dict(zip(spec.sweep, values, strict=True)) for values in product(*spec.sweep.values()))
    return [(point, _with(scenario, spec, point)) for point in combined]


def train_sweep(
    scenario: Scenario,
    folder: Path,
    fresh: bool = False,
    watch: Callable[[Row], None] = lambda row: None,
    say: Callable[[str], None] = lambda text: None,
) -> pl.DataFrame:
    """Train what is missing of every point in a folder of its own, as `scenarios.learn.training.train` does.

    Returns the logs with the settings as columns. `watch` is called with rows that have the number of their point, too.
    The folder gets sweep.parquet (`summary`) after every training.
    """
    found = points(scenario)
    logs: list[pl.DataFrame] = []
    for number, (point, each) in enumerate(found):
        say(f"{named(point)} ({number + 1} of {len(found)})")
        log = train(each, folder / named(point), fresh, partial(_numbered, watch, number), say)
        logs.append(log.with_columns(**{key: pl.lit(value) for key, value in point.items()}))
        done = pl.concat(logs, how="diagonal_relaxed")
        write_table(folder / TABLE, summary(scenario, done))
    return done


def summary(scenario: Scenario, log: pl.DataFrame) -> pl.DataFrame:
    """Summarise the log of a sweep: a row per point and seed with the settings and the best validation.

    Columns: the settings, `seed`, the trainer's score, `step` of it, and `cpu_seconds` of the whole training.
    """
    spec = scenario.train
    assert spec is not None
    score, keys = spec.agent.registry.load(spec.agent.chosen[0]).score, [*spec.sweep, "seed"]
    judged = log.filter(pl.col("split") == "validation").sort(score, descending=True, maintain_order=True)
    best = judged.unique(keys, keep="first", maintain_order=True).select(*keys, score, "step")
    took = log.group_by(keys, maintain_order=True).agg(pl.col("cpu_seconds").max())
    return took.join(best, on=keys, how="left", maintain_order="left").select(*keys, score, "step", "cpu_seconds")


def check_sweep(scenario: Scenario) -> None:
    """Refuse a scenario of whose `train:` a point could not begin."""
    for _, each in points(scenario):
        check_training(each)


def named(point: dict[str, Any]) -> str:
    """Name the folder of a point, such as `rate=0.005,rejected=-10`."""
    return ",".join(f"{key}={value}" for key, value in point.items()).replace("/", "-")


def _numbered(watch: Callable[[Row], None], number: int, row: Row) -> None:
    watch({**row, "point": number})


def _with(scenario: Scenario, spec: Train, point: dict[str, Any]) -> Scenario:
    """Return the scenario with these settings of the trainer, and without the sweep."""
    written = scenario._source
    source = Source(scenario.file, copy.deepcopy(scenario.dump()), dict(written.places) if written else {})
    for key, value in point.items():
        keys = ("train", "agent", spec.agent.chosen[0], key)
        source.set(keys, value, {keys: written.place(("train", "sweep", key)) if written else Place(None)})
    source.set(("train", "sweep"), {}, {})
    try:
        found = Scenario.model_validate(source.data)
    except ValidationError as error:
        raise explain(error, source) from None
    found._source = source
    return found
