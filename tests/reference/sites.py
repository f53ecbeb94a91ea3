"""Requests that go to sites in an order and take the first server with room there, event by event."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf


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
