"""Find a placement of a packing by one of the searches, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import count
from math import inf

import numpy as np

from binwright.agents.solver.backends.numbered_attempts import Result, lowest
from binwright.agents.solver.model.random import word
from binwright.agents.solver.search import published, ruin
from binwright.agents.solver.search.packing import Packing
from binwright.simcore.types import Ints

CHUNK = 1 << 16
"""Balls that one chunk of attempts of the published search looks at, roughly: some 10 ms."""
STEPS, SLICE = 16, 2000
"""Steps per ball of a short attempt of ours; steps between two looks at the clock."""
SEARCHES = ("ruin", "published")


@dataclass(frozen=True, slots=True)
class Found:
    """An answer of `find`."""

    where: Ints
    """[balls]: the bin, -1 if it was not placed"""
    left: int
    """Balls that were not placed; 0 is a solution."""
    attempt: int
    """The attempt that found it."""
    checked: int
    """Complete attempts of the published search; first fits and steps of ours."""
    interrupted: bool


def find(
    packing: Packing,
    search: str = "ruin",
    *,
    seed: int = 0,
    until: float = inf,
    chunks: Iterable[int] | None = None,
    workers: int | None = None,
    spread: bool = False,
) -> Found:
    """Search until `monotonic()` is `until`, or through the chunks of attempts given; else until it is found.

    The first attempt of ours begins with balls in all bins if `spread`. An answer that is complete does not depend on
    time or on the number of workers; one that is not may.
    """
    attempt, halt = attempts_of(packing, search, seed, spread)
    numbers = count() if chunks is None else chunks
    outcome = lowest(attempt, numbers, until=until, workers=workers, halt=halt)
    checked = sum(tried.checked for tried in outcome.tried)
    best = outcome.best
    if best is None:
        return Found(packing.pins, int((packing.pins < 0).sum()), 0, checked, outcome.interrupted)
    return Found(best.where, best.left, best.attempt, checked, outcome.interrupted)


def attempts_of(
    packing: Packing, search: str, seed: int, spread: bool
) -> tuple[Callable[[int, Callable[[], bool]], Result | None], Callable[[], None]]:
    """Return what makes an attempt of a search, or a chunk of published ones, by its number; and what halts all."""
    stop = np.zeros(1, np.int64)
    given = packing, word(seed), stop
    return _ruin(*given, spread) if search == "ruin" else _published(*given), lambda: stop.fill(1)


@cache
def prepare(search: str) -> None:
    """Compile a search, or read what is kept of it."""
    find(Packing.alike(np.full((3, 1), 2), np.full(1, 3), 2), search, chunks=range(1), workers=1)


def _published(packing: Packing, seed: int, stop: Ints) -> Callable[[int, Callable[[], bool]], Result | None]:
    each = max(1, CHUNK // len(packing.demand))
    given = (packing.demand, packing.capacity, packing.pins, packing.foe_sets, packing.least, packing.groupings, seed)

    def attempts(chunk: int, cancelled: Callable[[], bool]) -> Result | None:
        where = np.empty(len(packing.demand), np.int64)
        made, best, left = published.attempts(*given, chunk * each, (chunk + 1) * each, stop, where)
        return Result(left, where, best, made)

    return attempts


def luby(number: int) -> int:
    """1, 1, 2, 1, 1, 2, 4, ...: restarts that are never far from the best (Luby, Sinclair and Zuckerman 1993)."""
    while (number + 2) & (number + 1):
        number -= (1 << ((number + 1).bit_length() - 1)) - 1
    return (number + 2) >> 1


def _ruin(packing: Packing, seed: int, stop: Ints, spread: bool) -> Callable[[int, Callable[[], bool]], Result | None]:
    given = (packing.demand, packing.capacity, packing.pins, packing.foe_sets)
    anew = np.full(len(packing.demand), -1)

    def attempt(number: int, cancelled: Callable[[], bool]) -> Result | None:
        state = ruin.state(packing.demand, packing.capacity)
        turning = spread and number == 0
        now = packing.now if number % 2 == 0 else anew
        left = ruin.begin(*given, packing.least, packing.weight, now, seed, number, turning, stop, state)
        steps, most = 0, luby(number) * STEPS * len(packing.demand)
        while left and steps < most and not cancelled():
            left = ruin.improve(*given, packing.weight, seed, number, SLICE, state)
            steps += SLICE
        return Result(left, state[0], number, steps + 1)

    return attempt
