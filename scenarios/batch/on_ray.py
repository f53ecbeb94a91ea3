"""Runs on a Ray cluster.

Here only what Ray has to know of: nodes need Binwright, and the files that a scenario names and the folder of results
under the same paths. They write details there, each whole or not at all.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections import deque
from collections.abc import Generator, Sequence
from threading import current_thread, main_thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from binwright.scenarios.batch.attempt import VERSION, Task, attempt, failed
from binwright.scenarios.batch.journal import Row
from binwright.scenarios.build.code import ours
from binwright.scenarios.run.progress import OnProgress
from binwright.simcore.cores import ONE_THREAD, usable_cpus
from binwright.simcore.errors import UserError
from binwright.simcore.extras import LazyModule, need

if TYPE_CHECKING:
    import ray
else:
    ray = LazyModule("ray")  # once the environment says what it takes from there

TRIES = 4
"""A run is tried so often when it loses its worker or its node: nodes come and go."""
PORT = 6379
"""What `ray start --head` listens at."""
CONNECT, PATIENCE = 5, 300
"""Seconds within which a cluster has to accept a connection, and to have a worker: some have to start nodes first."""
STORE = 256 * 2**20
"""Bytes for the results that are under way in a cluster of our own."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": "Raylet is terminated",  # else a page of a dead node's log
}
"""What Ray takes from the environment as it is imported."""


class RayCluster:
    """A cluster, until it is closed: the one at `host:port`, or one of our own without an address.

    Where Ray was started in this process already, that is used, and left as it is.
    """

    def __init__(self, address: str, jobs: int | None) -> None:
        need("ray", "ray", what="a cluster", key="on")
        self._address = address
        self._jobs = jobs
        self._ours = False
        self._seen = 0.0

    def get_ready(self, tasks: Sequence[Task]) -> None:
        """Find the cluster, or start it, if there is anything to do."""
        if not tasks:
            return
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        if not ray.is_initialized():
            options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
            at_sigterm = signal.getsignal(signal.SIGTERM)
            if self._address:
                ray.init(address=_reached(self._address), **options)
            else:
                cpus = self._jobs or usable_cpus()
                ray.init("local", num_cpus=cpus, include_dashboard=False, object_store_memory=STORE, **options)
            self._ours = True
            if callable(at_sigterm) and current_thread() is main_thread():
                signal.signal(signal.SIGTERM, at_sigterm)  # Ray put its own there, which ends the process silently
        ref = ray.remote(num_cpus=1)(_code).remote()
        if not ray.wait([ref], timeout=PATIENCE)[0]:  # Ray itself would wait forever for a free CPU
            ray.cancel(ref, force=True)
            raise _no_worker()
        _fetched(ref)
        self._seen = monotonic()

    def close(self) -> None:
        if self._ours:
            ray.shutdown()
            self._ours = False

    def _hands(self) -> int:
        """Count the runs that may go on at a time now; ends it all when there has been no CPU for too long."""
        if cpus := int(ray.cluster_resources().get("CPU", 0)):  # of all nodes that are there
            self._seen = monotonic()
        elif monotonic() - self._seen > PATIENCE:  # every node but the head has gone, and it does no runs
            raise _no_worker()
        return self._jobs or max(1, cpus)

    def rows(self, tasks: Sequence[Task], on_progress: OnProgress) -> Generator[tuple[Task, Row], None, None]:
        """Do the tasks, and give each one's row as it finishes; `on_progress` is not called."""
        do = ray.remote(num_cpus=1, max_retries=TRIES - 1)(_do)
        left, going = deque(tasks), dict[Any, Task]()
        try:
            while left or going:
                hands = self._hands()
                while left and len(going) < hands:
                    task = left.popleft()
                    going[do.remote(task, _code())] = task
                for ref in ray.wait(list(going), timeout=1.0)[0]:  # now and then, look how many CPUs there are
                    task = going.pop(ref)
                    yield task, _answer(ref, task)
        finally:
            for ref in going:
                ray.cancel(ref, force=True)


def _no_worker() -> UserError:
    """Make the error of a cluster in which nothing comes up."""
    return UserError(
        f"no worker of the Ray cluster came up within {PATIENCE} s",
        key="on",
        remedy="`ray status` says which nodes and CPUs there are. What is finished is kept: the same command goes on.",
    )


def _reached(address: str) -> str:
    """Complete an address by its port if something listens there. Ray itself would try for minutes, and then exit."""
    host, _, port = address.rpartition(":") if ":" in address else (address, "", str(PORT))
    try:
        socket.create_connection((host, int(port)), CONNECT).close()
    except (OSError, ValueError, OverflowError) as error:
        remedy = f"Give the address that `ray start --head` says (port {PORT}), on a machine that is a node of it."
        problem = f"this Ray address does not answer: {error}"
        raise UserError(problem, key="on", value=address, remedy=remedy) from None
    return f"{host}:{port}"


def _code() -> tuple[str, str]:
    """Tell which version of Binwright is here, and which code: whoever does runs must have the same."""
    return VERSION, ours()


def _do(task: Task, code: tuple[str, str]) -> Row:
    """Do a run on a node, write its details, and return its row."""
    os.environ.update({name: os.environ.get(name, value) for name, value in ONE_THREAD.items()})
    if _code() != code:
        raise RuntimeError(f"a node has Binwright {VERSION} with other code than this, {code[0]}, has")
    return attempt(task)


def _fetched(ref: Any) -> Any:
    """Fetch what a task returned."""
    try:
        return ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        raise UserError(
            f"the cluster cannot do runs: {error.cause!r}",
            key="on",
            remedy="Every node needs the same Binwright, with its extra `ray`, and the same Python.",
        ) from error


def _answer(ref: Any, task: Task) -> Row:
    """Return the row of a run that ended, one way or another."""
    try:
        row: Row = _fetched(ref)
    except ray.exceptions.RayError as error:
        problem = f"its Ray worker or node was lost: {str(error).splitlines()[0]} (it was tried {TRIES} times)"
        return failed(task, problem)
    return row
