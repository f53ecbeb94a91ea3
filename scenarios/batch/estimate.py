"""How long batches will take, from runs that are done and a few that are tried."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import NamedTuple

from binwright.scenarios.batch.attempt import Task
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.batch.journal import Row
from binwright.scenarios.batch.pool import Pool
from binwright.scenarios.build.plan import Run
from binwright.scenarios.run.progress import RunProgress

PATIENCE = 6.0
"""Seconds that all the trying may take, with the start of the workers that do it."""


class Estimate(NamedTuple):
    """Seconds of work, and how many runs they were estimated from; `more` when nobody knows how far some came."""

    seconds: float
    probes: int
    more: bool


def estimate(batches: Sequence[Batch], done: Sequence[Mapping[str, Row]], jobs: int) -> Estimate:
    """Estimate what is left to do of batches, of each after its `done`, by one process. Nothing is written.

    Each agent's mean over a batch's runs that are done counts. Of agents that have none the first seed is tried, at the
    first and the last point of a sweep, all together for PATIENCE seconds. Runs that were not finished by then count by
    how far they came, or as PATIENCE where they did not say, and those that were not begun as the mean of what was
    tried.
    """
    times: dict[tuple[int, str], list[float]] = {}
    left: dict[tuple[int, str], list[Run]] = {}
    for number, (batch, rows) in enumerate(zip(batches, done, strict=True)):
        for row in rows.values():
            times.setdefault((number, row["agent"]), []).append(row["seconds"])
        for run in batch.runs:
            if run.name not in rows:
                left.setdefault((number, run.agent.label), []).append(run)
    probes = {which: _probes(runs) for which, runs in left.items() if which not in times}
    tried = {run.name: run for runs in probes.values() for run in runs}
    took = _tried(list(tried.values()), jobs) if tried else {}
    unfinished = [name for name in tried if name not in took]
    took |= dict.fromkeys(unfinished[jobs:], mean(took.values()) if took else PATIENCE)
    times |= {which: [took.get(run.name, PATIENCE) for run in runs] for which, runs in probes.items()}
    seconds = sum(len(runs) * mean(times[which]) for which, runs in left.items())
    return Estimate(seconds, len(tried) - len(unfinished) or sum(map(len, done)), bool(unfinished))


def _probes(runs: Sequence[Run]) -> list[Run]:
    """Choose the first of an agent's runs at the first and at the last point."""
    last = next(run for run in runs if run.scenario is runs[-1].scenario)
    return [runs[0]] if last is runs[0] else [runs[0], last]


def _tried(probes: Sequence[Run], jobs: int) -> dict[str, float]:
    """Time the probes in worker processes that can be stopped; returns their seconds.

    Those are of the ones that finished in time, and what the others will take if they go on as they began.
    """
    took: dict[str, float] = {}
    going: dict[str, RunProgress] = {}

    def on_progress(task: Task, progress: RunProgress) -> None:
        going[task.run.name] = progress

    with TemporaryDirectory() as scratch, closing(Pool(jobs)) as pool:
        # A process is slow the first time: the second one counts, if there is time for it.
        tasks = [Task(0, run, Path(scratch) / "results") for run in (*probes, *probes)]
        for task, row in pool.rows(tasks, on_progress, PATIENCE):
            took[task.run.name] = min(row["seconds"], took.get(task.run.name, PATIENCE))
    for name, progress in going.items():
        if name not in took and progress.requests > progress.begun:
            took[name] = progress.seconds * (progress.of - progress.begun) / (progress.requests - progress.begun)
    return took
