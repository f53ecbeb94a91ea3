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
"""Seconds until what the disk or the machine refused is tried again."""
T = TypeVar("T")
_context = multiprocessing.get_context("forkserver")
_Process = multiprocessing.context.ForkServerProcess


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

    def alive(self) -> int:
        """Count the threads that take jobs."""
        return sum(thread.is_alive() for thread in self._threads)

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
            seconds = Submission.model_validate_json(job.request).time
            answer = self._answer(job, None, seconds + self._limits.grace)
            if answer and "found" in answer:
                answer = self._answer(job, answer["found"], self._limits.grace)
        except Exception:  # costs this job, not the thread
            with suppress(OSError):  # the log may be on a full disk, too
                traceback.print_exc()
            answer = failure("the service failed", OURS)
        if answer and job.id in self.cancelled:
            return {"state": "cancelled", "result": answer.get("result")}
        return answer

    def _answer(self, job: Job, result: dict[str, Any] | None, seconds: float) -> dict[str, Any] | None:
        """Have a process search, or verify what is `result`; None if the server stops before."""
        from binwright.service.worker import run

        pipe, theirs = _context.Pipe(duplex=False)
        process = _context.Process(target=run, args=(theirs, job.request, result, self._limits, seconds))
        with pipe:
            with theirs:
                self._insist(process.start)
            if process.pid is None:
                return None
            try:
                return self._watched(job, process, pipe, seconds, cancels=result is None)
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
