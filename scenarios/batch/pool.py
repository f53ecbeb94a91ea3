"""Where runs are done: in this process, in worker processes of this machine, on a Ray cluster; trainings as well."""

import os
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection, Pipe, wait
from queue import SimpleQueue
from threading import Lock, Thread
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from binwright.scenarios.batch.attempt import Row, Task, attempt, failed
from binwright.scenarios.run.progress import OnProgress, RunProgress
from binwright.simcore.cores import ONE_THREAD, usable_cpus
from binwright.simcore.errors import UserError
from binwright.simcore.jit.kernel_cache import folder

DoTasks: TypeAlias = Callable[[Sequence[Task], OnProgress], Generator[Row, None, None]]
"""Does tasks, and gives each one's row as it finishes."""
TRIES = 2
"""A run whose worker dies is tried once more."""


class Work(NamedTuple):
    """What workers do: `start` is their code, which calls `serve` with `{handle}`, in the environment `env`.

    `lost` makes the answer of a task whose workers died `tries` times, from how the last one ended.
    """

    start: str
    env: Mapping[str, str]
    lost: Callable[[Any, str], Any]
    tries: int = 1


def _lost(task: Task, how: str) -> Any:
    return failed(task, f"the worker process that ran it {how} (it was tried {TRIES} times)")


RUNS = Work("from binwright.scenarios.batch.pool import work; work({handle})", ONE_THREAD, _lost, TRIES)


def work(handle: int) -> None:
    """Do runs, until nobody listens."""
    serve(handle, attempt, lambda: os._exit(0))


class Pool:
    """Worker processes, at most `jobs`, until it is closed."""

    def __init__(self, jobs: int, work: Work = RUNS) -> None:
        folder()  # what is to be said of it, workers need not say
        self._jobs, self._work = jobs, work
        self._workers: list[_Worker] = []

    def close(self) -> None:
        """End all workers, whatever they do."""
        for worker in self._workers:
            worker.pipe.close()
            worker.process.kill()
            worker.end()

    def rows(self, tasks: Sequence[Any], hear: Callable[[Any, Any], None]) -> Generator[tuple[Any, Any], None, None]:
        """Do the tasks, and give each one's answer as it finishes; `hear` is called with what is said of a task before.

        On Ctrl-C, what has finished until then still comes, then the interrupt.
        """
        left, lost = deque(tasks), Counter[int]()
        try:
            while left or any(worker.task for worker in self._workers):
                while len(self._workers) < min(self._jobs, len(left)):  # also in place of those that died
                    self._workers.append(_Worker(self._work))
                self._hand_out(left)
                wait([worker.pipe for worker in self._workers])
                yield from self._heard(left, lost, hear)
        except KeyboardInterrupt:
            yield from self._heard(deque(), lost, hear)
            raise

    def _hand_out(self, left: deque[Any]) -> None:
        """Give each worker that has nothing to do a task, as long as there are any."""
        for worker in self._workers:
            if worker.began and not worker.task and left:
                worker.give(left.popleft())

    def _heard(
        self, left: deque[Any], lost: Counter[int], hear: Callable[[Any, Any], None]
    ) -> Generator[tuple[Any, Any], None, None]:
        """Yield what the workers have answered so far; what those that died have lost is left once more."""
        for worker in list(self._workers):
            try:
                while worker.pipe.poll():
                    message = worker.pipe.recv()
                    if message is None:
                        worker.began = True
                    elif isinstance(message, TaskResult):
                        task, worker.task = worker.task, None
                        self._hand_out(left)
                        yield task, message.value
                    else:
                        hear(worker.task, message)
            except (EOFError, OSError):
                code = worker.end()
                self._workers.remove(worker)
                if task := worker.task:
                    lost[id(task)] += 1
                    if lost[id(task)] < self._work.tries:
                        left.append(task)
                    else:
                        yield task, self._work.lost(task, ending(code))
                elif not worker.began:
                    remedy = "See what Python says above, or run with --jobs 1; what has finished is kept."
                    problem = f"a worker process {ending(code)} as it started"
                    raise UserError(problem, key="jobs", value=self._jobs, remedy=remedy) from None


class _Worker:
    """One process, from here. `task` is what it was given and has not answered."""

    def __init__(self, work: Work) -> None:
        self.task: Any = None
        self.began = False
        self.process, self.pipe = child(work.start, {**work.env, **os.environ})

    def give(self, task: Any) -> None:
        self.task = task
        with suppress(OSError):  # it died: reading from it says so
            self.pipe.send(task)

    def end(self) -> int:
        self.pipe.close()
        return self.process.wait()


def ending(code: int) -> str:
    """Say how a process ended, by its exit code."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}{', perhaps for want of memory' * (code == -9)}"
    return f"ended with exit code {code}"


class TaskResult(NamedTuple):
    """Says what came of a task."""

    value: Any


def serve(handle: int, do: Callable[[Any, Callable[[Any], None]], Any], at_end: Callable[[], None]) -> None:
    """Serve as a worker: say `None` at first, then answer each task by what `do(task, say)` returns, until one is None.

    When nobody listens any more, `at_end` is called, in a thread, also in the midst of a task.
    """
    pipe, saying, tasks = Connection(handle), Lock(), SimpleQueue[Any]()

    def say(what: Any) -> None:
        with saying:
            pipe.send(what)

    Thread(target=_listen, args=(pipe, tasks, at_end), daemon=True).start()
    with suppress(KeyboardInterrupt, ConnectionError):
        say(None)
        while (task := tasks.get()) is not None:
            say(TaskResult(do(task, say)))
        return
    sys.exit(1)


def _listen(pipe: Connection, tasks: SimpleQueue[Any], at_end: Callable[[], None]) -> None:
    try:
        while (task := pipe.recv()) is not None:
            tasks.put(task)
    except (EOFError, OSError):
        at_end()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    tasks.put(None)


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


WORTH = 1.5
"""Seconds of work after which workers are called in, or half of what is to come: they take .8 s to start."""


def checked_jobs(jobs: int | None) -> int | None:
    """Refuse what is not a number of runs at a time."""
    if jobs is not None and jobs < 1:
        raise UserError("must be 1 or more", key="jobs", value=jobs, remedy="Give how many runs to do at a time.")
    return jobs


@contextmanager
def backend(on: str, jobs: int | None) -> Iterator[DoTasks]:
    """Yield what does runs: `on` is `local` or `ray`, or `ray://host:port` for a cluster that is there.

    `jobs` runs at a time; by default as many as there are CPUs.
    """
    jobs = checked_jobs(jobs)
    if on == "local":
        yield partial(_run_locally, jobs or usable_cpus())
    elif on == "ray" or on.startswith("ray://"):
        from binwright.scenarios.batch.on_ray import ray_cluster

        with ray_cluster(on.removeprefix("ray").removeprefix("://"), jobs) as do:
            yield do
    else:
        raise UserError("unknown place to run", key="on", value=on, remedy="Give local, ray, or ray://HOST:PORT.")


class _Longer(KeyboardInterrupt):
    """Ends a run that workers had better do: `attempt` lets it through, as an interrupt."""


def _run_locally(jobs: int, tasks: Sequence[Task], on_progress: OnProgress) -> Generator[Row, None, None]:
    """Do tasks in this process, and call workers in when it turns out that there is work for them.

    Gives each one's row as it finishes, in any order, and says how far runs are.
    """
    began = perf_counter()

    def impatient(progress: RunProgress) -> None:
        on_progress(progress)
        if progress.seconds >= WORTH:
            raise _Longer

    for number, task in enumerate(tasks):
        several = min(jobs, left := len(tasks) - number) > 1
        if several and (perf_counter() - began) / max(1, number) * left >= WORTH * 2:
            break
        try:
            row = attempt(task, impatient if several else on_progress)
        except _Longer:  # workers begin it anew
            break
        yield row
    else:
        return
    with closing(Pool(jobs)) as pool:
        for _, row in pool.rows(tasks[number:], lambda task, progress: on_progress(progress)):
            yield row
