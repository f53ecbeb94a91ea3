"""Runs in worker processes on this machine."""

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from multiprocessing.connection import Connection, Pipe, wait
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic, perf_counter
from types import TracebackType
from typing import NamedTuple, Self

from binwright.scenarios.batch.attempt import Task, attempt
from binwright.scenarios.batch.journal import Row
from binwright.scenarios.batch.work_queue import PORTION, Handout
from binwright.scenarios.run.progress import OnProgress, RunProgress
from binwright.simcore.compiling import Compiling, elsewhere, tell
from binwright.simcore.cores import ONE_THREAD, WORKER, check_address_space
from binwright.simcore.errors import UserError
from binwright.simcore.jit.kept import folder

TRIES = 2
"""A run whose worker dies is tried once more."""
STARTS = 5
"""So many worker processes may end as they start, one after the other: then something is wrong with all of them."""
_saying = Lock()
_START = "from binwright.scenarios.batch.pool import work; work({handle})"


class Pool:
    """Worker processes, from entering to leaving the `with`; they start in the background.

    `on_progress` is called with how far their runs are.
    """

    def __init__(self, jobs: int, on_progress: OnProgress = lambda progress: None) -> None:
        self._jobs = jobs
        self._on_progress = on_progress
        self._workers: list[_Worker] = []
        self._stillborn = 0

    def __enter__(self) -> Self:
        folder()  # what is to be said of it, workers need not say
        for number in range(self._jobs):
            self._workers.append(_Worker(number))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.end()

    def rows(self, tasks: Sequence[Task], seconds: float = inf) -> Generator[tuple[Task, Row], None, None]:
        """Do the tasks, and give each one's row as it finishes; stop so many seconds after the first was handed out.

        On Ctrl-C, what has finished until then still comes, then the interrupt.
        """
        handout = Handout(tasks, TRIES)
        until = inf
        try:
            while handout or any(worker.hand for worker in self._workers):
                while len(self._workers) < min(self._jobs, len(handout)):
                    self._workers.append(_Worker())  # in place of one that died
                for worker in self._workers:
                    if worker.idle and handout:
                        worker.give(handout.take(self._jobs))
                        until = min(until, monotonic() + seconds)
                left = until - monotonic()
                if left <= 0:
                    return
                wait([worker.pipe for worker in self._workers], None if left == inf else left)
                yield from self._heard(handout)
        except KeyboardInterrupt:
            yield from self._heard(handout)
            raise

    def _heard(self, handout: Handout) -> Iterator[tuple[Task, Row]]:
        """Yield what the workers have said so far."""
        for worker in list(self._workers):
            try:
                while worker.pipe.poll():
                    row = worker.pipe.recv()
                    if row is None:
                        worker.idle = worker.began = True
                        handout.back(worker.take_back())
                    elif isinstance(row, RunProgress):
                        self._on_progress(row)
                    elif isinstance(row, Compiles):
                        elsewhere(worker, row.found)
                    else:
                        handout.done(row)
                        yield worker.hand.popleft(), row
            except (EOFError, OSError):
                code = worker.end()
                self._workers.remove(worker)
                hand = worker.take_back()
                if not hand:
                    self._stillborn = 0 if worker.began else self._stillborn + 1
                    if self._stillborn > STARTS:
                        problem = f"{self._stillborn} worker processes ended as they started: the last {ending(code)}"
                        remedy = "See what Python says above, or run with --jobs 1; what has finished is kept."
                        raise UserError(problem, key="jobs", value=self._jobs, remedy=remedy) from None
                    continue
                handout.back(hand[1:])
                if row := handout.lost(hand[0], f"the worker process that ran it {ending(code)}"):
                    yield hand[0], row


class _Worker:
    """One process, from here. `hand` is what it was given and has not answered.

    Its `number` decides in which order it compiles (`binwright.scenarios.run.execute`).
    """

    def __init__(self, number: int = 0) -> None:
        self.hand: deque[Task] = deque()
        self.idle = self.began = False
        self.process, self.pipe = child(_START, {**ONE_THREAD, **os.environ, WORKER: str(number)})

    def give(self, tasks: list[Task]) -> None:
        self.idle = False
        self.hand.extend(tasks)
        with suppress(OSError):  # it died: reading from it says so
            self.pipe.send(tasks)

    def take_back(self) -> list[Task]:
        hand = list(self.hand)
        self.hand.clear()
        return hand

    def end(self) -> int:
        elsewhere(self, None)
        self.pipe.close()
        return self.process.wait()


def ending(code: int) -> str:
    """Say how a process ended, by its exit code."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}{', perhaps for want of memory' * (code == -9)}"
    return f"ended with exit code {code}"


def work(handle: int) -> None:
    """Serve as a worker: ask for tasks with `None`, answer each with its row, until nobody listens."""
    check_address_space(0)
    pipe = Connection(handle)
    portions: SimpleQueue[list[Task]] = SimpleQueue()
    Thread(target=_listen, args=(pipe, portions), daemon=True).start()
    tell(lambda found: _say(pipe, Compiles(found)))
    while True:
        _say(pipe, None)
        portion = portions.get()
        began = perf_counter()
        for task in portion:
            _say(pipe, attempt(task, partial(_say, pipe)))
            if perf_counter() - began > PORTION:
                break


class Compiles(NamedTuple):
    """Says what a worker compiles now; `None`: nothing."""

    found: Compiling | None


def _say(pipe: Connection, row: Row | RunProgress | Compiles | None) -> None:
    """Tell the parent; when it is gone, so is the worker, without a word."""
    try:
        with _saying:
            pipe.send(row)
    except OSError:
        os._exit(0)


def _listen(pipe: Connection, portions: SimpleQueue[list[Task]]) -> None:
    """In a thread, so that a worker notices the end of its parent in the midst of a run, and ends as well."""
    try:
        while True:
            portions.put(pipe.recv())
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def child(code: str, env: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start an interpreter that runs `code`, and return it with our end of a pipe; the other is number `{handle}`."""
    pipe, far = Pipe()
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; " + code.format(handle=far.fileno())]
    # Ctrl-C reaches every process of the terminal, and the SIGTERM of a batch system every process of the job. They
    # are for us to answer: children are born deaf to them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[far.fileno()], env=env)
    finally:
        far.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process, pipe
