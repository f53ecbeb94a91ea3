"""Runs in worker processes on this machine."""

import os
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection, Pipe, wait
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import NamedTuple

from binwright.scenarios.batch.attempt import Task, attempt, failed
from binwright.scenarios.batch.journal import Row
from binwright.scenarios.run.progress import OnProgress, RunProgress
from binwright.simcore.compiling import Compiling, elsewhere, tell
from binwright.simcore.cores import ONE_THREAD, WORKER, check_address_space
from binwright.simcore.errors import UserError
from binwright.simcore.jit.kept import folder

TRIES = 2
"""A run whose worker dies is tried once more."""
STARTS = 5
"""So many worker processes may end as they start, one after the other: then something is wrong with all of them."""
WINDOW = 256
"""Tasks among which a worker finds its next one."""
_saying = Lock()
_START = "from binwright.scenarios.batch.pool import work; work({handle})"


class Pool:
    """Worker processes, at most `jobs`, until it is closed."""

    def __init__(self, jobs: int) -> None:
        folder()  # what is to be said of it, workers need not say
        self._jobs = jobs
        self._stillborn = 0
        self._workers: list[_Worker] = []

    def start(self, tasks: int) -> None:
        """Start the workers that so many tasks need, in the background."""
        while len(self._workers) < min(self._jobs, tasks):
            self._workers.append(_Worker(len(self._workers)))

    def close(self) -> None:
        """End all workers, whatever they do."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.end()

    def rows(
        self, tasks: Sequence[Task], on_progress: OnProgress, seconds: float | None = None
    ) -> Generator[tuple[Task, Row], None, None]:
        """Do the tasks, or what of them is done after so many seconds, and give each one's row as it finishes.

        On Ctrl-C, what has finished until then still comes, then the interrupt.
        """
        left, lost, began = deque(tasks), Counter[tuple[int, str]](), monotonic()
        try:
            while left or any(worker.task for worker in self._workers):
                if seconds is not None and monotonic() >= began + seconds:
                    return
                self.start(len(left))  # also in place of those that died
                self._hand_out(left)
                wait([worker.pipe for worker in self._workers], seconds)
                yield from self._heard(left, lost, on_progress)
        except KeyboardInterrupt:
            yield from self._heard(deque(), lost, on_progress)
            raise

    def _hand_out(self, left: deque[Task]) -> None:
        """Give each worker that has nothing to do a task, as long as there are any.

        The agents of a seed meet the same requests, which are drawn once by whoever plays them in turn: a worker goes
        on with the seed that it has, else with one that no other worker has.
        """
        for worker in self._workers:
            if worker.began and not worker.task and left:
                others = {each.seed for each in self._workers if each is not worker}
                seeds = list(map(_seed, islice(left, WINDOW)))
                place = min(range(len(seeds)), key=lambda n: (seeds[n] != worker.seed, seeds[n] in others))
                worker.give(left[place], seeds[place])
                del left[place]

    def _heard(
        self, left: deque[Task], lost: Counter[tuple[int, str]], on_progress: OnProgress
    ) -> Generator[tuple[Task, Row], None, None]:
        """Yield what the workers have said so far; what those that died have lost is left once more."""
        for worker in list(self._workers):
            try:
                while worker.pipe.poll():
                    said = worker.pipe.recv()
                    if said is None:
                        worker.began = True
                    elif isinstance(said, RunProgress):
                        on_progress(said)
                    elif isinstance(said, Compiles):
                        elsewhere(worker, said.found)
                    elif task := worker.task:
                        worker.task = None
                        self._hand_out(left)
                        yield task, said
            except (EOFError, OSError):
                code = worker.end()
                self._workers.remove(worker)
                if task := worker.task:
                    lost[task.batch, task.run.name] += 1
                    if lost[task.batch, task.run.name] < TRIES:
                        left.append(task)
                    else:
                        problem = f"the worker process that ran it {ending(code)} (it was tried {TRIES} times)"
                        yield task, failed(task, problem)
                else:
                    self._stillborn = 0 if worker.began else self._stillborn + 1
                    if self._stillborn > STARTS:
                        problem = f"{self._stillborn} worker processes ended as they started: the last {ending(code)}"
                        remedy = "See what Python says above, or run with --jobs 1; what has finished is kept."
                        raise UserError(problem, key="jobs", value=self._jobs, remedy=remedy) from None


class _Worker:
    """One process, from here. `task` is what it was given and has not answered, `seed` that of the last one.

    Its `number` decides in which order it compiles (`binwright.scenarios.run.execute`).
    """

    def __init__(self, number: int) -> None:
        self.task: Task | None = None
        self.seed: object = None
        self.began = False
        self.process, self.pipe = child(_START, {**ONE_THREAD, **os.environ, WORKER: str(number)})

    def give(self, task: Task, seed: object) -> None:
        self.task, self.seed = task, seed
        with suppress(OSError):  # it died: reading from it says so
            self.pipe.send(task)

    def end(self) -> int:
        elsewhere(self, None)
        self.pipe.close()
        return self.process.wait()


def _seed(task: Task) -> tuple[int, int, int]:
    """Name what runs that share a workload have in common."""
    return task.batch, id(task.run.scenario), task.run.seed


def ending(code: int) -> str:
    """Say how a process ended, by its exit code."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}{', perhaps for want of memory' * (code == -9)}"
    return f"ended with exit code {code}"


def work(handle: int) -> None:
    """Serve as a worker: say `None` at first, then answer each task with its row, until nobody listens."""
    check_address_space(0)
    pipe = Connection(handle)
    tasks: SimpleQueue[Task] = SimpleQueue()
    Thread(target=_listen, args=(pipe, tasks), daemon=True).start()
    tell(lambda found: _say(pipe, Compiles(found)))
    _say(pipe, None)
    while True:
        _say(pipe, attempt(tasks.get(), partial(_say, pipe)))


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


def _listen(pipe: Connection, tasks: SimpleQueue[Task]) -> None:
    """In a thread, so that a worker notices the end of its parent in the midst of a run, and ends as well."""
    try:
        while True:
            tasks.put(pipe.recv())
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
