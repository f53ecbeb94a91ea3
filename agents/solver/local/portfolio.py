"""Take turns at a problem: published attempts, attempts that trim, and local searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import inf
from time import monotonic
from typing import NamedTuple, TypeAlias

import numpy as np

from binwright.agents.solver.backends.attempt import Scan, Utilfn
from binwright.agents.solver.backends.cpu import compiled, search
from binwright.agents.solver.backends.flat import Flat, Room, room
from binwright.agents.solver.backends.numbered_attempts import Found, in_waves
from binwright.agents.solver.local.search import begin, improve, relent
from binwright.agents.solver.local.state import State, state
from binwright.agents.solver.model.emit import utilfn
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.random import word
from binwright.agents.solver.search.find import luby
from binwright.simcore.jit import prepared
from binwright.simcore.types import Ints

PUBLISHED, TRIMMING, LOCAL = "published", "trimming", "local search"
STEPS, BRIEF, SLICE = 64, 8, 1000
"""Moves per unit of a short run of local search; the same while the number of bins is searched, where most runs are for
too few bins; moves between two looks at the clock."""
GENTLE = 16_000
"""Moves of a run from where things are that only look for room for what is left out."""
LARGEST = 2_000_000
"""Dimensions up to which there is a local search: it keeps a dozen numbers for each."""
LARGE = 10_000_000
"""Balls times bins from which on local search comes first: one attempt takes as long as it does to place all."""
LONGEST, SHORTEST = 64.0, 0.25
"""How much longer or shorter the runs of local search become, at most, where they do better or worse than attempts."""
Ready: TypeAlias = Callable[[Callable[[], bool]], bool]
"""(cancelled) -> whether local search is compiled. It is called when the other searches have failed, and may wait."""
Device: TypeAlias = Callable[..., Iterator[Found]]
"""Makes attempts on a device, as `binwright.agents.solver.backends.cpu.attempts`."""


class Tried(NamedTuple):
    """What all searches made of one number."""

    left: int
    where: Ints
    """[balls]"""
    attempt: int
    checked: int
    search: str
    lefts: dict[str, int]
    """What each of them left."""


class Place(NamedTuple):
    """What one thread works in."""

    room: Room
    state: State


class Portfolio:
    """The searches on one problem. Number n is attempt n in every grouping, with and without trimming, and local run n.

    If several succeed, the answer is that of the lowest number, and of the first search in this order: trimming,
    published, local; in large problems local comes first. So no number leaves more units than published attempts do,
    unless time is over. Where balls are somewhere now, local runs of even numbers begin there, and come first. What it
    comes to depends on the seed, and on which numbers were asked for together, but not on time or on how many threads
    there are, nor on what makes attempts, unless `ready` says that local search is not compiled.
    """

    def __init__(
        self, problem: Problem, seed: int, ready: Ready = lambda cancelled: True, device: Device | None = None
    ) -> None:
        """Make published attempts on a `device`, if there is one; local search is run on processors."""
        self._device, self._by_device = device, dict[str, Found]()
        source, numbers = utilfn(problem.program)
        self._source = source
        self._problem, self._seed, self._ready = problem, word(seed), ready
        self._flats = {PUBLISHED: Flat.of_problem(problem, numbers)}
        if problem.elastic.any():
            self._flats = {TRIMMING: Flat.of_problem(problem, numbers, True)} | self._flats
        self._sets = len(problem.friends), len(problem.friends) + len(problem.foes)
        self._nowhere = np.full(len(problem.units), NULL)
        self._free: list[Place] = []
        self._stop = np.zeros(1, np.int64)
        self._length = 1.0
        """How long runs of local search are, beside what is usual."""

    @cached_property
    def _compiled(self) -> tuple[Utilfn, Scan]:
        """UTILFN, which a device may do without."""
        return compiled(self._source)

    def attempts(self, first: int, count: int, until: float = inf) -> Iterator[Found]:
        """Work through numbers first, ..., first + count - 1, up to the first success; yields the best now and then.

        When `monotonic()` is `until`, everything is cut short: what is placed then counts.
        """
        checked = 0
        fewest: dict[str, int] = {}
        found: Tried | None = None
        self._stop[:] = 0
        for some in self._shares(first, count):
            for kind in self._flats if self._device is not None else ():
                checked += self._ask(kind, some, until)
            for best, wave in in_waves(self._try, some.start, len(some), until=until, halt=lambda: self._stop.fill(1)):
                for tried in wave:
                    checked += tried.checked
                    for name, left in tried.lefts.items():
                        fewest[name] = min(left, fewest.get(name, left))
                if best is not None and (found is None or best.left < found.left):
                    found = best
                if found is not None:
                    yield Found(found.where.tolist(), found.left, found.attempt, 0, checked, found.search)
                    if found.left == 0:
                        return
        if monotonic() >= until:
            return
        others = min(left for name, left in fewest.items() if name != LOCAL)
        ours = fewest.get(LOCAL, others)
        if ours != others:
            self._length = min(LONGEST, max(SHORTEST, self._length * (2 if ours < others else 0.5)))

    def _shares(self, first: int, count: int) -> Iterator[range]:
        """Share numbers out, so that a device that makes one, two, four, ... does not make many in vain."""
        number, each = first, 1 if self._device is not None else count
        while number < first + count:
            yield range(number, min(number + each, first + count))
            number, each = number + each, 2 * each

    def _ask(self, kind: str, numbers: range, until: float) -> int:
        """Let the device make attempts, of which the best counts; returns how many it has made."""
        assert self._device is not None
        self._by_device.pop(kind, None)
        trims = kind == TRIMMING
        for found in self._device(self._problem, self._seed, numbers.start, len(numbers), trims=trims, until=until):
            self._by_device[kind] = found
        return self._by_device[kind].checked if kind in self._by_device else 0

    def _try(self, number: int, cancelled: Callable[[], bool]) -> Tried:
        """Let every search try a number, up to the first that succeeds."""
        ways = len(self._problem.groupings)
        if self._free:
            place = self._free.pop()
        else:
            flat = self._flats.get(TRIMMING, self._flats[PUBLISHED])
            place = Place(room(self._problem)._replace(stop=self._stop), state(self._problem, flat, self._stop))
        staying = number % 2 == 0 and bool((self._problem.unit_now != NULL).any())
        best, where, name, checked = len(self._problem.units) + 1, place.room.best, PUBLISHED, 0
        lefts: dict[str, int] = {}
        first = staying or large(self._problem)
        for kind in (LOCAL, *self._flats) if first else (*self._flats, LOCAL):
            if kind == LOCAL:
                if cancelled() or self._problem.dims > LARGEST or not self._ready(cancelled):
                    continue
                made, left = self._local(place.state, number, staying, cancelled)
                found = place.state.best
            elif self._device is not None:
                answer = self._by_device.get(kind)
                if answer is None or answer.attempt != number:  # the device has done better with another number
                    continue
                made, left, found = 0, answer.left, np.array(answer.alloc)
            else:
                given = *self._compiled, self._flats[kind], *self._sets, place.room, self._seed
                made, _, left = search(*given, number * ways, (number + 1) * ways)
                found = place.room.best
            checked, lefts[kind] = checked + made, left
            if left < best:
                best, where, name = left, found.copy(), kind
            if left == 0 or self._stop[0]:
                break
        self._free.append(place)
        return Tried(best, where, number, checked, name, lefts)

    def _local(self, state: State, number: int, staying: bool, cancelled: Callable[[], bool]) -> tuple[int, int]:
        """Make a local run; returns how many moves it made, and how many units it left at best.

        It begins where units are now if `staying`, and then with gentle moves. Wishes that keep anything out are given
        up halfway.
        """
        call, scan = self._compiled
        friends, sets = self._sets
        now = self._problem.unit_now if staying else self._nowhere
        left = begin(call, scan, state, friends, sets, now, self._seed, number)
        each = BRIEF if self._problem.searched else STEPS
        most = max(1, int(luby(number) * each * len(self._problem.units) * self._length))
        made, relented = 0, sets == 0
        while left and made < most and not cancelled():
            if made >= most // 2 and not relented:
                relent(state)
                relented = True
            steps = min(SLICE, most - made, most if relented else max(1, most // 2 - made))
            gentle = staying and made < GENTLE
            left = improve(call, scan, state, friends, self._seed, number, steps, left, gentle)
            made += steps
        return made + 1, left


def large(problem: Problem) -> bool:
    """Tell whether local search comes first."""
    return problem.balls * problem.bins >= LARGE


def prepare(problem: Problem) -> None:
    """Compile local search, or read it from disk: it is the same for all problems."""
    if getattr(relent, "signatures", None):  # the last one: to look for them takes longer than some searches
        return
    source, numbers = utilfn(problem.program)
    given = *compiled(source), state(problem, Flat.of_problem(problem, numbers), np.zeros(1, np.int64))
    prepared(begin, *given, 0, 0, problem.unit_now, 0, 0)
    prepared(improve, *given, 0, 0, 0, 0, 0, False)
    prepared(relent, given[-1])
