"""Trains several seeds at a time, in processes of this machine.

Each comes to the same weights and the same log, but for times, as if they were trained one after the other.
"""

import os
import signal
import sys
import traceback
from _thread import interrupt_main
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from subprocess import Popen, TimeoutExpired
from threading import Thread
from typing import NamedTuple, TypeAlias

from binwright.agents.learned.loop import Row
from binwright.scenarios.batch.pool import child, ending
from binwright.scenarios.learn.training import TrainingJob, course_of, learn, spec_of
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import UserError

GRACE = 30.0
"""Seconds that a process has for its last checkpoint."""
_START = "from binwright.scenarios.learn.parallel import work; work({handle})"
GOES_ON = "What is trained is kept: the same command goes on."


class Heard(NamedTuple):
    """What is heard of a training: a new `row` of its log, a word `said`, or that it is `over`."""

    row: Row | None = None
    said: str = ""
    over: bool = False


Hear: TypeAlias = Callable[[TrainingJob, Heard], None]


def train_jobs(trainings: Sequence[TrainingJob], jobs: int | None, hear: Hear) -> None:
    """Run trainings, whose folders are taken, `jobs` at a time; None: as many as CPUs have room for."""
    hands = jobs or max(1, usable_cpus() // spec_of(trainings[0].scenario).threads)
    if min(hands, len(trainings)) > 1:
        _side_by_side(trainings, hands, hear)
    else:
        for job in trainings:
            _learn(job, partial(hear, job))


def _learn(job: TrainingJob, tell: Callable[[Heard], None]) -> None:
    learn(job, course_of(job.scenario), lambda row: tell(Heard(row)), lambda text: tell(Heard(said=text)))
    tell(Heard(over=True))


def _side_by_side(trainings: Sequence[TrainingJob], hands: int, hear: Hear) -> None:
    """Run trainings on so many processes; the first mistake in one ends all of them."""
    left = deque(trainings)
    going: dict[Connection, tuple[Popen[bytes], TrainingJob]] = {}
    try:
        for _ in range(min(hands, len(left))):
            # The libraries of a training may use the same threads as alone, so that sums have the same order.
            process, pipe = child(_START, os.environ)
            going[pipe] = process, left.popleft()
            pipe.send(going[pipe][1])
        while going:
            ready = wait(list(going))
            for pipe in [each for each in going if each in ready]:
                process, job = going[pipe]
                try:
                    message = pipe.recv()
                except (EOFError, OSError):
                    problem = f"the process that trained seed {job.seed} {ending(process.wait())}"
                    raise UserError(problem, file=job.own, remedy=GOES_ON) from None
                if isinstance(message, BaseException):
                    raise message
                hear(job, message)
                if message.over and left:
                    going[pipe] = process, left.popleft()
                    pipe.send(going[pipe][1])
                elif message.over:
                    _end([(process, pipe)])
                    del going[pipe]
    finally:
        _end([(process, pipe) for pipe, (process, _) in going.items()])


def _end(children: Sequence[tuple[Popen[bytes], Connection]]) -> None:
    """End processes: each writes a checkpoint when nobody listens any more."""
    for _, pipe in children:
        pipe.close()
    try:
        for process, _ in children:
            process.wait(GRACE)
    except (TimeoutExpired, KeyboardInterrupt):
        pass
    finally:
        for process, _ in children:
            process.kill()
            process.wait()


def work(handle: int) -> None:
    """Run the trainings that come, in this process, and tell what becomes of them, until nobody listens."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the command is in the background
    pipe = Connection(handle)
    trainings: SimpleQueue[TrainingJob | None] = SimpleQueue()
    Thread(target=_listen, args=(pipe, trainings), daemon=True).start()
    try:
        while job := trainings.get():
            _work(job, pipe)
    except (KeyboardInterrupt, ConnectionError):
        sys.exit(1)


def _work(job: TrainingJob, pipe: Connection) -> None:
    try:
        _learn(job, pipe.send)
    except ConnectionError:
        raise
    except UserError as error:
        pipe.send(error)
    except Exception:
        pipe.send(RuntimeError(f"training seed {job.seed} ended with\n{traceback.format_exc()}"))


def _listen(pipe: Connection, trainings: SimpleQueue[TrainingJob | None]) -> None:
    """In a thread, so that a process notices the end of its parent in the midst of a training; None ends it, too."""
    try:
        while (job := pipe.recv()) is not None:
            trainings.put(job)
        trainings.put(None)
    except (EOFError, OSError):
        interrupt_main()
        trainings.put(None)
