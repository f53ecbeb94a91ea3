"""What keeps a run on disk while it is under way, and takes it up from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.measure.samples import Sampler
from scenarios.build.plan import Run, modules_of
from scenarios.run.checkpoint import Blocks, Checkpoint, Kept
from simcore.engine import Simulation
from simcore.memory import memory, recall
from simcore.opened import files_of
from simcore.play import Portions
from simcore.rng import Watched
from simcore.vocabulary import Agent

PORTION = 1024
"""Decisions of the first portion of a compiled run. Agents in Python may think long: theirs has one."""


class Keeper:
    """Keeps a run on disk. What does not go on as it was kept raises an `Unlike`.

    `again` says whether the run goes on, `thought` are the nanoseconds that the agent thought before, and `portion` are
    the decisions after which it is to be asked first whether it is time.
    """

    portion = 1

    def __init__(self, checkpoint: Checkpoint, run: Run, answers: npt.DTypeLike) -> None:
        self._checkpoint, self._run = checkpoint, run
        self._kept: Kept | None = checkpoint.load(np.dtype(answers))
        self.again = self._kept is not None
        self._files: dict[str, str] = {}
        self.thought = 0
        if self._kept:
            with believing():
                self._files = dict(self._kept.words["files"])
                self.thought = index(self._kept.words["thought"])

    def files(self) -> dict[str, str]:
        """List the files that the run's agents have read, also before it went on, each with a digest."""
        return self._files | files_of(modules_of(self._run))

    @property
    def many(self) -> bool:
        """Whether it should be kept now, because of the memory that its answers take."""
        return False

    def keep(self, left: int) -> None:
        """Keep it; the sampler is to look after `left` decisions."""
        raise NotImplementedError

    def _write(self, simulation: Simulation, arrays: Mapping[str, Any], words: Mapping[str, Any], more: Blocks) -> None:
        always = {"thought": self.thought + simulation.thought, "files": self.files()}
        self._checkpoint.keep(arrays, {**words, **always}, more)


class StateKeeper(Keeper):
    """Keeps where a compiled run is.

    `first`, in its methods, is the first row after the warm start, and `chance` whether that drew anything at random.
    """

    def __init__(self, checkpoint: Checkpoint, run: Run) -> None:
        from fabric.compiled import cells_kept, numa_kept  # numba

        super().__init__(checkpoint, run, numa_kept.ANSWER)
        self._how: Any = cells_kept if run.scenario.cluster.cells else numa_kept
        self.portion = PORTION
        self._answers = self._first = 0
        self._chance = False

    def take_up(self, simulation: Any, first: int, chance: bool) -> tuple[int, bool]:
        """Bring a new simulation to where the run was, if it was kept; returns its `first` and `chance`."""
        self._first, self._chance = first, chance
        if self._kept:
            with believing():
                self._how.go_on(simulation, self._kept.arrays, self._kept.answers)
                self._answers, words = len(self._kept.answers), self._kept.words
                self._first, self._chance = range(len(simulation.workload))[words["first"]], bool(words["chance"])
        return self._first, self._chance

    def set_out(self, simulation: Any, agent: Agent, sampler: Sampler, portions: Portions) -> None:
        """Go on with this agent, which is started, and this sampler; they come to where they were."""
        self._simulation, self._sampler = simulation, sampler
        rule = agent.compiled
        assert rule
        self._numbers = self._how.numbers(simulation, rule)
        if self._kept:
            with believing():
                for number, array in enumerate(self._numbers):
                    if array.flags.writeable:
                        array[...] = self._kept.arrays[f"number{number}"]
                sampler.go_on(self._kept.words["samples"])
                portions.left = index(self._kept.words["left"])
        self._kept = None

    def keep(self, left: int) -> None:
        """Keep it; the sampler is to look after `left` decisions."""
        from fabric.compiled.numa_kept import answers_since

        answers = len(self._simulation.record.sequence)
        more = answers_since(self._simulation.record, self._answers)
        numbers = {f"number{place}": array for place, array in enumerate(self._numbers)}
        arrays = self._how.where(self._simulation) | numbers
        words = {"first": self._first, "left": left, "chance": self._chance, "samples": self._sampler.so_far()}
        self._write(self._simulation, arrays, words, more)
        self._answers = answers


class AnswerKeeper(Keeper):
    """Keeps what a run on SimPy's clock was answered, and what its agent remembers.

    The engine is determined by its answers: it is given them again, and the agent is not asked. The warm start is
    played anew, as are the sampler's looks.
    """

    def __init__(self, checkpoint: Checkpoint, run: Run) -> None:
        super().__init__(checkpoint, run, np.uint8)

    @property
    def many(self) -> bool:
        """Whether it should be kept now, because of the memory that its answers take."""
        return self._answers.many

    def set_out(self, simulation: Simulation, agent: Agent, luck: Watched, portions: Portions) -> None:
        """Go on with this agent, which is started with `luck`; they all come to where they were."""
        from fabric.answers import Answers, Given, answer_again  # numba

        self._simulation, self._agent, self._luck = simulation, agent, luck
        self._answers = Answers(simulation)
        memory(agent)  # raises early what could not be kept later
        if self._kept:
            arrays, words = self._kept.arrays, self._kept.words
            with believing():
                answer_again(simulation, Given(self._kept.answers), words["reasons"], portions)
                recall(agent, arrays, words["memory"])
                luck.go_on(words["luck"])
            self._answers.skip()
        self._kept = None

    def keep(self, left: int) -> None:
        """Keep it."""
        arrays, remembered = memory(self._agent)
        reasons = self._simulation.record.reasons
        words = {"memory": remembered, "luck": self._luck.states(), "reasons": reasons}
        self._write(self._simulation, arrays, words, [self._answers.portion()])


class Unlike(Exception):
    """What was kept is not of this run: it has to begin anew, with everything as before it went on."""


@contextmanager
def believing() -> Iterator[None]:
    """Turn what goes wrong with what somebody has written into an `Unlike`, but not a lack of memory or of disk."""
    try:
        yield
    except (MemoryError, OSError):
        raise
    except Exception as error:
        raise Unlike from error
