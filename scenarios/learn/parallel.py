"""Trains several seeds at a time, in processes of this machine.

Each comes to the same weights and the same log, but for times, as if they were trained one after the other.
"""

import signal
import traceback
from _thread import interrupt_main
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple, TypeAlias

from binwright.agents.learned.loop import Row
from binwright.scenarios.batch.pool import Pool, Work, serve
from binwright.scenarios.learn.training import TrainingJob, course_of, learn, spec_of
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import UserError

GRACE = 30.0
"""Seconds that a process has for its last checkpoint."""


class Heard(NamedTuple):
    """What is heard of a training: a new `row` of its log, a word `said`, or that it is `over`."""

    row: Row | None = None
    said: str = ""
    over: bool = False


Hear: TypeAlias = Callable[[TrainingJob, Heard], None]


def _lost(job: TrainingJob, how: str) -> UserError:
    remedy = "What is trained is kept: the same command goes on."
    return UserError(f"the process that trained seed {job.seed} {how}", file=job.own, remedy=remedy)


# The libraries of a training may use the same threads as alone, so that sums have the same order.
TRAININGS = Work("from binwright.scenarios.learn.parallel import work; work({handle})", {}, _lost, grace=GRACE)


def train_jobs(trainings: Sequence[TrainingJob], jobs: int | None, hear: Hear) -> None:
    """Run trainings, whose folders are taken, `jobs` at a time; None: as many as CPUs have room for.

    The first mistake in one ends all of them.
    """
    hands = min(len(trainings), jobs or max(1, usable_cpus() // spec_of(trainings[0].scenario).threads))
    if hands == 1:
        for job in trainings:
            _learn(job, partial(hear, job))
        return
    with closing(Pool(hands, TRAININGS)) as pool:
        for _, problem in pool.rows(trainings, hear):
            if problem:
                raise problem


def _learn(job: TrainingJob, say: Callable[[Heard], None]) -> None:
    learn(job, course_of(job.scenario), lambda row: say(Heard(row)), lambda text: say(Heard(said=text)))
    say(Heard(over=True))


def work(handle: int) -> None:
    """Run the trainings that come, in this process, and tell what becomes of them, until nobody listens."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the command is in the background
    serve(handle, _answer, interrupt_main)


def _answer(job: TrainingJob, say: Callable[[Heard], None]) -> Exception | None:
    """Run a training; returns what went wrong."""
    try:
        _learn(job, say)
    except ConnectionError:
        raise
    except UserError as error:
        return error
    except Exception:
        return RuntimeError(f"training seed {job.seed} ended with\n{traceback.format_exc()}")
    return None
