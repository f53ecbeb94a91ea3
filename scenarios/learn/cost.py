"""Estimates what a training costs, before it has begun: measured on its first iterations."""

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import polars as pl

from binwright.agents.learned.common.tensors import extra
from binwright.scenarios.build.plan import named
from binwright.scenarios.learn.sweeping import points
from binwright.scenarios.learn.training import course_of, spec_of
from binwright.scenarios.schema.scenario import Scenario

PATIENCE = 10.0
"""Seconds of CPU after which no further iteration is tried; the points of a sweep share them."""


class Cost(NamedTuple):
    """Holds what is left to do, in seconds of CPU in all, and what that goes by.

    `iterations` are left of all seeds together; each takes so many seconds, preparing a seed and a validation as well:
    of a sweep these are means over what is left. `tried` iterations were measured, by this or in the folder.
    """

    seconds: float
    iterations: int
    each: float
    preparing: float
    validation: float
    tried: int


class Measured(NamedTuple):
    """Holds the seconds of CPU of one iteration, of preparing a seed and of one validation, of so many iterations."""

    each: float
    preparing: float
    validation: float
    tried: int


def cost(scenario: Scenario, folder: Path | None) -> Cost:
    """Estimate what is left to train of a scenario in `folder`, or all of it. Nothing is written.

    Every point of a sweep goes by its own log, where the folder has one; else its first seed begins here. The first
    iteration counts only if there is no time for another, because it may compile.
    """
    spec, found = spec_of(scenario), points(scenario)
    seeds = range(spec.seed, spec.seed + spec.seeds)
    iterations = tried = 0
    training = preparing = validating = 0.0
    begun = judged = 0
    for point, each in found:
        logs = [log_of(folder, point, seed) for seed in seeds]
        left = [max(0, spec.iterations - len(log)) for log in logs]
        if not any(left):
            continue
        took = _logged(logs) or _measured(each, PATIENCE / len(found))
        seeds_left, validations = sum(count > 0 for count in left), sum(ceil(n / spec.validation.every) for n in left)
        training, iterations = training + sum(left) * took.each, iterations + sum(left)
        preparing, begun = preparing + seeds_left * took.preparing, begun + seeds_left
        validating, judged = validating + validations * took.validation, judged + validations
        tried += took.tried
    return Cost(
        training + preparing + validating,
        iterations,
        training / max(1, iterations),
        preparing / max(1, begun),
        validating / max(1, judged),
        tried,
    )


def log_of(folder: Path | None, point: dict[str, Any], seed: int) -> pl.DataFrame:
    """Read the iterations that a seed has done."""
    if folder is None:
        return pl.DataFrame()
    own = (folder / named(point) if point else folder) / f"seed-{seed}"
    file = own / "log.parquet"
    if not (file.exists() and (own / "state.json").exists()):
        return pl.DataFrame()
    return pl.read_parquet(file).filter(pl.col("split") == "train")


def _logged(logs: Sequence[pl.DataFrame]) -> Measured | None:
    """Go by logs; what preparation takes is in none, and validations are in the time of the next iteration."""
    if tried := sum(map(len, logs)):
        return Measured(sum(log["cpu_seconds"].to_list()[-1] for log in logs if len(log)) / tried, 0.0, 0.0, tried)
    return None


def _measured(scenario: Scenario, patience: float) -> Measured:
    """Begin a training, and try no further iteration after `patience` seconds of CPU."""
    course = course_of(scenario)
    extra("torch").set_num_threads(course.threads)
    trainer, start = course.trainer(), process_time()
    trainer.begin(course.training, course.validation, spec_of(scenario).seed, course.device)
    preparing, times = process_time() - start, list[float]()
    while len(times) < course.iterations and sum(times) < patience:
        start = process_time()
        trainer.iterate(len(times) + 1)
        times.append(process_time() - start)
    start = process_time()
    course.validated(trainer)  # prepares its episodes, too
    first = process_time() - start
    start = process_time()
    course.validated(trainer)
    validation = process_time() - start
    later = times[1:] or times
    return Measured(sum(later) / len(later), preparing + max(0.0, first - validation), validation, len(later))
