"""Make attempts at a packing by one of the searches, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from math import inf

import numpy as np

from binwright.agents.solver.backends.numbered_attempts import Found, Result, in_waves
from binwright.agents.solver.model.random import word
from binwright.agents.solver.search import published, ruin
from binwright.agents.solver.search.packing import Packing
from binwright.simcore.types import Ints

CHUNK = 1 << 16
"""Balls that one chunk of attempts of the published search looks at, roughly: some 10 ms."""
STEPS, SLICE = 16, 2000
"""Steps per ball of a short attempt of ours; steps between two looks at the clock."""
RUIN, PUBLISHED = SEARCHES = ("ruin and recreate", "published")
Attempt = Callable[[int, Callable[[], bool]], Result]


def attempts(
    packing: Packing, search: str, seed: int, first: int, count: int, until: float = inf, *, spread: bool = False
) -> Iterator[Found]:
    """Make attempts first, ..., first + count - 1 of a search, up to the first success; yields the best now and then.

    One number of the published search is a chunk of attempts. Nothing is begun after `monotonic()` is `until`. The
    first attempt of ours begins with balls in all bins if `spread`. `checked` counts steps of ours.
    """
    stop = np.zeros(1, np.int64)
    attempt = _ruin(packing, word(seed), stop, spread) if search == RUIN else _published(packing, word(seed), stop)
    nothing = Result(int((packing.pins < 0).sum()), packing.pins, 0, 0)
    checked = 0
    for best, wave in in_waves(attempt, first, count, until=until, halt=lambda: stop.fill(1)):
        checked += sum(result.checked for result in wave)
        result = best or nothing
        yield Found(result.where.tolist(), result.left, result.attempt, 0, checked, search)


@cache
def prepare(search: str) -> None:
    """Compile a search, or read what is kept of it."""
    for _ in attempts(Packing.alike(np.full((3, 1), 2), np.full(1, 3), 2), search, 0, 0, 1):
        pass


def _published(packing: Packing, seed: int, stop: Ints) -> Attempt:
    each = max(1, CHUNK // len(packing.demand))
    given = (packing.demand, packing.capacity, packing.pins, packing.foe_sets, packing.least, packing.groupings, seed)

    def attempt(chunk: int, cancelled: Callable[[], bool]) -> Result:
        where = np.empty(len(packing.demand), np.int64)
        made, best, left = published.attempts(*given, chunk * each, (chunk + 1) * each, stop, where)
        return Result(left, where, best, made)

    return attempt


def luby(number: int) -> int:
    """1, 1, 2, 1, 1, 2, 4, ...: restarts that are never far from the best (Luby, Sinclair and Zuckerman 1993)."""
    while (number + 2) & (number + 1):
        number -= (1 << ((number + 1).bit_length() - 1)) - 1
    return (number + 2) >> 1


def _ruin(packing: Packing, seed: int, stop: Ints, spread: bool) -> Attempt:
    given = (packing.demand, packing.capacity, packing.pins, packing.foe_sets)
    anew = np.full(len(packing.demand), -1)

    def attempt(number: int, cancelled: Callable[[], bool]) -> Result:
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
