"""Where runs are done: in this process, in a pool of them, on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Self, TypeAlias

from binwright.scenarios.batch.attempt import Task, attempt
from binwright.scenarios.batch.journal import Row
from binwright.scenarios.build.plan import Run
from binwright.scenarios.run.progress import OnProgress, RunProgress
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import UserError

if TYPE_CHECKING:
    from binwright.scenarios.batch.pool import Pool

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
def opened(
    on: str, jobs: int | None, tasks: Sequence[Task], on_progress: OnProgress = lambda progress: None
) -> Iterator[Backend]:
    """Find what does these tasks: `on` is `local` or `ray`, or `ray://host:port` for a cluster that is there.

    `jobs` runs at a time; by default as many as there are CPUs. Workers start, or the cluster is found, on entering.
    `on_progress` is called with how far runs on this machine are.
    """
    checked_jobs(jobs)
    if on == "local" and _held:
        _held[-1].on_progress = on_progress
        yield _held[-1].rows
    elif on == "local":
        with _Here(min(jobs or usable_cpus(), max(1, len(tasks)))) as here:
            here.on_progress = on_progress
            if len(tasks) > 1 and expected([task.run for task in tasks]) >= WORTH:
                here.call()
            yield here.rows
    elif on == "ray" or on.startswith("ray://"):
        from binwright.scenarios.batch.on_ray import RayCluster, check_installed

        check_installed()
        if tasks:
            with RayCluster(on.removeprefix("ray").removeprefix("://"), jobs) as cluster:
                yield cluster.rows
        else:
            yield _Here(1).rows
    else:
        raise UserError("unknown place to run", key="on", value=on, remedy="Give local, ray, or ray://HOST:PORT.")


@contextmanager
def held(on: str, jobs: int | None) -> Iterator[None]:
    """Find or start a Ray cluster once for all batches within, or keep the workers that one of them calls in."""
    checked_jobs(jobs)
    if on == "local":
        with _Here(jobs or usable_cpus()) as here:
            _held.append(here)
            try:
                yield
            finally:
                _held.pop()
    elif on == "ray" or on.startswith("ray://"):
        from binwright.scenarios.batch.on_ray import RayCluster, check_installed

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


class _Here:
    """Does tasks in this process, and calls workers in when it turns out that there is work for them.

    They stay until the `with` is left, for batches one after another; what earlier batches took tells what is to come.
    Workers remember what they have read: where code or its files have changed, new ones take their places.
    """

    def __init__(self, jobs: int) -> None:
        self.on_progress: OnProgress = lambda progress: None
        self._jobs = jobs
        self._pool: Pool | None = None
        self._spent = 0.0
        self._code: dict[object, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool:
            self._pool.__exit__(None, None, None)
            self._pool = None

    def call(self) -> Pool:
        """Return the workers, who are called in if there are none."""
        if self._pool is None:
            from binwright.scenarios.batch.pool import Pool

            self._pool = Pool(self._jobs, self._told).__enter__()
        return self._pool

    def _told(self, progress: RunProgress) -> None:
        self.on_progress(progress)  # of the batch of now

    def rows(self, tasks: Sequence[Task]) -> Rows:
        code: dict[object, str] = {task.folder: task.run.family for task in tasks}
        code |= {str(task.run.agent.dump()): task.run.asked for task in tasks}
        if any(self._code.get(key, digest) != digest for key, digest in code.items()):
            self.__exit__()
            self._code.clear()
        self._code |= code
        left = len(tasks)
        try:
            for task, row in self._rows(tasks):
                left -= 1
                yield task, row
        finally:
            if left:  # workers are in the midst of something that nobody waits for
                self.__exit__()

    def _rows(self, tasks: Sequence[Task]) -> Rows:
        began = perf_counter()

        def impatient(progress: RunProgress) -> None:
            self.on_progress(progress)
            if progress.seconds >= PATIENCE:
                raise _Longer

        for number, task in enumerate(tasks):
            several = min(self._jobs, left := len(tasks) - number) > 1
            seconds = perf_counter() - began
            if self._pool or (several and seconds / max(1, number) * left + self._spent >= WORTH * 2):
                break
            try:
                row = attempt(task, impatient if several else self.on_progress)
            except _Longer:
                break
            yield task, row
        else:
            self._spent += perf_counter() - began
            return
        yield from self.call().rows(tasks[number:])


_held: list[_Here] = []
"""Who does the tasks of all batches within `held`, the innermost last."""
