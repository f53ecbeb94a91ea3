"""Trains an agent with every combination of some settings: the `sweep` of a scenario's `train:`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from agents.learned.common.training import Row
from scenarios.learn.training import check_training, train
from scenarios.schema.load import source_of, validate
from scenarios.schema.scenario import Scenario
from scenarios.schema.train import Train
from simcore.files import write_table

TABLE = "sweep.parquet"
"""A row per point and seed: the settings, the best validation, and how long it took."""
SETTING = "set."
"""What the names of settings begin with as columns: logs have columns such as `loss` of their own."""

IN_FOLDERS = str.maketrans("/[]", "-()")


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

    Returns the logs with the settings as columns, such as `set.rate` (`written`). `watch` is called with rows that have
    the number of their point, too. The folder gets sweep.parquet (`summary`) after every training.
    """
    found, spec = points(scenario), scenario.train
    assert spec is not None
    logs: list[pl.DataFrame] = []
    for number, (point, each) in enumerate(found):
        say(f"{named(point)} ({number + 1} of {len(found)})")
        log = train(each, folder / named(point), fresh, partial(_numbered, watch, number), say)
        logs.append(log.with_columns(**{key: pl.lit(value) for key, value in written(spec.sweep, point).items()}))
        done = pl.concat(logs, how="diagonal_relaxed")
        write_table(folder / TABLE, summary(scenario, done))
    return done


def summary(scenario: Scenario, log: pl.DataFrame) -> pl.DataFrame:
    """Summarise the log of a sweep: a row per point and seed with the settings and the best validation.

    Columns: the settings, `seed`, the trainer's score, `step` of it, and `cpu_seconds` of the whole training.
    """
    spec = scenario.train
    assert spec is not None
    score, keys = spec.agent.registry.load(spec.agent.chosen[0]).score, [*(SETTING + key for key in spec.sweep), "seed"]
    judged = log.filter(pl.col("split") == "validation").sort(score, descending=True, maintain_order=True)
    best = judged.unique(keys, keep="first", maintain_order=True).select(*keys, score, "step")
    took = log.group_by(keys, maintain_order=True).agg(pl.col("cpu_seconds").max())
    return took.join(best, on=keys, how="left", maintain_order="left").select(*keys, score, "step", "cpu_seconds")


def check_sweep(scenario: Scenario) -> None:
    """Refuse a scenario of whose `train:` a point could not begin."""
    for _, each in points(scenario):
        check_training(each)


def named(point: dict[str, Any]) -> str:
    """Name the folder of a point, such as `rate=0.005,warm=(0,0.5)`; brackets would be patterns to polars."""
    return ",".join(f"{key}={_plain(value)}" for key, value in point.items()).translate(IN_FOLDERS)


def written(sweep: Mapping[str, Sequence[Any]], point: Mapping[str, Any]) -> dict[str, Any]:
    """Write a point of a sweep as columns of tables, such as `set.rate`.

    What is neither a number nor text becomes JSON, as in runs.parquet; so do numbers and truth values of a setting that
    has text, or values of both kinds, at other points.
    """
    found = {}
    for key, value in point.items():
        kinds = {_kind(_plain(each)) for each in sweep[key]}
        plain = _plain(value)
        found[SETTING + key] = plain if isinstance(plain, str) or len(kinds) == 1 else json.dumps(plain)
    return found


def _plain(value: Any) -> float | str:
    """Leave numbers, truth values and text as they are, and write anything else as JSON."""
    return value if isinstance(value, int | float | str) else json.dumps(value, separators=(",", ":"))


def _kind(value: float | str) -> type:
    return float if type(value) is int else type(value)


def _numbered(watch: Callable[[Row], None], number: int, row: Row) -> None:
    watch({**row, "point": number})


def _with(scenario: Scenario, spec: Train, point: dict[str, Any]) -> Scenario:
    """Return the scenario with these settings of the trainer, and without the sweep."""
    source = source_of(scenario)
    for key, value in point.items():
        keys = ("train", "agent", spec.agent.chosen[0], key)
        source.set(keys, value, {keys: source.place(("train", "sweep", key))})
    source.set(("train", "sweep"), {}, {})
    return validate(source)
