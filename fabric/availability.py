"""Keeps what will be free from now on as sorted arrays, in kernels that agents and compiled queues share.

A profile is `times` float64 [any], ascending, the first of them now, `levels` int64 [any, kinds], what is free from
each time on, and how many of them count. Changes write to both arrays.
"""

from math import inf

import numpy as np

from binwright.simcore.jit import lean
from binwright.simcore.types import Floats, Ints

MANY = 2**31
"""Parts that ask for nothing."""


@lean
def just_after(time: float) -> float:
    """Return the next number after a time."""
    return float(np.nextafter(time, inf))


@lean
def over(start: float, duration: float) -> float:
    """Return when a job is over that counts for a moment at least, so that it needs room."""
    return max(start + duration, just_after(start))


@lean
def _step(times: Floats, levels: Ints, count: int, time: float) -> tuple[int, int]:
    """Have something change at a time; returns its place and how many there are."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    if low < count and times[low] == time:
        return low, count
    for i in range(count, low, -1):
        times[i] = times[i - 1]
        for k in range(levels.shape[1]):
            levels[i, k] = levels[i - 1, k]
    times[low] = time
    for k in range(levels.shape[1]):
        levels[low, k] = levels[low - 1, k]
    return low, count + 1


@lean
def take(times: Floats, levels: Ints, count: int, start: float, end: float, need: Ints, sign: int) -> int:
    """Take so much from start to end, not before now, or with sign -1 give it back; returns how many times count then.

    There must be room for two more.
    """
    first, count = _step(times, levels, count, start)
    last = count
    if end < np.inf:
        last, count = _step(times, levels, count, end)
    for i in range(first, last):
        for k in range(len(need)):
            levels[i, k] -= sign * need[k]
    return count


@lean
def enough(levels: Ints, at: int, need: Ints) -> bool:
    """Tell whether so much is free then."""
    sufficient = True
    for k in range(len(need)):
        sufficient &= levels[at, k] >= need[k]
    return sufficient


@lean
def earliest(times: Floats, levels: Ints, count: int, duration: float, need: Ints) -> float:
    """Return when so much is free for so long, at the earliest; infinity for never."""
    since = -1
    for i in range(count):
        if not enough(levels, i, need):
            since = -1
            continue
        if since < 0:
            since = i
        if i + 1 == count or times[i + 1] >= times[since] + duration:
            return float(times[since])
    return np.inf


@lean
def copies(levels: Ints, first: int, last: int, need: Ints) -> int:
    """Count how many that need so much have room together at each of some steps; `MANY` at most."""
    fitting = MANY
    for i in range(first, last):
        for k in range(len(need)):
            if need[k] > 0:
                fitting = min(fitting, levels[i, k] // need[k])
    return max(fitting, 0)


@lean
def parts_from(times: Floats, levels: Ints, count: int, start: float, duration: float, need: Ints) -> int:
    """Count how many that need so much have room together from a time on, not before now, for so long."""
    first, last, end = 0, 0, over(start, duration)
    while last < count and times[last] < end:
        if times[last] <= start:
            first = last
        last += 1
    return copies(levels, first, last, need)


@lean
def least_from(times: Floats, levels: Ints, count: int, starts: Floats, duration: float, least: Ints) -> None:
    """Write what is free all the time from each start on, not before now, for so long: int64 [starts, kinds]."""
    first = 0
    for n in range(len(starts)):
        while first + 1 < count and times[first + 1] <= starts[n]:
            first += 1
        end, i = over(starts[n], duration), first
        for k in range(levels.shape[1]):
            least[n, k] = levels[first, k]
        while i < count and times[i] < end:
            for k in range(levels.shape[1]):
                least[n, k] = min(least[n, k], levels[i, k])
            i += 1


@lean
def overdrawn(levels: Ints, count: int) -> bool:
    """Tell whether more is taken at some time than there is."""
    for i in range(count):
        for k in range(levels.shape[1]):
            if levels[i, k] < 0:
                return True
    return False
