"""How long batches will take, from runs that are done and a few that are tried."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import NamedTuple

from binwright.scenarios.batch.attempt import Task
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.batch.journal import Row
from binwright.scenarios.build.code import ours
from binwright.scenarios.build.plan import Run
from binwright.scenarios.run.progress import RunProgress

PATIENCE = 5.0
"""Seconds that all the trying may take."""


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
    left, known, probes = [], [], []
    for batch, rows in zip(batches, done, strict=True):
        times: dict[str, list[float]] = {}
        for row in rows.values():
            times.setdefault(row["agent"], []).append(row["seconds"])
        left.append([run for run in batch.runs if run.name not in rows])
        known.append(times)
        probes.append(_probes(run for run in left[-1] if run.agent.label not in times))
    tried = [run for runs in probes for run in runs]
    took = _tried(tried, batches[0].version, jobs) if tried else {}
    unfinished = [run.name for run in tried if run.name not in took]
    took |= dict.fromkeys(unfinished[jobs:], mean(took.values()) if took else PATIENCE)
    seconds = 0.0
    for runs, times, some in zip(left, known, probes, strict=True):
        for run in some:
            times.setdefault(run.agent.label, []).append(took.get(run.name, PATIENCE))
        seconds += sum(mean(times[run.agent.label]) for run in runs)
    finished = len({run.name for run in tried}) - len(set(unfinished))
    return Estimate(seconds, finished or sum(map(len, done)), bool(unfinished))


def _probes(runs: Iterable[Run]) -> list[Run]:
    """Choose the first run of each agent at its first and its last point."""
    first: dict[str, Run] = {}
    last: dict[str, Run] = {}
    for run in runs:
        first.setdefault(run.agent.label, run)
        if run.scenario is not last.setdefault(run.agent.label, run).scenario:
            last[run.agent.label] = run
    return list({run.name: run for run in (*first.values(), *last.values())}.values())


def _tried(probes: Sequence[Run], version: str, jobs: int) -> dict[str, float]:
    """Time the probes in worker processes that can be stopped; returns their seconds.

    Those are of the ones that finished in time, and what the others will take if they go on as they began.
    """
    from binwright.scenarios.batch.pool import Pool

    took: dict[str, float] = {}
    going: dict[str, RunProgress] = {}

    def on_progress(progress: RunProgress) -> None:
        going[progress.run] = progress

    with TemporaryDirectory() as scratch, Pool(min(jobs, len(probes)), on_progress) as pool:
        # A process is slow the first time: the second one counts, if there is time for it.
        tasks = [Task(0, run, Path(scratch) / "results", version, ours()) for run in (*probes, *probes)]
        for task, row in pool.rows(tasks, PATIENCE):
            took[task.run.name] = min(row["seconds"], took.get(task.run.name, PATIENCE))
    for name, progress in going.items():
        if name not in took and progress.requests > progress.begun:
            took[name] = progress.seconds * (progress.of - progress.begun) / (progress.requests - progress.begun)
    return took
