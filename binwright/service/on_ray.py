"""Jobs of the service that are done on a Ray cluster: an actor for each that runs at a time."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from importlib.metadata import version
from threading import Event
from time import monotonic
from typing import Any

from binwright.scenarios.batch.on_ray import RayCluster, check_code, fetched
from binwright.scenarios.build.code import ours
from binwright.service import pool
from binwright.service.limits import Limits
from binwright.simcore.cores import ONE_THREAD

LOG = logging.getLogger("binwright")
LOOK = 0.5
"""Seconds between two looks at how far a job is, and whether it is to be cancelled."""
SILENCE = 60.0
"""Seconds after its time that an actor has to answer; Ray notices a machine that is gone long before."""


def on_ray(cluster: RayCluster, limits: Limits) -> pool.Hire:
    """Have jobs done by the cluster; an actor that is up serves the next job of its thread, too."""
    import ray

    fetched(ray.remote(num_cpus=1)(check_code).remote(version("binwright"), ours()))
    made = ray.remote(num_cpus=1, max_restarts=0, max_concurrency=2)(_Actor)
    actors: dict[int, Any] = {}

    def hire(core: int, seconds: float, stopping: Event) -> pool.Hand | None:
        if core not in actors:
            actors[core] = made.remote(version("binwright"), ours())
        begun = actors[core].begin.remote(limits, seconds)
        while not ray.wait([begun], timeout=LOOK)[0]:  # the cluster may have no CPU for us now
            if stopping.is_set():
                return None
        try:
            ray.get(begun)
        except ray.exceptions.RayError as error:
            del actors[core]
            LOG.warning(f"binwright: an actor for jobs did not start: {error}")
            raise OSError(str(error)) from None
        return _Hand(actors[core], lambda: actors.pop(core, None))

    return hire


class _Hand:
    """An actor that has a process for a job, from here; `lose` forgets the actor."""

    def __init__(self, actor: Any, lose: Callable[[], object]) -> None:
        self._actor, self._lose, self._memory = actor, lose, 0

    def solve(self, task: pool.Task) -> dict[str, Any] | None:
        """Have a job done, as a `Hand`."""
        import ray

        said, end = self._actor.solve.remote(task.request, task.seconds), monotonic() + task.seconds + SILENCE
        try:
            while not task.stopping.is_set():
                if ray.wait([said], timeout=LOOK)[0]:
                    found: dict[str, Any] = ray.get(said)
                    return found
                progress, self._memory = ray.get(self._actor.look.remote(task.cancelled()), timeout=SILENCE)
                if progress is not None:
                    task.tell(progress)
                if monotonic() > end:
                    raise TimeoutError("it does not answer")
        except (ray.exceptions.RayError, TimeoutError) as error:
            self._lose()
            raise pool.Lost(f"the Ray worker or node that had it was lost: {str(error).splitlines()[0]}") from None
        return None

    def memory(self) -> int:
        """Give the bytes that it had when it was looked at."""
        return self._memory

    def end(self) -> None:
        """Have the actor end the process; whether it does shows with the next job."""
        self._actor.end.remote()


class _Actor:
    """Has a process for one job at a time, on a node of the cluster, as the service has here."""

    def __init__(self, there: str, code: str) -> None:
        os.environ.update(ONE_THREAD)  # others run on this node's CPUs
        check_code(there, code)
        pool.prepare()
        self._progress: dict[str, Any] | None = None
        self._cancelled, self._over = False, Event()

    def begin(self, limits: Limits, seconds: float) -> None:
        """Start the process."""
        self._progress, self._cancelled, self._over = None, False, Event()
        self._worker = pool.Worker(limits, seconds, None)

    def solve(self, request: str, seconds: float) -> dict[str, Any] | None:
        """Have the job done."""
        return self._worker.solve(pool.Task(request, seconds, self._tell, lambda: self._cancelled, self._over))

    def _tell(self, progress: dict[str, Any]) -> None:
        self._progress = progress

    def look(self, cancel: bool) -> tuple[dict[str, Any] | None, int]:
        """Say how far it is, and how much memory it has; `cancel` ends the search, which hands over its best."""
        self._cancelled = self._cancelled or cancel
        return self._progress, self._worker.memory()

    def end(self) -> None:
        self._over.set()
        self._worker.end()
