"""Requests that go to sites in an order and take the first server with room there, event by event."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor, inf

Series = tuple[list[float], float, float]
"""Values one after another, again and again, how long each holds, and how long after the first one time begins."""


def play(
    arrival: Sequence[float],
    duration: Sequence[float],
    demand: Sequence[Sequence[int]],
    capacity: Sequence[Sequence[int]],
    site: Sequence[int],
    order: Callable[[int, float, list[Fraction]], list[int]],
    wait: bool,
) -> tuple[list[int], list[float], list[bool]]:
    """Return where each request lies, -1 for nowhere, since when, and whether a site refused it before.

    `order(row, now, loads)` are the sites that a request tries. They are dropped, or wait in line, by `wait`.
    """
    n = len(arrival)
    server, since, spilled = [-1] * n, [inf] * n, [False] * n
    free = [list(each) for each in capacity]
    line: list[int] = []
    coming = list(range(n))
    ends: list[tuple[float, int]] = []

    def loads() -> list[Fraction]:
        found = []
        for one in range(max(site) + 1):
            mine = [number for number, of in enumerate(site) if of == one]
            shares = []
            for r in range(len(capacity[0])):
                installed = sum(capacity[number][r] for number in mine)
                taken = installed - sum(free[number][r] for number in mine)
                shares.append(Fraction(taken, max(installed, 1)))
            found.append(max(shares))
        return found

    def tried(row: int, now: float) -> bool:
        for place, one in enumerate(order(row, now, loads())):
            for number, of in enumerate(site):
                if of == one and all(have >= want for have, want in zip(free[number], demand[row], strict=True)):
                    free[number] = [have - want for have, want in zip(free[number], demand[row], strict=True)]
                    server[row], since[row], spilled[row] = number, now, place > 0
                    ends.append((now + duration[row], row))
                    return True
        return False

    def release(now: float) -> bool:
        over = [one for one in ends if one[0] <= now]
        for one in over:
            ends.remove(one)
            row = one[1]
            free[server[row]] = [have + want for have, want in zip(free[server[row]], demand[row], strict=True)]
        return bool(over)

    while coming or (line and any(end < inf for end, _ in ends)):
        now = min([arrival[coming[0]]] if coming else [], default=inf)
        now = min(now, min((end for end, _ in ends), default=inf) if line else inf)
        if release(now):
            while line and tried(line[0], now):
                line.pop(0)
        if coming and arrival[coming[0]] == now:
            row = coming.pop(0)
            if line or not tried(row, now):
                line += [row] if wait else []
    return server, since, spilled


def integral(series: Series, begin: Fraction, end: Fraction) -> Fraction:
    """Add up value x seconds between two times, step by step."""
    values, every, start = series[0], Fraction(series[1]), Fraction(series[2])
    total, time = Fraction(0), begin
    while time < end:
        step = floor((start + time) / every)
        last = min((step + 1) * every - start, end)
        total += Fraction(values[step % len(values)]) * (last - time)
        time = last
    return total


def best_hour(arrival: float, stays: float, slack: float, series: Sequence[Series], pue: Sequence[float]) -> float:
    """Find the first of the best of now and the whole hours within the slack."""
    found, least = arrival, Fraction(10**30)
    for begin in [arrival] + [hour * 3600.0 for hour in range(2000) if arrival < hour * 3600.0 <= arrival + slack]:
        time = Fraction(begin)
        means = []
        for (values, every, start), factor in zip(series, pue, strict=True):
            if 0 < stays < inf:
                mean = integral((values, every, start), time, time + Fraction(stays)) / Fraction(stays)
            else:
                mean = Fraction(values[floor((Fraction(start) + time) / Fraction(every)) % len(values)])
            means.append(Fraction(factor) * mean)
        if min(means) < least:
            found, least = begin, min(means)
    return found
