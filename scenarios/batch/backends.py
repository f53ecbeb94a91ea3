"""Where runs are done: in this process, in worker processes, on a Ray cluster."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from binwright.scenarios.batch.attempt import Task, attempt
from binwright.scenarios.batch.journal import Row
from binwright.scenarios.batch.pool import Pool
from binwright.scenarios.run.progress import OnProgress
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import UserError

if TYPE_CHECKING:
    from binwright.scenarios.batch.on_ray import RayCluster

WORTH = 1.5
"""Seconds of work that are expected at least where workers are started: that takes .8 s."""
RUN, REQUEST = 0.005, 20e-6
"""Seconds of a run and of each request, before anything is known: agents may take much longer."""


def checked_jobs(jobs: int | None) -> int | None:
    """Refuse what is not a number of runs at a time."""
    if jobs is not None and jobs < 1:
        raise UserError("must be 1 or more", key="jobs", value=jobs, remedy="Give how many runs to do at a time.")
    return jobs


def backend(on: str, jobs: int | None) -> Local | RayCluster:
    """Find what does runs: `on` is `local` or `ray`, or `ray://host:port` for a cluster that is there.

    `jobs` runs at a time; by default as many as there are CPUs.
    """
    if on == "local":
        return Local(jobs)
    if on == "ray" or on.startswith("ray://"):
        from binwright.scenarios.batch.on_ray import RayCluster

        return RayCluster(on.removeprefix("ray").removeprefix("://"), checked_jobs(jobs))
    raise UserError("unknown place to run", key="on", value=on, remedy="Give local, ray, or ray://HOST:PORT.")


def _expected(tasks: Sequence[Task]) -> float:
    """Guess the seconds that runs take, from the number of requests; agents that think long take longer."""
    return sum(RUN + REQUEST * (getattr(task.run.scenario.workload, "requests", None) or 100_000) for task in tasks)


class Local:
    """Does tasks in this process, and calls workers in when there is work for them, or when it turns out that there is.

    They stay for further batches; what earlier batches took tells what is to come. Workers remember what they have
    read: where code or its files have changed, new ones take their places.
    """

    def __init__(self, jobs: int | None) -> None:
        self._jobs = checked_jobs(jobs) or usable_cpus()
        self._pool: Pool | None = None
        self._spent = 0.0
        self._code: dict[object, str] = {}

    def get_ready(self, tasks: Sequence[Task]) -> None:
        """Start workers where there is much to do, before anything is written."""
        code: dict[object, str] = {task.folder: task.run.family for task in tasks}
        code |= {str(task.run.agent.dump()): task.run.asked for task in tasks}
        if any(self._code.get(key, digest) != digest for key, digest in code.items()):
            self.close()
            self._code.clear()
        self._code |= code
        if min(self._jobs, len(tasks)) > 1 and _expected(tasks) >= WORTH:
            self._pool = self._pool or Pool(self._jobs)
            self._pool.start(len(tasks))

    def rows(self, tasks: Sequence[Task], on_progress: OnProgress) -> Generator[tuple[Task, Row], None, None]:
        """Do tasks, and give each one's row as it finishes, in any order; say how far runs are."""
        began = perf_counter()

        for number, task in enumerate(tasks):
            several = min(self._jobs, left := len(tasks) - number) > 1
            seconds = perf_counter() - began
            if self._pool or (several and seconds / max(1, number) * left + self._spent >= WORTH * 2):
                break
            yield task, attempt(task, on_progress)
        else:
            self._spent += perf_counter() - began
            return
        left, self._pool = len(tasks) - number, self._pool or Pool(self._jobs)
        try:
            for task, row in self._pool.rows(tasks[number:], lambda task, progress: on_progress(progress)):
                left -= 1
                yield task, row
        finally:
            if left:  # workers are in the midst of something that nobody waits for
                self.close()

    def close(self) -> None:
        if self._pool:
            self._pool.close()
            self._pool = None
