"""How long a batch will take, from runs that are done and a few that are tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import NamedTuple

from scenarios.batch.attempt import Task
from scenarios.batch.batch import Batch
from scenarios.batch.journal import Row
from scenarios.build.code import ours
from scenarios.build.engines import Engine
from scenarios.build.plan import Run

PATIENCE = 5.0
"""Seconds that all the trying may take."""


class Estimate(NamedTuple):
    """Seconds of work, and how many runs they were estimated from; `more` when some took longer than was waited."""

    seconds: float
    probes: int
    more: bool


def estimate(batch: Batch, done: Mapping[str, Row], jobs: int, engine: Engine = "auto") -> Estimate:
    """For what is left to do after `done`, by one process. Nothing is written.

    Each agent's mean over the runs that are done counts. Of agents that have none the first seed is tried, at the first
    and the last point of a sweep, all together for PATIENCE seconds.
    """
    left = [run for run in batch.runs if run.name not in done]
    known: dict[str, list[float]] = {}
    for row in done.values():
        known.setdefault(row["agent"], []).append(row["seconds"])
    probes = _probes(run for run in left if run.agent.label not in known)
    took = _tried(probes, batch.version, jobs, engine) if probes else {}
    for run in probes:
        known.setdefault(run.agent.label, []).append(took.get(run.name, PATIENCE))
    seconds = sum(mean(known[run.agent.label]) for run in left)
    return Estimate(seconds, len(took) or len(done), len(took) < len(probes))


def _probes(runs: Iterable[Run]) -> list[Run]:
    """Choose the first run of each agent at its first and its last point."""
    first: dict[str, Run] = {}
    last: dict[str, Run] = {}
    for run in runs:
        first.setdefault(run.agent.label, run)
        if run.scenario is not last.setdefault(run.agent.label, run).scenario:
            last[run.agent.label] = run
    return list({run.name: run for run in (*first.values(), *last.values())}.values())


def _tried(probes: Sequence[Run], version: str, jobs: int, engine: Engine) -> dict[str, float]:
    """Time the probes in worker processes that can be stopped; returns the seconds of those that finished in time."""
    from scenarios.batch.pool import Pool

    took: dict[str, float] = {}
    with TemporaryDirectory() as scratch, Pool(min(jobs, len(probes))) as pool:
        # A process is slow the first time: the second one counts, if there is time for it.
        tasks = [Task(0, run, Path(scratch) / "results", version, ours(), engine) for run in (*probes, *probes)]
        for task, row in pool.rows(tasks, PATIENCE):
            took[task.run.name] = min(row["seconds"], took.get(task.run.name, PATIENCE))
    return took
