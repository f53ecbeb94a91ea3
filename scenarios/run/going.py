"""A run under way: tells how far it is, and is kept, so that the next command goes on from there."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, NamedTuple, TypeAlias

from analysis.measure.samples import Sampler
from scenarios.build.plan import Run, modules_of
from scenarios.run.checkpoint import Checkpoint
from simcore.engine import Simulation
from simcore.large import let_go
from simcore.opened import files_of
from simcore.vocabulary import Agent

KEPT_EVERY = 60.0
"""Seconds between two times that a run is kept."""
SHARE = 0.05
"""Of its time a run may spend on being kept, about: where it takes long, that happens less often."""
TOLD_EVERY = 1.0
"""Seconds between two times that it is told how far a run is."""
PORTION, SHORT, LONG = 1024, 0.25, 1.0
"""Decisions of the first portion of a compiled run, and the seconds that later ones should take."""


class Told(NamedTuple):
    """Says how far a run is: `requests` of `of` arrived, `seconds` after it began or went on with `begun` of them.

    `kept` says that it was kept just now; `lost` what keeps it from being kept, empty if nothing does.
    """

    run: str
    agent: str
    seed: int
    requests: int
    of: int
    seconds: float
    begun: int = 0
    kept: bool = False
    lost: str = ""
    batch: int = 0


Tell: TypeAlias = Callable[[Told], None]


class Going:
    """The `watch` of a run, around another one: it is called at the same decisions, as if this were not here.

    With `keeper` the run is compiled, where it does not matter in which portions it is played, and is kept.
    """

    def __init__(
        self, watch: Callable[[], int], simulation: Simulation, run: Run, tell: Tell, keeper: Keeper | None, lost: str
    ) -> None:
        self._watch, self._simulation, self._tell, self._keeper = watch, simulation, tell, keeper
        self._began = self._told = self._looked = monotonic()
        self._due = self._began + KEPT_EVERY
        self._left = keeper.left if keeper else 0
        self._made = keeper.made if keeper else 0
        self._portion, self._given = PORTION, 0
        spec = run.agent.label, run.seed
        self._so_far = Told(run.name, *spec, 0, len(simulation.workload), 0.0, simulation.offered, lost=lost)

    def __call__(self) -> int:
        if self._keeper:
            before, self._made = self._made, self._keeper.made
            if self._left > 0:  # cells make more decisions than they are asked for, as windows are whole
                self._left = max(0, self._left - (self._made - before))
        if not self._left:
            self._left = self._watch()
        now = monotonic()
        kept = self._keeper is not None and now >= self._due
        if self._keeper and kept:
            self._keeper.keep(self._left)
            took = monotonic() - now
            self._due = now + took + max(KEPT_EVERY, took / SHARE)
        if kept or now >= self._told + TOLD_EVERY:
            self._told = now
            let_go(here_and_there=True)
            self._tell(self._so_far._replace(requests=self._simulation.offered, seconds=now - self._began, kept=kept))
        if self._keeper is None:
            given, self._left = self._left, 0
            return given
        return self._next_portion()

    def _next_portion(self) -> int:
        before, self._looked = self._looked, monotonic()
        if self._looked - before > LONG:
            self._portion = max(1, self._given // 2)
        elif self._looked - before < SHORT and self._given == self._portion:
            self._portion *= 2
        self._given = self._portion if self._left < 0 else min(self._portion, self._left)
        return self._given


class Keeper:
    """Keeps a compiled run on disk, and takes it up from there.

    `left` is after how many decisions the sampler is to look, and `thought` the nanoseconds of the rule before.
    `first`, in its methods, is the first row after the warm start, and `chance` whether that drew anything at random.
    """

    def __init__(self, checkpoint: Checkpoint, run: Run) -> None:
        self._checkpoint, self._run = checkpoint, run
        self._answers = 0
        self.left = self.thought = self._first = 0
        self._chance = False
        from fabric.compiled import cells_kept, numa_kept  # numba

        self._how: Any = cells_kept if run.scenario.cluster.cells else numa_kept
        self._kept = checkpoint.load(numa_kept.ANSWER)
        self._files: dict[str, str] = self._kept.words["files"] if self._kept else {}

    @property
    def found(self) -> bool:
        """Whether there is something to go on from."""
        return self._kept is not None

    @property
    def made(self) -> int:
        """How many decisions the simulation has made, from whichever number it counts."""
        made: int = self._simulation.made
        return made

    def files(self) -> dict[str, str]:
        """List the files that the run's agents have read, also before it went on, each with a digest."""
        return self._files | files_of(modules_of(self._run))

    def take_up(self, simulation: Any, first: int, chance: bool) -> tuple[int, bool]:
        """Bring a new simulation to where the run was, if it was kept; returns its `first` and `chance`."""
        self._first, self._chance = first, chance
        if self._kept:
            self._how.go_on(simulation, self._kept.arrays, self._kept.answers)
            self._answers, words = len(self._kept.answers), self._kept.words
            self._first, self.left, self.thought = words["first"], words["left"], words["thought"]
            self._chance = words["chance"]
        return self._first, self._chance

    def set_out(self, simulation: Any, agent: Agent, sampler: Sampler) -> None:
        """Go on with this agent, which is started, and this sampler; they come to where they were."""
        self._simulation, self._sampler = simulation, sampler
        rule = agent.compiled
        assert rule
        self._numbers = self._how.numbers(simulation, rule)
        if self._kept:
            for number, array in enumerate(self._numbers):
                if array.flags.writeable:
                    array[...] = self._kept.arrays[f"number{number}"]
            sampler.go_on(self._kept.words["samples"])
        self._kept = None

    def keep(self, left: int) -> None:
        """Keep it."""
        from fabric.compiled.numa_kept import answers_since

        more = answers_since(self._simulation.record, self._answers)
        arrays = self._how.where(self._simulation) | {
            f"number{place}": array for place, array in enumerate(self._numbers)
        }
        words = {
            "first": self._first,
            "left": left,
            "thought": self.thought + self._simulation.thought,
            "chance": self._chance,
            "samples": self._sampler.so_far(),
            "files": self.files(),
        }
        self._checkpoint.keep(arrays, words, more)
        self._answers += len(more)
