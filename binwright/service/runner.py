"""Threads that take jobs: for each job a process that searches, and one that verifies, from a fork server."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from threading import Event, Thread
from time import monotonic
from typing import Any, TypeVar

from binwright.service.limits import Limits
from binwright.service.models import OURS, Job, Submission, failure
from binwright.service.store import StorageError, Store

LOOK = 0.05
"""Seconds between two looks at whether a job is to be cancelled."""
LAST_WORD = 3.0
"""Seconds that an interrupted search has to hand over its best."""
AGAIN = 1.0
"""Seconds until what the machine refused is tried again."""
T = TypeVar("T")
_context = multiprocessing.get_context("forkserver")
_Process = multiprocessing.context.ForkServerProcess


def prepare() -> None:
    """Start the process that forks workers. Numeric libraries must not start threads in it."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.environ["BINWRIGHT_SERVER"] = str(os.getpid())
    _context.set_forkserver_preload(["binwright.service.preload"])
    forkserver.ensure_running()


def _start(process: _Process) -> bool:
    """Start a process; returns whether the machine had one for us."""
    try:
        process.start()
    except (OSError, EOFError):
        return False
    return True


class Runner:
    """Does the jobs of a store, `workers` at a time, once `start` is called; sets `work` when there is a new one."""

    def __init__(self, store: Store, limits: Limits, workers: int) -> None:
        self._store, self._limits = store, limits
        self.work, self._stopping = Event(), Event()
        self.progress: dict[str, dict[str, Any]] = {}
        """The best so far of jobs that run, by id."""
        self.cancelled: set[str] = set()
        """Jobs that run and are to end, by id."""
        self._threads = [Thread(target=self._run, daemon=True) for _ in range(workers)]

    def start(self) -> None:
        """Begin to take jobs."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all processes; what they did waits for the next server."""
        self._stopping.set()
        self.work.set()
        for thread in self._threads:
            thread.join(LAST_WORD)

    def alive(self) -> int:
        """Count the threads that take jobs."""
        return sum(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        """Take jobs, once there is a process that forks workers: a crash before is no try of a job."""
        while not _start(_context.Process(target=int)) and not self._stopping.is_set():
            self._stopping.wait(AGAIN)
        while not self._stopping.is_set():
            self.work.clear()
            job = self._insist(self._store.take)
            if job is None:
                self.work.wait(AGAIN)
                continue
            self._insist(self._done(job))
            self.progress.pop(job.id, None)
            self.cancelled.discard(job.id)

    def _insist(self, do: Callable[[], T]) -> T | None:
        """Do something with the jobs as soon as the disk lets us; None if the server stops before."""
        while True:
            try:
                return do()
            except StorageError:
                if self._stopping.wait(AGAIN):
                    return None

    def _done(self, job: Job) -> Callable[[], None]:
        """Search in one process, and verify in another what it says; returns the change of the store that follows."""
        try:
            seconds = Submission.model_validate_json(job.request).time
            answer = self._ask(job, None, seconds + self._limits.grace)
            if answer and "found" in answer:
                answer = self._ask(job, answer["found"], self._limits.grace)
        except Exception:  # costs this job, not the thread
            with suppress(OSError):  # the log may be on a full disk, too
                traceback.print_exc()
            answer = failure("the service failed", OURS)
        if answer is None:
            return partial(self._store.put_back, job.id)
        is_cancelled, result = job.id in self.cancelled, answer.get("result")
        state = "cancelled" if is_cancelled else answer.get("state", "done")
        return partial(self._store.finish, job.id, state, result, None if is_cancelled else answer.get("error"))

    def _ask(self, job: Job, found: dict[str, Any] | None, seconds: float) -> dict[str, Any] | None:
        """Have a process search, or verify what is `found`; None if the machine has no process, or we stop."""
        from binwright.service.worker import run

        pipe, theirs = _context.Pipe(duplex=False)
        process = _context.Process(target=run, args=(theirs, job.request, found, self._limits, seconds))
        began = _start(process)
        theirs.close()
        with pipe:
            if not began:
                self._stopping.wait(AGAIN)
                return None
            try:
                return self._watched(job, process, pipe, seconds, cancels=found is None)
            finally:
                process.kill()
                process.join()
                process.close()

    def _watched(
        self, job: Job, process: _Process, pipe: Connection, seconds: float, *, cancels: bool
    ) -> dict[str, Any] | None:
        """Wait for what a process answers; it is interrupted at its deadline, and where the job is cancelled, once."""
        deadline, interrupted = monotonic() + seconds, False
        while not self._stopping.is_set():
            late = monotonic() > deadline
            if late and interrupted:
                return failure("takes longer than a job may take", "Make the problem smaller, or the time shorter.")
            if not interrupted and (late or (cancels and job.id in self.cancelled)):
                with suppress(ProcessLookupError):
                    os.kill(process.pid or 0, signal.SIGINT)
                interrupted, deadline = True, monotonic() + LAST_WORD
            if not wait([pipe, process.sentinel], LOOK):
                continue
            try:
                message: dict[str, Any] = json.loads(pipe.recv_bytes())
            except (EOFError, OSError):
                process.join(1)
                too_long = process.exitcode == -signal.SIGXCPU
                why = "takes more CPU time than a job may have" if too_long else "the worker process died"
                return failure(why, "Make the problem smaller.")
            if "progress" not in message:
                return message
            self.progress[job.id] = message["progress"]
        return None
