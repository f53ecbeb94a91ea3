"""Worker processes: for each job one that searches and one that verifies, and a few that check specifications."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import forkserver
from multiprocessing.connection import wait
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Literal, NamedTuple, TypeVar

from binwright.agents.solver.backends.opencl_devices import Device
from binwright.service.jobs import Jobs, Row, Trouble
from binwright.service.limits import Limits
from binwright.service.models import failed

LOOK = 0.05
"""Seconds between two looks at whether a job is to be cancelled."""
GRACE = 3.0
"""Seconds that a cancelled search has to hand over its best."""
CHECKS = 200
"""Checks of one process, before a fresh one takes its place."""
AGAIN = 1.0
"""Seconds until what the machine refused is tried again."""
T = TypeVar("T")
Do = Literal["solve", "check", "verify"]
_context = multiprocessing.get_context("forkserver")
_starting = Lock()


def prepare() -> None:
    """Start the process that forks workers. Numeric libraries must not start threads in it."""
    settle()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    _context.set_forkserver_preload(["binwright.service.preload"])
    forkserver.ensure_running()


def settle() -> None:
    """Have the garbage collector leave alone what is loaded, and look seldom: rows of JSON took 10 times as long."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


class Died(Exception):
    """The worker ended without an answer, or was ended; says why."""


class Task(NamedTuple):
    """A job that is to be done: its request, in JSON, and how many seconds it may take.

    `tell` is called with the best so far; the search ends when it is `cancelled`, and all does when it is `stopping`.
    """

    request: str
    seconds: float
    tell: Callable[[dict[str, Any]], None]
    cancelled: Callable[[], bool]
    stopping: Event


class Worker:
    """A worker process, from here. Without a number of a `core`, it runs on any."""

    def __init__(self, limits: Limits, cpu_seconds: float, core: int | None, devices: Sequence[Device] = ()) -> None:
        from binwright.service.worker import run

        self._pipe, theirs = _context.Pipe()
        self._process = _context.Process(target=run, args=(theirs, limits, cpu_seconds, core, devices), daemon=True)
        try:
            with _starting:
                self._process.start()
        finally:
            theirs.close()
        try:
            self._pipe.recv_bytes()  # it has begun
        except (OSError, EOFError):
            self.end()
            raise

    def ask(self, do: Do, request: str, found: str = "null") -> None:
        """Send it something to do: JSON as it came, since to write it again would hold up everyone else here."""
        try:
            for part in (do, request, found):
                self._pipe.send_bytes(part.encode())
        except OSError:
            raise Died(self._cause()) from None

    def hear(self, seconds: float) -> dict[str, Any] | None:
        """Wait for what the worker says next; None if nothing comes in so many seconds."""
        if not wait([self._pipe, self._process.sentinel], seconds):
            return None
        try:
            if self._pipe.poll():
                said: dict[str, Any] = json.loads(self._pipe.recv_bytes())
                return said
        except (EOFError, OSError):
            pass
        raise Died(self._cause())

    def _cause(self) -> str:
        self._process.join(1)
        if self._process.exitcode == -signal.SIGXCPU:
            return "takes more CPU time than a job may have"
        return "the worker process died"

    def solve(self, task: Task) -> dict[str, Any] | None:
        """Have a job done, and watch; returns what is said last, or None if all is stopping."""
        try:
            self.ask("solve", task.request)
            end, interrupted = monotonic() + task.seconds, False
            while not task.stopping.is_set():
                said = self.hear(LOOK)
                if said is not None and "progress" not in said:
                    return said
                if said is not None:
                    task.tell(said["progress"])
                if not interrupted and task.cancelled():
                    self.interrupt()
                    interrupted, end = True, min(end, monotonic() + GRACE)
                if monotonic() > end:
                    return failed("takes longer than a job may take", "Make the problem smaller, or the time shorter.")
        except Died as died:
            return failed(str(died), "Make the problem smaller.")
        return None

    def interrupt(self) -> None:
        """Interrupt the worker, as Ctrl-C does."""
        if self._process.is_alive() and self._process.pid:
            with suppress(ProcessLookupError):  # it ended since
                os.kill(self._process.pid, signal.SIGINT)

    def end(self) -> None:
        """Whatever it does, it does no more."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._pipe.close()


class Pool:
    """Threads that take jobs and watch over their processes, one each."""

    def __init__(self, jobs: Jobs, limits: Limits, workers: int, devices: Sequence[Device] = ()) -> None:
        self._jobs = jobs
        self._limits, self._devices = limits, devices
        self._judges = Checkers(limits, workers, limits.spare)
        self._work = SimpleQueue[None]()
        self._stopping = Event()
        self.progress: dict[str, dict[str, Any]] = {}
        """Of running jobs, by id."""
        self.cancelled: set[str] = set()
        """Running jobs that are to end, by id."""
        self._threads = [Thread(target=self._run, args=(core,), daemon=True) for core in range(workers)]

    def start(self) -> None:
        """Begin to take jobs."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """There is a new job."""
        self._work.put(None)

    def stop(self) -> None:
        """End all processes; what they did waits for the next server."""
        self._stopping.set()
        for _ in self._threads:
            self.wake()
        for thread in self._threads:
            thread.join()
        self._judges.stop()

    def alive(self) -> int:
        """How many threads there are to take jobs."""
        return sum(thread.is_alive() for thread in self._threads)

    def _run(self, core: int) -> None:
        while not self._stopping.is_set():
            row = self._insist(self._jobs.next)
            if row is None:
                with suppress(Empty):
                    self._work.get(timeout=1)
                continue
            try:
                self._do(row, core)
            except Exception:  # costs this job, not the thread
                with suppress(OSError):  # the log may be on a full disk, too
                    traceback.print_exc()
                said = failed("the service failed", "This is our mistake; the server's log has the details.")
                self._insist(partial(self._jobs.finish, row.id, **ending(said, False)))
            self._jobs.leave(row.id)

    def _insist(self, do: Callable[..., T], *arguments: Any) -> T | None:
        """Do something with the jobs as soon as the disk lets us; None if the server stops before."""
        while True:
            try:
                return do(*arguments)
            except Trouble:
                if self._stopping.wait(AGAIN):
                    return None

    def _do(self, row: Row, core: int) -> None:
        """One job, whatever happens to its process; it runs from when that has begun."""
        seconds = seconds_of(row.request, self._limits)
        try:
            worker = Worker(self._limits, seconds, core, self._devices)
        except (OSError, EOFError):  # the machine has no process for us now
            self._stopping.wait(AGAIN)
            return
        try:
            if not self._insist(self._jobs.begin, row.id):  # cancelled meanwhile, or the server stops
                return
            tell = partial(self.progress.__setitem__, row.id)
            said = worker.solve(Task(row.request, seconds, tell, lambda: row.id in self.cancelled, self._stopping))
        finally:
            worker.end()
            self.progress.pop(row.id, None)
        if said is not None and "found" in said:
            said = self._verified(row.request, said["found"])
        if said is None:
            self._insist(self._jobs.put_back, row.id)
        else:
            self._insist(partial(self._jobs.finish, row.id, **ending(said, row.id in self.cancelled)))
        self.cancelled.discard(row.id)

    def _verified(self, request: str, found: Any) -> dict[str, Any] | None:
        """Make a result of what was found, wherever that was, in a process that did not search for it."""
        while not self._stopping.is_set():
            try:
                return self._judges.ask("verify", request, json.dumps(found), self._stopping)
            except (OSError, EOFError):
                self._stopping.wait(AGAIN)
        return None


def seconds_of(request: str, limits: Limits) -> float:
    """Give the seconds, of clock and of CPU, that a job may take."""
    seconds: float = json.loads(request)["time"]
    return seconds + limits.spare


def ending(said: dict[str, Any], cancelled: bool) -> dict[str, Any]:
    """Give what `Jobs.finish` is to note, from what a worker said last."""
    if not cancelled and "result" not in said:
        return {"state": said["state"], "error": json.dumps(said["error"])}
    result = said.get("result")
    found = {"result": json.dumps(result), "status": result["status"]} if result else {}
    return {"state": "cancelled" if cancelled else "done", **found}


class Checkers:
    """Processes that compile specifications, and verify answers, kept for the next one: `seconds` each may take."""

    def __init__(self, limits: Limits, count: int, seconds: float) -> None:
        self._limits, self._seconds = limits, seconds
        self._idle = SimpleQueue[tuple[Worker, int] | None]()
        for _ in range(count):
            self._idle.put(None)
        self._cores = iter(range(10**9))

    def ask(self, do: Do, request: str, found: str = "null", stopping: Event | None = None) -> dict[str, Any] | None:
        """Have a worker do something for a request, in JSON; None if all is stopping.

        Blocks; as many threads may call as there are processes. An `OSError` or `EOFError` where the machine has no
        process for us now.
        """
        kept = self._idle.get()
        try:
            worker, left = kept or (self._fresh(), CHECKS)
        except (OSError, EOFError):
            self._idle.put(None)
            raise
        said, end, well = None, monotonic() + self._seconds, False
        try:
            worker.ask(do, request, found)
            while said is None and monotonic() < end and not (stopping and stopping.is_set()):
                said = worker.hear(LOOK if stopping else self._seconds)
            well = said is not None and said.get("state") != "failed"
        except Died as died:
            if not kept:
                return failed(str(died), "Make the problem smaller.")
        finally:
            if not well or left == 1:
                worker.end()
                self._idle.put(None)
            else:
                self._idle.put((worker, left - 1))
        if said is None and stopping and stopping.is_set():
            return None
        if kept and not well and monotonic() < end:  # of what it did before, it may have died, or have no memory left
            return self.ask(do, request, found, stopping)
        return said or failed("takes too long to compile", "Make tables and constants smaller.")

    def _fresh(self) -> Worker:
        return Worker(self._limits, CHECKS * self._seconds, next(self._cores))

    def stop(self) -> None:
        """End them."""
        with suppress(Empty):
            while True:
                if kept := self._idle.get_nowait():
                    kept[0].end()
