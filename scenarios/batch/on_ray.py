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
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import current_thread, main_thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from binwright.scenarios.batch.attempt import VERSION, Row, Task, attempt, failed
from binwright.scenarios.batch.pool import DoTasks
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


@contextmanager
def ray_cluster(address: str, jobs: int | None) -> Iterator[DoTasks]:
    """Connect to the cluster at `host:port`, or start one without an address; yields what does tasks there.

    Where Ray was started in this process already, that is used, and left as it is.
    """
    need("ray", "ray", what="a cluster", key="on")
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    if is_ours := not ray.is_initialized():
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        at_sigterm = signal.getsignal(signal.SIGTERM)
        if address:
            ray.init(address=_reached(address), **options)
        else:
            cpus = jobs or usable_cpus()
            ray.init("local", num_cpus=cpus, include_dashboard=False, object_store_memory=STORE, **options)
        if callable(at_sigterm) and current_thread() is main_thread():
            signal.signal(signal.SIGTERM, at_sigterm)  # Ray put its own there, which ends the process silently
    try:
        ref = ray.remote(num_cpus=1)(_code).remote()
        if not ray.wait([ref], timeout=PATIENCE)[0]:  # Ray itself would wait forever for a free CPU
            ray.cancel(ref, force=True)
            raise _no_worker()
        _fetched(ref)
        yield partial(_rows, jobs)
    finally:
        if is_ours:
            ray.shutdown()


def _rows(jobs: int | None, tasks: Sequence[Task], on_progress: OnProgress) -> Generator[Row, None, None]:
    """Do tasks, and give each one's row as it finishes; `on_progress` is not called."""
    do = ray.remote(num_cpus=1, max_retries=TRIES - 1)(_do)
    left, going, seen = deque(tasks), dict[Any, Task](), monotonic()
    try:
        while left or going:
            if cpus := int(ray.cluster_resources().get("CPU", 0)):  # of all nodes that are there
                seen = monotonic()
            elif monotonic() - seen > PATIENCE:  # every node but the head has gone, and it does no runs
                raise _no_worker()
            while left and len(going) < (jobs or max(1, cpus)):
                task = left.popleft()
                going[do.remote(task, _code())] = task
            for ref in ray.wait(list(going), timeout=1.0)[0]:  # now and then, look how many CPUs there are
                task = going.pop(ref)
                try:
                    row = _fetched(ref)
                except ray.exceptions.RayError as error:
                    problem = f"its Ray worker or node was lost: {str(error).splitlines()[0]}"
                    row = failed(task, f"{problem} (it was tried {TRIES} times)")
                yield row
    finally:
        for ref in going:
            ray.cancel(ref, force=True)


def _no_worker() -> UserError:
    """Make the error of a cluster in which nothing comes up."""
    remedy = "`ray status` says which nodes and CPUs there are. What is finished is kept: the same command goes on."
    return UserError(f"no worker of the Ray cluster came up within {PATIENCE} s", key="on", remedy=remedy)


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
        remedy = "Every node needs the same Binwright, with its extra `ray`, and the same Python."
        raise UserError(f"the cluster cannot do runs: {error.cause!r}", key="on", remedy=remedy) from error
