"""Make the attempts that suit a problem, on a device: published ones, ones that trim, and runs of local search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from math import inf
from threading import Thread
from time import monotonic

import numpy as np

from binwright.agents.solver.backends import cpu, plain
from binwright.agents.solver.backends.numbered_attempts import Found
from binwright.agents.solver.local import runs
from binwright.agents.solver.local.runs import LOCAL, LocalSearch
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.search import find
from binwright.agents.solver.search.find import PUBLISHED, RUIN
from binwright.agents.solver.search.first_fit import first_fit, next_fit
from binwright.agents.solver.search.packing import Packing
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.types import Ints

TRIMMING = "trimming"
SHARE = 4
"""Numbers that one kind of attempts tries before the next one does, at first; then twice as many, and so on."""
LARGEST = 2_000_000
"""Dimensions up to which there is a local search: it keeps a dozen numbers for each."""
LARGE = 10_000_000
"""Balls times bins from which on local search comes first: one attempt takes as long as it does to place all."""
LONGEST, SHORTEST = 64.0, 0.25
"""How much longer or shorter the runs of local search become, at most, where they do better or worse than attempts."""


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


Attempts = Callable[..., Iterator[Found]]
"""(problem, seed, first, count, trims=, until=): attempts first, ..., first + count - 1 in every grouping, as
`plain.attempts`."""
SEARCHES = ("ours", "published")


def _attempts_on(device: str, problem: Problem) -> tuple[Attempts, Callable[[], None], Callable[[], object]]:
    """Return the attempts of a device, a function to call before them, which compiles, and one that finds it only."""
    name, colon, number = str(device).partition(":")
    if name == "reference" and not number:
        return plain.attempts, lambda: None, lambda: None
    if name == "cpu" and not number:
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
        self.packing = Packing.of(problem) if self.ours or device == "cpu" else None
        """The dense form, if there is one: it is searched on processors."""
        if problem.objective is not None and not self.ours:
            remedy = "Leave search as it is: ours looks at goals."
            raise UserError("goals are for our search", key="search", value=search, remedy=remedy)
        self.name = PUBLISHED
        """The name of the search that made the best attempt of the last ones."""
        self.late = False
        """Compiling took too long."""
        self._fits = False
        """First fit is compiled."""
        self._compiling: Compiling | None = None
        self._compiling_local: Compiling | None = None
        self.compiling = 0.0
        """Seconds that were spent waiting for the compiler."""
        self._local: dict[int, LocalSearch] = {}
        """By number of bins."""

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attempts, in the order in which they try a number."""
        problem = self.problem
        if not self.ours:
            return (PUBLISHED,)
        if self.packing is not None:
            return (RUIN,)
        attempts = (TRIMMING, PUBLISHED) if problem.elastic.any() else (PUBLISHED,)
        if problem.dims > LARGEST:
            return attempts
        first = problem.balls * problem.bins >= LARGE or (problem.now != NULL).any()
        return (LOCAL, *attempts) if first else (*attempts, LOCAL)

    def compile(self) -> None:
        """Begin to compile the searches, or to read them from disk, in a thread.

        Local search waits until the others have tried and failed, unless it comes first.
        """
        if self._compiling is None:
            self._compiling = Compiling(self._prepare_all)

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
        began = monotonic()
        self.late = self._compiling is not None and not self._compiling.wait(until - began)
        self.compiling += monotonic() - began
        return not self.late

    def compile_goals(self, local: LocalSearch) -> None:
        """Begin to compile what makes allocations better by their goals, as `compile` does."""
        self._compiling = Compiling(local.prepare_goals)

    def _prepare_all(self) -> None:
        """Compile attempts, and local search where that comes first; or find the device, and compile first fit."""
        if self.packing is not None:
            self._find()
            tiny = Packing.alike(np.full((3, 1), 2), np.full(1, 3), 3)
            first_fit(tiny, tiny.capacity)
            self._fits = True
            find.prepare(self.kinds[0])
        else:
            self._prepare()
        if self.kinds[0] == LOCAL:
            runs.prepare(self.problem)

    def _ready(self) -> bool:
        """Tell whether local search is compiled; the first call waits until a third of the time left is over."""
        if self.kinds[0] == LOCAL:
            return True
        if self._compiling_local is None:
            began = monotonic()
            self._compiling_local = Compiling(lambda: runs.prepare(self.problem))
            self._compiling_local.wait((self.end - began) / 3)
            self.compiling += monotonic() - began
        return self._compiling_local.done

    def first_fit(self, packing: Packing, capacity: Ints, until: float) -> Ints:
        """Put balls into the first bin of capacity [bins, d] that takes them: int64 [balls]; next fit, if need be."""
        return first_fit(packing, capacity, until) if self._fits else next_fit(packing, capacity, packing.pins)

    def attempts(self, problem: Problem, first: int, count: int) -> Iterator[Found]:
        """Let each kind of attempts try numbers first, ..., first + count - 1, up to the first success.

        Yields the best now and then. The kinds take turns at some numbers each, so that no number leaves more units
        than published attempts do, unless time is over. What it comes to depends on the seed, and on which numbers
        were asked for together, but not on time or on how many threads there are, nor on what makes attempts, unless
        local search is not compiled in time.
        """
        packing = None if self.packing is None else Packing.of(problem)
        if packing is not None:
            spread = not problem.searched
            self.name = self.kinds[0]
            for found in find.attempts(packing, self.name, self.seed, first, count, self.end, spread=spread):
                yield replace(found, alloc=np.array(found.alloc)[problem.unit_of].tolist())
            return
        local = self._local.setdefault(problem.bins, LocalSearch(problem, self.seed))
        best: Found | None = None
        fewest: dict[str, int] = {}
        checked, number, each = 0, first, SHARE
        while number < first + count and (number == first or monotonic() < self.end):
            some = number, min(each, first + count - number)
            for kind in self.kinds:
                if kind == LOCAL and not self._ready():
                    continue
                before = checked
                for found in self._of_kind(kind, problem, local, some):
                    checked, fewest[kind] = before + found.checked, min(found.left, fewest.get(kind, found.left))
                    if best is None or found.left < best.left:
                        best, self.name = found, kind
                    yield replace(best, checked=checked)
                    if best.left == 0:
                        return
            number, each = number + each, 2 * each
        others = [left for kind, left in fewest.items() if kind != LOCAL]
        if LOCAL in fewest and others and fewest[LOCAL] != min(others):
            longer = 2 if fewest[LOCAL] < min(others) else 0.5
            local.length = min(LONGEST, max(SHORTEST, local.length * longer))

    def _of_kind(self, kind: str, problem: Problem, local: LocalSearch, some: tuple[int, int]) -> Iterator[Found]:
        if kind == LOCAL:
            return local.place(*some, self.end)
        return self._device(problem, self.seed, *some, trims=kind == TRIMMING, until=self.end)

    def one_attempt(self, problem: Problem, until: float) -> Iterator[Found]:
        """Make a published attempt, in plain Python if nothing is compiled."""
        device = plain.attempts if self.late else self._device
        return device(problem, self.seed, 0, 1, until=until)
