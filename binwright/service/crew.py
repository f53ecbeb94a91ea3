"""A machine that takes jobs from a service elsewhere: `binwright work`."""

from __future__ import annotations

import os
import secrets
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from threading import Event, Thread
from typing import Any

from binwright.client import Client, Refused
from binwright.service import pool
from binwright.service.limits import Limits
from binwright.service.server import ENDS
from simcore.cores import usable_cpus
from simcore.errors import UserError

PATIENCE, BRIEFLY = 30.0, 3.0
"""Seconds to wait for an answer of the service, which lets us wait if it has no job; and where it matters less."""
BEAT = 1.0
"""Seconds between two signs of life."""
LOST = 410
FINAL = (401, 403, 404, 409)
"""Answers after which it is no use to ask for jobs again."""
UNFIT = (408, 413, 422)
"""Answers to a result that the service does not take."""


def work(url: str, token: str, workers: int | None = None, ready: Callable[[str], None] = lambda said: None) -> None:
    """Do jobs of the service until interrupted, `workers` at a time (default: one per CPU).

    `ready` is told what happens.
    """
    workers = usable_cpus() if workers is None else workers
    if workers < 1:
        raise UserError("must be 1 or more", key="--workers", value=workers, remedy="Give how many jobs run at a time.")
    crew = Crew(url, token, ready)
    pool.prepare()
    pool.Worker(Limits(), 60, 0).end()  # from now on they start at once: kernels are compiled
    before = {number: signal.signal(number, lambda *_: crew.stop()) for number in ENDS}
    try:
        ready(f"Works for {url} ({workers} at a time); Ctrl-C ends it.")
        crew.run(workers)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass
class _Job:
    """What a worker has, and what it and its beats tell one another."""

    lease: str
    worker: str
    process: pool.Worker
    over: Event
    """Nobody is to go on with it."""
    progress: dict[str, Any] | None = None
    cancelled: bool = False
    lost: bool = False
    done: Event = field(default_factory=Event)
    """It needs no more signs of life."""

    def tell(self, progress: dict[str, Any]) -> None:
        """Keep the best so far for the next sign of life."""
        self.progress = progress


class Crew:
    """Threads that ask for jobs and watch over their processes, one each."""

    def __init__(self, url: str, token: str, say: Callable[[str], None]) -> None:
        self._client = Client(url, token, PATIENCE)
        self._brief = Client(url, token, BRIEFLY)
        self._say = say
        self._stopping = Event()
        self._over: dict[int, Event] = {}
        """By worker: ends what it does now."""
        self._leases: list[str] = []
        """By worker: of the job that it has or asks for."""
        self._wrong: UserError | None = None
        self._told = False

    def stop(self) -> None:
        """Give the jobs back, and end."""
        self._stopping.set()
        for event in list(self._over.values()):
            event.set()

    def run(self, workers: int) -> None:
        """Work until `stop`; raises what makes it useless to go on."""
        self._leases = [secrets.token_urlsafe(18) for _ in range(workers)]
        threads = [Thread(target=self._run, args=(core,), daemon=True) for core in range(workers)]
        for thread in threads:
            thread.start()
        while not self._stopping.wait(0.2):  # so that signals are heard
            pass
        closing = [Thread(target=self._close, args=one, daemon=True) for one in enumerate(threads)]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()
        if self._wrong is not None:
            raise self._wrong

    def _close(self, core: int, thread: Thread) -> None:
        """Wait until a worker has given its job back; one that asks for a job may have been given one just now."""
        if core in self._over:
            thread.join(2 * BRIEFLY)
        else:
            self._end(self._leases[core], {"state": "queued"})

    def _run(self, core: int) -> None:
        worker = f"{socket.gethostname()[:100]}/{os.getpid()}/{core}"
        lease = self._leases[core]
        while not self._stopping.is_set():
            try:
                said = self._client.ask("POST", "/v1/work", lease=lease, worker=worker, version=version("binwright"))
            except UserError as error:
                self._refused(error)
                continue
            self._told = False
            if said["job"] is not None:
                self._over[core] = Event()
                try:
                    self._do(lease, worker, core, said["job"])
                finally:
                    del self._over[core]
                lease = self._leases[core] = secrets.token_urlsafe(18)

    def _refused(self, error: UserError) -> None:
        """Say once that the service does not answer; end if it does not want us."""
        if isinstance(error, Refused) and error.status in FINAL:
            self._wrong = error
            self._stopping.set()
        elif not self._told:
            self._told = True
            self._say(f"{error.problem}; trying again")
        self._stopping.wait(pool.AGAIN)

    def _do(self, lease: str, worker: str, core: int, given: dict[str, Any]) -> None:
        """Do a job, and tell the service what became of it; it goes back if we stop."""
        limits, request, over = Limits(**given["limits"]), given["request"], self._over[core]
        seconds = pool.seconds_of(request, limits)
        try:
            process = pool.Worker(limits, seconds, core)
        except (OSError, EOFError):  # the machine has no process for us now
            self._end(lease, {"state": "queued"})
            self._stopping.wait(pool.AGAIN)
            return
        job = _Job(lease, worker, process, over)
        beats = Thread(target=self._beat, args=(job,), daemon=True)
        beats.start()
        if self._stopping.is_set():  # since before it could be told to this job
            over.set()
        try:
            said = process.solve(request, seconds, job.tell, lambda: job.cancelled, over)
        finally:
            job.done.set()
            beats.join()
            process.end()
        if not job.lost:
            self._end(lease, {"state": "queued"} if said is None else {"state": "done"} | said)

    def _beat(self, job: _Job) -> None:
        """Give signs of life; hear whether the job is cancelled, or is somebody else's now."""
        while not job.done.wait(BEAT):
            memory, progress = job.process.memory(), job.progress
            try:
                said = self._brief.ask(
                    "POST", f"/v1/work/{job.lease}/beat", worker=job.worker, memory=memory, progress=progress
                )
            except UserError as error:
                if isinstance(error, Refused) and error.status == LOST:
                    job.lost = True
                    job.over.set()
                    return
                continue
            job.cancelled = job.cancelled or said["cancel"]

    def _end(self, lease: str, said: dict[str, Any]) -> None:
        """Tell the end of a job until the service has heard it, or does not want to."""
        while True:
            client = self._brief if self._stopping.is_set() else self._client
            try:
                client.ask("POST", f"/v1/work/{lease}/end", **said)
            except Refused as error:
                if error.status == LOST:
                    return
                if error.status in UNFIT and said["state"] == "done":
                    said = pool.failed(f"the service does not take its answer: {error.problem}", error.remedy)
                elif error.status in UNFIT or self._stopping.wait(pool.AGAIN):
                    return
            except UserError:
                if self._stopping.wait(pool.AGAIN):
                    return
            else:
                return
