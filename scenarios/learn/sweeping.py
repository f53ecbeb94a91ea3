"""Trains an agent with all seeds and every combination of some settings."""

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from binwright.agents.learned.loop import Row
from binwright.scenarios.batch.backends import checked_jobs
from binwright.scenarios.build.plan import named, plain
from binwright.scenarios.learn.parallel import Heard, train_jobs
from binwright.scenarios.learn.training import (
    TrainingJob,
    announced,
    check_training,
    course_of,
    gathered,
    spec_of,
    taken,
)
from binwright.scenarios.schema.load import source_of, validate
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.files import write_table

TABLE = "sweep.parquet"
"""A row per point and seed: the settings, the best validation, and how long it took."""
SETTING = "set."
"""What the names of settings begin with as columns: logs have columns such as `loss` of their own."""


def points(scenario: Scenario) -> list[tuple[dict[str, Any], Scenario]]:
    """List every combination of settings, and the scenario that trains with them; the last setting varies fastest."""
    spec = scenario.train
    if spec is None or not spec.sweep:
        return [({}, scenario)]
    settings = [dict(zip(spec.sweep, values, strict=True)) for values in product(*spec.sweep.values())]
    varied = []
    for point in settings:
        source = source_of(scenario)
        for key, value in point.items():
            keys = ("train", "agent", spec.agent.chosen[0], key)
            source.set(keys, value, {keys: source.place(("train", "sweep", key))})
        source.set(("train", "sweep"), {}, {})
        varied.append((point, validate(source)))
    return varied


def train(
    scenario: Scenario,
    folder: Path,
    fresh: bool = False,
    watch: Callable[[Row], None] = lambda row: None,
    say: Callable[[str], None] = lambda text: None,
    jobs: int | None = 1,
) -> pl.DataFrame:
    """Train what is missing of every seed of every point, `jobs` at a time, and return the log, also log.parquet.

    `fresh` begins anew. `watch` is called with every new row of the log, `say` with what begins before there is one.

    Of a sweep every point has a folder of its own, the log has the settings as columns, such as `set.rate`,
    `watch` is called with rows that have the number of their point, too, and the folder gets sweep.parquet
    (`summary`) after every training.
    """
    checked_jobs(jobs)
    found, spec = points(scenario), spec_of(scenario)
    trainings = [
        TrainingJob(each, folder / named(point) if spec.sweep else folder, seed, number)
        for number, (point, each) in enumerate(found)
        for seed in range(spec.seed, spec.seed + spec.seeds)
    ]
    logs: dict[int, pl.DataFrame] = {}

    def hear(job: TrainingJob, new: Heard) -> None:
        point = found[job.point][0]
        if new.row:
            watch({**new.row, "point": job.point} if spec.sweep else new.row)
        elif new.said:
            say(f"{named(point)} ({job.point + 1} of {len(found)}), {new.said}" if spec.sweep else new.said)
        elif new.over:
            settings = {SETTING + key: pl.lit(plain(value)) for key, value in point.items()}
            logs[job.point] = gathered(job.folder).with_columns(**settings)
            if spec.sweep:
                write_table(folder / TABLE, summary(scenario, _joined(logs)))

    say(announced(scenario, folder))
    check_sweep(scenario)
    course_of(found[0][1])  # what cannot begin is found out before anything is written
    with taken(trainings, fresh):
        train_jobs(trainings, jobs, hear)
    return _joined(logs)


def _joined(logs: Mapping[int, pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([log for _, log in sorted(logs.items())], how="diagonal_relaxed")


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


def log_of(folder: Path | None, point: dict[str, Any], seed: int) -> pl.DataFrame:
    """Read the iterations that a seed has done."""
    if folder is None:
        return pl.DataFrame()
    own = (folder / named(point) if point else folder) / f"seed-{seed}"
    file = own / "log.parquet"
    if not (file.exists() and (own / "state.json").exists()):
        return pl.DataFrame()
    return pl.read_parquet(file).filter(pl.col("split") == "train")
