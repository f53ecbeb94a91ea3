"""Choose the searches that suit a problem, on a device, compile them, and make their attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from math import inf
from threading import Lock, Thread
from time import monotonic

import numpy as np

from binwright.agents.solver.backends import reference
from binwright.agents.solver.backends.numbered_attempts import Found, Result, in_waves
from binwright.agents.solver.local import portfolio
from binwright.agents.solver.local.objective_search import prepare as prepare_goals
from binwright.agents.solver.local.portfolio import Portfolio
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.search import find
from binwright.agents.solver.search.first_fit import first_fit, next_fit
from binwright.agents.solver.search.packing import Packing
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.types import Ints

PAUSE = 0.05
"""Seconds between two looks whether somebody still wants to wait."""


class Compiling:
    """A compilation that goes on whether or not somebody waits for it."""

    def __init__(self, prepare: Callable[[], None]) -> None:
        self._prepare = prepare
        self._raised: list[BaseException] = []
        self._thread = Thread(target=self._run, name="compile")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._prepare()
        except BaseException as error:
            self._raised.append(error)

    def wait(self, seconds: float) -> bool:
        """Wait for it, so long at most; returns whether it is done, and raises what it raised."""
        self._thread.join(None if seconds == inf else max(0.0, seconds))
        return self.done

    @property
    def done(self) -> bool:
        """Tell whether it is done; raises what it raised."""
        if self._raised:
            raise self._raised[0]
        return not self._thread.is_alive()


class Later:
    """A compilation that begins when it is first needed. It is waited for until a third of the time left is over."""

    def __init__(self, prepare: Callable[[], None], end: float) -> None:
        self._prepare, self._end = prepare, end
        self._lock = Lock()
        self._compiling: Compiling | None = None
        self._began = self._until = 0.0
        self.seconds = 0.0
        """That were spent waiting."""

    def ready(self, cancelled: Callable[[], bool]) -> bool:
        """Begin, and wait until it is done, no longer than until `cancelled`; returns whether it is done.

        Several threads may call this, and raise what it raised.
        """
        with self._lock:
            if self._compiling is None:
                self._began = monotonic()
                self._until = self._began + (self._end - self._began) / 3
                self._compiling = Compiling(self._prepare)
        while not self._compiling.wait(min(PAUSE, self._until - monotonic())):
            if monotonic() >= self._until or cancelled():
                return False
            self.seconds = monotonic() - self._began
        return True


Attempts = Callable[..., Iterator[Found]]
"""(problem, seed, first, count, trims=, until=): attempts first, ..., first + count - 1 in every grouping, as
`reference.attempts`."""
SEARCHES = ("ours", "published")


def _attempts_on(device: str, problem: Problem) -> tuple[Attempts, Callable[[], None], Callable[[], object]]:
    """Return the attempts of a device, a function to call before them, which compiles, and one that finds it only."""
    name, colon, number = str(device).partition(":")
    if name == "reference" and not number:
        return reference.attempts, lambda: None, lambda: None
    if name == "cpu" and not number:
        from binwright.agents.solver.backends import cpu

        return cpu.attempts, lambda: cpu.prepare(problem), lambda: None
    if name == "opencl":
        from binwright.agents.solver.backends import opencl
        from binwright.agents.solver.backends.opencl_devices import chosen, numbers_in

        numbers = numbers_in(number) if colon else ()
        made = partial(opencl.attempts, devices=numbers)
        return made, lambda: opencl.prepare(problem, numbers), lambda: chosen(numbers)
    remedy = suggest(str(device), ["cpu", "opencl", "opencl:0", "opencl:0,1", "reference"])
    raise UserError("unknown device", key="device", value=device, remedy=remedy)


class Searches:
    """The searches for one problem, which end when `monotonic()` is `end`."""

    def __init__(self, problem: Problem, device: str, search: str, seed: int, end: float) -> None:
        if search not in SEARCHES:
            raise UserError("unknown search", key="search", value=search, remedy=suggest(search, SEARCHES))
        self.problem, self.seed, self.end = problem, seed, end
        self._device, self._prepare, self._find = _attempts_on(device, problem)
        self.device = device
        self.ours = search == "ours"
        self.dense = self.ours or device == "cpu"
        """Vector problems are searched in their dense form, on processors."""
        if problem.objective is not None and not self.ours:
            remedy = "Leave search as it is: ours looks at goals."
            raise UserError("goals are for our search", key="search", value=search, remedy=remedy)
        self.name = "published"
        """The name of the search that made the last attempt."""
        self.late = False
        """Compiling took too long."""
        self._fits = False
        """First fit is compiled."""
        self._compiling: Compiling | None = None
        self.waited = False
        """What is compiled was waited for."""
        self._began = self._seconds = 0.0
        """That compiling took; of `_local` besides."""
        self._local: Later | None = None
        self._portfolios: dict[int, Portfolio] = {}
        """By number of bins."""

    @cached_property
    def packing(self) -> Packing | None:
        """The dense form, if there is one."""
        return Packing.of(self.problem)

    @property
    def compiling(self) -> float:
        """Return how many seconds compiling has taken."""
        return self._seconds + (self._local.seconds if self._local is not None else 0.0)

    def compile(self) -> None:
        """Begin to compile the searches, or to read them from disk, in a thread.

        Local search waits until the others have tried and failed, unless it comes first.
        """
        if self._compiling is not None:
            return
        self._began = monotonic()
        packed = self.dense and self.packing is not None
        if self.dense and self.ours and not packed:
            self._local = Later(lambda: portfolio.prepare(self.problem), self.end)
        self._compiling = Compiling(self._prepare_dense if packed else self._prepare_general)

    @property
    def compiled(self) -> bool:
        """Tell whether all has been compiled; raises what that raised."""
        return self._compiling is not None and self._compiling.done

    @property
    def compiles(self) -> bool:
        """Tell whether something is being compiled."""
        return self._compiling is not None and not self._compiling.done

    def wait(self, until: float) -> bool:
        """Wait until the searches are compiled, or `monotonic()` is `until`; returns whether they are."""
        done = self._compiling is None or self._compiling.wait(until - monotonic())
        self._seconds += monotonic() - self._began
        self.waited = True
        self.late = not done
        return done

    def compile_goals(self) -> None:
        """Begin to compile what makes allocations better by their goals, as `compile` does."""
        self._began = monotonic()
        self._compiling = Compiling(lambda: prepare_goals(self.problem))

    def _prepare_general(self) -> None:
        """Compile attempts, and local search where that comes first."""
        self._prepare()
        if self._local is not None and portfolio.large(self.problem):
            portfolio.prepare(self.problem)

    def _prepare_dense(self) -> None:
        """Find the device, and compile first fit and the search on the dense form."""
        self._find()
        tiny = Packing.alike(np.full((3, 1), 2), np.full(1, 3), 3)
        first_fit(tiny, tiny.capacity)
        self._fits = True
        find.prepare(self._on_dense)

    @property
    def _on_dense(self) -> str:
        return "ruin" if self.ours else "published"

    def first_fit(self, packing: Packing, capacity: Ints, until: float) -> Ints:
        """Put balls into the first bin of capacity [bins, d] that takes them: int64 [balls]; next fit, if need be."""
        return first_fit(packing, capacity, until) if self._fits else next_fit(packing, capacity, packing.pins)

    def attempts(self, problem: Problem, packing: Packing | None, first: int, count: int) -> Iterator[Found]:
        """Make some attempts of the search that suits the problem, which has its number of bins and its dense form."""
        if packing is not None:
            self.name = "ruin and recreate" if self.ours else "published"
            return dense_attempts(problem, packing, self._on_dense, self.seed, first, count, self.end)
        if self._local is not None:
            return self._in_turns(problem, self._local, first, count)
        self.name = "published"
        return self._device(problem, self.seed, first, count, until=self.end)

    def _in_turns(self, problem: Problem, local: Later, first: int, count: int) -> Iterator[Found]:
        """Make attempts of the portfolio, whose members take turns."""
        if problem.bins not in self._portfolios:
            device = None if self.device == "cpu" else self._device
            self._portfolios[problem.bins] = Portfolio(problem, self.seed, local.ready, device)
        for found in self._portfolios[problem.bins].attempts(first, count, self.end):
            self.name = found.search
            yield found

    def one_attempt(self, problem: Problem, until: float) -> Iterator[Found]:
        """Make a published attempt, in plain Python if nothing is compiled."""
        device = reference.attempts if self.late else self._device
        return device(problem, self.seed, 0, 1, until=until)


def dense_attempts(
    problem: Problem, packing: Packing, search: str, seed: int, first: int, count: int, until: float = inf
) -> Iterator[Found]:
    """Make attempts first, ..., first + count - 1 of a search, up to the first success; yields the best now and then.

    The published search makes several per number here. Nothing is begun after `monotonic()` is `until`.
    """
    attempt, halt = find.attempts_of(packing, search, seed, spread=not problem.searched)
    nothing = Result(int((packing.pins < 0).sum()), packing.pins, 0, 0)
    checked = 0
    for best, wave in in_waves(attempt, first, count, until=until, halt=halt):
        checked += sum(tried.checked for tried in wave)
        found = best or nothing
        alloc = np.where(found.where[problem.unit_of] < 0, NULL, found.where[problem.unit_of])
        yield Found(alloc.tolist(), found.left, found.attempt, 0, checked)
