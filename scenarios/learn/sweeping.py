"""Trains an agent with all seeds and every combination of some settings, and estimates what that costs."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import ceil
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import polars as pl

from binwright.agents.learned.loop import Row
from binwright.agents.learned.weights import extra
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
PATIENCE = 10.0
"""Seconds of CPU after which no further iteration is tried to estimate a cost; the points of a sweep share them."""


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

    Of a sweep every point has a folder of its own, the log has the settings as columns, such as `set.rate`
    (`written`), `watch` is called with rows that have the number of their point, too, and the folder gets sweep.parquet
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
            settings = {key: pl.lit(value) for key, value in written(spec.sweep, point).items()}
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


def written(sweep: Mapping[str, Sequence[Any]], point: Mapping[str, Any]) -> dict[str, Any]:
    """Write a point of a sweep as columns of tables, such as `set.rate`.

    What is neither a number nor text becomes JSON, as in runs.parquet; so do numbers and truth values of a setting that
    has text, or values of both kinds, at other points.
    """
    found = {}
    for key, value in point.items():
        kinds = {_kind(plain(each)) for each in sweep[key]}
        shown = plain(value)
        found[SETTING + key] = shown if isinstance(shown, str) or len(kinds) == 1 else json.dumps(shown)
    return found


def _kind(value: float | str) -> type:
    return float if type(value) is int else type(value)


class Measured(NamedTuple):
    """Holds the seconds of CPU of one iteration, of preparing a seed and of one validation, of so many iterations."""

    each: float
    preparing: float
    validation: float
    tried: int


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


def cost(scenario: Scenario, folder: Path | None) -> Cost:
    """Estimate what is left to train of a scenario in `folder`, or all of it. Nothing is written.

    Every point of a sweep goes by its own log, where the folder has one; else its first seed begins here. The first
    iteration counts only if there is no time for another, because it may compile.
    """
    spec, found = spec_of(scenario), points(scenario)
    counts, seconds, tried = [0, 0, 0], [0.0, 0.0, 0.0], 0  # of iterations, seeds that begin, validations
    for point, each in found:
        logs = [log_of(folder, point, seed) for seed in range(spec.seed, spec.seed + spec.seeds)]
        left = [max(0, spec.iterations - len(log)) for log in logs]
        if any(left):
            took = _logged(logs) or _measured(each, PATIENCE / len(found))
            more = sum(left), sum(n > 0 for n in left), sum(ceil(n / spec.validation.every) for n in left)
            for part, (count, each_takes) in enumerate(zip(more, took[:3], strict=True)):
                counts[part] += count
                seconds[part] += count * each_takes
            tried += took.tried
    iteration, preparing, validation = (s / max(1, n) for s, n in zip(seconds, counts, strict=True))
    return Cost(sum(seconds), counts[0], iteration, preparing, validation, tried)


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
    trainer.begin(course.training, course.validation, spec_of(scenario).seed)
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
