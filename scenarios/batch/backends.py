"""Where runs are done: in this process, in a pool of them, on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import TypeAlias

from scenarios.batch.attempt import Task, attempt
from scenarios.batch.journal import Row
from scenarios.build.plan import Run
from scenarios.run.going import Tell, Told
from simcore.cores import usable_cpus
from simcore.errors import UserError

Rows: TypeAlias = Generator[tuple[Task, Row], None, None]
Backend: TypeAlias = Callable[[Sequence[Task]], Rows]
"""Does tasks, and gives each one's row as it finishes, in any order."""

WORTH = 1.5
"""Seconds of work that are expected at least where workers are started: that takes .8 s."""
PATIENCE = 3.0
"""Seconds after which a run that has others behind it is left to workers, who begin it anew."""
RUN, REQUEST = 0.005, 20e-6
"""Seconds of a run and of each request, before anything is known: agents may take much longer."""


def checked_jobs(jobs: int | None) -> int | None:
    """Refuse what is not a number of runs at a time."""
    if jobs is not None and jobs < 1:
        raise UserError("must be 1 or more", key="jobs", value=jobs, remedy="Give how many runs to do at a time.")
    return jobs


@contextmanager
def opened(on: str, jobs: int | None, tasks: Sequence[Task], tell: Tell = lambda told: None) -> Iterator[Backend]:
    """Find what does these tasks: `on` is `local` or `ray`, or `ray://host:port` for a cluster that is there.

    `jobs` runs at a time; by default as many as there are CPUs. Workers start, or the cluster is found, on entering.
    `tell` is told how far runs on this machine are. A run in cells that is alone has them played by the whole cluster.
    """
    checked_jobs(jobs)
    if on == "local":
        hands = min(jobs or usable_cpus(), len(tasks))
        if hands > 1 and expected([task.run for task in tasks]) >= WORTH:
            from scenarios.batch.pool import Pool

            with Pool(hands, tell) as pool:
                yield pool.rows
        else:
            yield lambda tasks: _here(tasks, hands, tell)
    elif on == "ray" or on.startswith("ray://"):
        from scenarios.batch.on_ray import RayCluster, check_installed

        check_installed()
        if tasks:
            with RayCluster(on.removeprefix("ray").removeprefix("://"), jobs) as cluster:
                if len(tasks) == 1 and tasks[0].run.scenario.cluster.cells:
                    from scenarios.batch.cells_on_ray import rows_in_cells

                    yield partial(rows_in_cells, cluster, tell)
                else:
                    yield cluster.rows
        else:
            yield lambda tasks: _here(tasks, 1, tell)
    else:
        raise UserError("unknown place to run", key="on", value=on, remedy="Give local, ray, or ray://HOST:PORT.")


@contextmanager
def held(on: str, jobs: int | None) -> Iterator[None]:
    """Find or start a Ray cluster once for all batches within; elsewhere there is nothing to hold."""
    checked_jobs(jobs)
    if on == "ray" or on.startswith("ray://"):
        from scenarios.batch.on_ray import RayCluster, check_installed

        check_installed()
        with RayCluster(on.removeprefix("ray").removeprefix("://"), jobs):
            yield
    else:
        yield


def expected(runs: Sequence[Run]) -> float:
    """Guess the seconds that runs take, from the number of requests; agents that think long take longer."""
    return sum(RUN + REQUEST * (getattr(run.scenario.workload, "requests", None) or 100_000) for run in runs)


class _Longer(KeyboardInterrupt):
    """Ends a run that workers had better do: `attempt` lets it through, as an interrupt."""


def _here(tasks: Sequence[Task], hands: int, tell: Tell) -> Rows:
    """In this process; workers are called in when it turns out that there is work for them."""
    began = perf_counter()

    def impatient(told: Told) -> None:
        tell(told)
        if told.seconds >= PATIENCE:
            raise _Longer

    for number, task in enumerate(tasks):
        left = min(hands, len(tasks) - number)
        try:
            if left > 1 and (perf_counter() - began) / max(1, number) * (len(tasks) - number) >= WORTH * 2:
                raise _Longer
            row = attempt(task, impatient if left > 1 else tell)
        except _Longer:
            from scenarios.batch.pool import Pool

            with Pool(left, tell) as pool:
                yield from pool.rows(tasks[number:])
            return
        yield task, row
