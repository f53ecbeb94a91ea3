"""Make the attempts that suit a problem, on a device: published ones, ones that trim, and runs of local search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import cached_property, partial
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from binwright.agents.solver.backends import cpu
from binwright.agents.solver.backends.numbered_attempts import Found
from binwright.agents.solver.local import runs
from binwright.agents.solver.local.runs import LOCAL, LocalSearch
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.search import published, ruin
from binwright.agents.solver.search.first_fit import first_fit, next_fit
from binwright.agents.solver.search.packing import Packing
from binwright.agents.solver.search.ruin import RUIN
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.removed import REMOVED
from binwright.simcore.types import Ints

PUBLISHED, TRIMMING = "published", "trimming"
SEARCHES = ("ours", PUBLISHED)
DENSE: dict[str, Any] = {RUIN: ruin, PUBLISHED: published}
"""The modules that search the dense form."""
LARGE = 10_000_000
"""Balls times bins from which on local search comes first: one attempt takes as long as it does to place all."""
Attempts = Callable[..., Iterator[Found]]
"""(problem, seed, first, count, trims=, until=): attempts first, ..., first + count - 1 in every grouping."""


def _attempts_on(device: str, problem: Problem) -> tuple[Attempts, Callable[[], None], Callable[[], object]]:
    """Return the attempts of a device, a function to call before them, which compiles, and one that finds it only."""
    name, colon, number = str(device).partition(":")
    if name == "cpu" and not number:
        return cpu.attempts, lambda: cpu.prepare(problem), lambda: None
    if name == "opencl":
        from binwright.agents.solver.backends import opencl
        from binwright.agents.solver.backends.opencl_devices import chosen, numbers_in

        numbers = numbers_in(number) if colon else ()
        made = partial(opencl.attempts, devices=numbers)
        return made, lambda: opencl.prepare(problem, numbers), lambda: chosen(numbers)
    remedy = REMOVED.get(f"device {name}") or suggest(str(device), ["cpu", "opencl", "opencl:0", "opencl:0,1"])
    raise UserError("unknown device", key="device", value=device, remedy=remedy)


class Searches:
    """The searches for one problem, which end when `monotonic()` is `end`."""

    def __init__(self, problem: Problem, device: str, search: str, seed: int, end: float) -> None:
        if search not in SEARCHES:
            raise UserError("unknown search", key="search", value=search, remedy=suggest(search, SEARCHES))
        if problem.objective is not None and search == PUBLISHED:
            remedy = "Leave search as it is: ours looks at goals."
            raise UserError("goals are for our search", key="search", value=search, remedy=remedy)
        self.problem, self.seed, self.end, self.device = problem, seed, end, device
        self._attempts, self._prepare, self._find = _attempts_on(device, problem)
        self.ours = search == "ours"
        self.packing = Packing.of(problem)
        """The dense form, if there is one."""
        self.dense = self.packing is not None and (self.ours or device == "cpu")
        """The dense form is searched, on processors."""
        self.name = PUBLISHED
        """The name of the search that made the best attempt of the last ones."""
        self.late = False
        """Compiling took too long."""
        self.compiling = 0.0
        """Seconds that were spent waiting for the compiler."""
        self._compiler = ThreadPoolExecutor(2, "compile")
        self._task: Future[None] | None = None
        self._local_task: Future[None] | None = None
        self._fits = False
        """First fit is compiled."""
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
        if problem.dims > 2_000_000:  # local search keeps a dozen numbers for each
            return attempts
        first = problem.balls * problem.bins >= LARGE or (problem.now != NULL).any()
        return (LOCAL, *attempts) if first else (*attempts, LOCAL)

    def compile(self, local: LocalSearch | None = None) -> None:
        """Begin to compile the searches, or to read them from disk, in a thread; or what `local` needs for goals.

        Local search waits until the others have tried and failed, unless it comes first.
        """
        if local is not None:
            self._task = self._compiler.submit(local.prepare_goals)
        elif self._task is None:
            self._task = self._compiler.submit(self._prepare_all)

    @property
    def compiles(self) -> bool:
        """Tell whether something is being compiled."""
        return self._task is not None and not self._task.done()

    @property
    def compiled(self) -> bool:
        """Tell whether all has been compiled."""
        return self._task is not None and self._task.done()

    def wait(self, until: float) -> bool:
        """Wait until the searches are compiled, or `monotonic()` is `until`; returns whether they are."""
        self.late = self._task is not None and not self._wait(self._task, until - monotonic())
        return not self.late

    def _wait(self, task: Future[None], seconds: float) -> bool:
        """Wait for a compilation, so long at most; returns whether it is done, and raises what it raised."""
        began = monotonic()
        wait([task], None if seconds == inf else max(0.0, seconds))
        self.compiling += monotonic() - began
        if task.done():
            task.result()
        return task.done()

    def _prepare_all(self) -> None:
        """Compile attempts, and local search where that comes first; of vector problems first fit comes before."""
        if self.packing is not None:
            tiny = Packing.alike(np.full((3, 1), 2), np.full(1, 3), 3)
            first_fit(tiny, tiny.capacity)
            self._fits = True
        if self.dense:
            self._find()
            DENSE[self.kinds[0]].prepare()
        else:
            self._prepare()
        if self.kinds[0] == LOCAL:
            runs.prepare(self.problem)

    def _ready(self) -> bool:
        """Tell whether local search is compiled; the first call waits until a third of the time left is over."""
        if self.kinds[0] == LOCAL:
            return True
        if self._local_task is None:
            self._local_task = self._compiler.submit(lambda: runs.prepare(self.problem))
            return self._wait(self._local_task, (self.end - monotonic()) / 3)
        return self._wait(self._local_task, 0.0)

    def first_fit(self, packing: Packing, capacity: Ints, until: float) -> Ints:
        """Put balls into the first bin of capacity [bins, d] that takes them: int64 [balls]; next fit, if need be."""
        return first_fit(packing, capacity, until) if self._fits else next_fit(packing, capacity, packing.pins)

    def attempts(self, problem: Problem, first: int, count: int) -> Iterator[Found]:
        """Let each kind of attempts try numbers first, ..., first + count - 1, up to the first success.

        Yields the best now and then. The kinds take turns at four numbers each, then eight, and so on, so that no
        number leaves more units than published attempts do, unless time is over. What it comes to depends on the seed,
        and on which numbers were asked for together, but not on time or on how many threads there are, nor on what
        makes attempts, unless local search is not compiled in time.
        """
        best: Found | None = None
        checked, number, each = 0, first, count if len(self.kinds) == 1 else 4
        while number < first + count and (number == first or monotonic() < self.end):
            some = number, min(each, first + count - number)
            for kind in self.kinds:
                if kind == LOCAL and not self._ready():
                    continue
                before = checked
                for found in self._of_kind(kind, problem, some):
                    checked = before + found.checked
                    if best is None or found.left < best.left:
                        best, self.name = found, kind
                    yield replace(best, checked=checked)
                    if best.left == 0:
                        return
            number, each = number + each, 2 * each

    def _of_kind(self, kind: str, problem: Problem, some: tuple[int, int]) -> Iterator[Found]:
        if kind == LOCAL:
            return self._local.setdefault(problem.bins, LocalSearch(problem, self.seed)).place(*some, self.end)
        if self.dense and (packing := Packing.of(problem)) is not None:
            made: Iterator[Found] = DENSE[kind].attempts(problem, packing, self.seed, *some, self.end)
            return made
        return self._attempts(problem, self.seed, *some, trims=kind == TRIMMING, until=self.end)
