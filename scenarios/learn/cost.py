"""What a training costs, before it has begun: measured on its first iterations."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import polars as pl

from agents.learned.common.tensors import extra
from scenarios.learn.sweeping import named, points
from scenarios.learn.training import course_of, spec_of
from scenarios.schema.scenario import Scenario

PATIENCE = 10.0
"""Seconds of CPU after which no further iteration is tried."""


class Cost(NamedTuple):
    """Holds what is left to do, in seconds of CPU in all, and what that goes by.

    `iterations` are left of all seeds together; each takes so many seconds, preparing a seed and a validation as well.
    `tried` iterations were measured, by this or in the folder.
    """

    seconds: float
    iterations: int
    each: float
    preparing: float
    validation: float
    tried: int


def cost(scenario: Scenario, folder: Path | None) -> Cost:
    """Estimate what is left to train of a scenario in `folder`, or all of it. Nothing is written.

    A folder that has a log is gone by; else the first seed begins here, of a sweep that of the first point. Its first
    iteration counts only if there is no time for another, because it may compile.
    """
    spec, found = spec_of(scenario), points(scenario)
    seeds = range(spec.seed, spec.seed + spec.seeds)
    logs = [_log(folder, point, seed) for point, _ in found for seed in seeds]
    left = [max(0, spec.iterations - len(log)) for log in logs]
    if tried := sum(map(len, logs)):
        # What preparation takes is in no log, and validations are in the time of the next iteration.
        each = sum(log["cpu_seconds"].to_list()[-1] for log in logs if len(log)) / tried
        preparing = validation = 0.0
    else:
        each, preparing, validation, tried = _measured(found[0][1])
    iterations = sum(left)
    begun = sum(count > 0 for count in left)
    judged = sum(ceil(count / spec.validation.every) for count in left)
    seconds = begun * preparing + iterations * each + judged * validation
    return Cost(seconds, iterations, each, preparing, validation, tried)


def _log(folder: Path | None, point: dict[str, Any], seed: int) -> pl.DataFrame:
    """Read the iterations that a seed has done."""
    if folder is None:
        return pl.DataFrame()
    own = (folder / named(point) if point else folder) / f"seed-{seed}"
    file = own / "log.parquet"
    if not (file.exists() and (own / "state.json").exists()):
        return pl.DataFrame()
    return pl.read_parquet(file).filter(pl.col("split") == "train")


def _measured(scenario: Scenario) -> tuple[float, float, float, int]:
    """Begin a training; returns seconds of an iteration, of preparing and of a validation, and how many iterations."""
    course = course_of(scenario)
    extra("torch").set_num_threads(course.threads)
    trainer, start = course.trainer(), process_time()
    trainer.begin(course.training, course.validation, spec_of(scenario).seed, course.device)
    preparing, times = process_time() - start, list[float]()
    while len(times) < course.iterations and sum(times) < PATIENCE:
        start = process_time()
        trainer.iterate(len(times) + 1)
        times.append(process_time() - start)
    start = process_time()
    trainer.validate(course.held_out)  # prepares its episodes, too
    first = process_time() - start
    start = process_time()
    trainer.validate(course.held_out)
    validation = process_time() - start
    later = times[1:] or times
    return sum(later) / len(later), preparing + max(0.0, first - validation), validation, len(later)
