"""Threads that take jobs: for each job a process that searches, and one that verifies, from a fork server."""

import json
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from multiprocessing import forkserver
from multiprocessing.connection import wait
from threading import Event, Thread
from time import monotonic
from typing import Any, TypeVar

from binwright.service.limits import Limits
from binwright.service.models import OURS, Job, failure
from binwright.service.store import StorageError, Store

LOOK = 0.05
"""Seconds between two looks at whether a job is to be cancelled."""
LAST_WORD = 3.0
"""Seconds that an interrupted search has to hand over its best."""
AGAIN = 1.0
"""Seconds until what the disk or the machine refused is tried again."""
T = TypeVar("T")
_context = multiprocessing.get_context("forkserver")


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
        """Start the process that forks workers, in which no numeric library may start threads; begin to take jobs."""
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.environ["BINWRIGHT_SERVER"] = str(os.getpid())
        _context.set_forkserver_preload(["binwright.service.preload"])
        forkserver.ensure_running()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all processes; what they did waits for the next server."""
        self._stopping.set()
        self.work.set()
        for thread in self._threads:
            thread.join(LAST_WORD)
        with suppress(StorageError):
            self._store.put_back()

    def _run(self) -> None:
        """Take jobs, once there is a process that forks workers: a crash before is no try of a job."""
        self._insist(_context.Process(target=int).start)
        while not self._stopping.is_set():
            self.work.clear()
            job = self._insist(self._store.take)
            if job is None:
                self.work.wait(AGAIN)
                continue
            if outcome := self._outcome(job):
                self._insist(partial(self._store.finish, job.id, **outcome))
            self.progress.pop(job.id, None)
            self.cancelled.discard(job.id)

    def _insist(self, do: Callable[[], T]) -> T | None:
        """Do something as soon as the disk and the machine let us; None if the server stops before."""
        while True:
            try:
                return do()
            except (StorageError, OSError, EOFError):
                if self._stopping.wait(AGAIN):
                    return None

    def _outcome(self, job: Job) -> dict[str, Any] | None:
        """Search in one process, and verify in another what it says; None if the server stops before."""
        try:
            answer = self._answer(job, None)
            if answer and "solution" in answer:
                answer = self._answer(job, answer["solution"])
        except Exception:  # costs this job, not the thread
            with suppress(OSError):  # the log may be on a full disk, too
                traceback.print_exc()
            answer = failure("the service failed", OURS)
        if answer is not None and job.id in self.cancelled:
            return {"state": "cancelled", "result": answer.get("result")}
        return answer

    def _answer(self, job: Job, solution: dict[str, Any] | None) -> dict[str, Any] | None:
        """Have a process search, or verify a `solution`; None if the server stops before.

        A search whose job is cancelled is interrupted, once.
        """
        from binwright.service.worker import work

        pipe, theirs = _context.Pipe(duplex=False)
        process = _context.Process(target=work, args=(theirs, job.request, solution, self._limits))
        with pipe:
            with theirs:
                self._insist(process.start)
            if process.pid is None:
                return None
            end = inf
            try:
                while not self._stopping.is_set() and monotonic() < end:
                    if job.id in self.cancelled and solution is None and end == inf:
                        end = monotonic() + LAST_WORD
                        with suppress(ProcessLookupError):
                            os.kill(process.pid, signal.SIGINT)
                    if not wait([pipe], LOOK):
                        continue
                    message: dict[str, Any] = json.loads(pipe.recv_bytes())
                    if "progress" not in message:
                        return message
                    self.progress[job.id] = message["progress"]
            except (EOFError, OSError):
                return failure("the worker process died", "Make the problem smaller: time and memory are limited.")
            finally:
                process.kill()
                process.join()
                process.close()
        return None if self._stopping.is_set() else {}
