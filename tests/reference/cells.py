"""A run in cells, as plainly as can be: lists, and every load counted anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, inf
from typing import NamedTuple

Demand = tuple[int, ...]
Free = list[list[list[int]]]
Decide = Callable[[Free, Demand, bool], tuple[int, int] | None]
"""What is free in a cell, a demand, whether it is spread -> server of the cell and node, or nowhere."""


class Request(NamedTuple):
    """When it arrives, for how long it stays, what it takes, and the cells it may go to (none: all)."""

    arrival: float
    duration: float
    demand: Demand
    spread: bool
    candidates: tuple[int, ...]


def play(requests: Sequence[Request], cells: list[Free], window: float, decide: Decide) -> list[tuple[int, int] | None]:
    """Return of each request its server, numbered over all cells, and its node, -1 where spread; None if dropped."""
    empty = [total(cell) for cell in cells]
    held: list[tuple[float, int, int, int, Request]] = []
    found: list[tuple[int, int] | None] = []
    number, loads = -1, empty

    def release(time: float) -> None:
        for one in [one for one in held if one[0] <= time]:
            take(cells[one[1]][one[2]], one[3], one[4], 1)
            held.remove(one)

    for request in requests:
        start = request.arrival if not window else floor(request.arrival / window) * window
        if not window or floor(request.arrival / window) != number:
            number = floor(request.arrival / window) if window else 0
            release(start)
            loads = [[e - f for e, f in zip(empty[c], total(cell), strict=True)] for c, cell in enumerate(cells)]
        release(request.arrival)

        def load(cell: int) -> float:
            shares = [used / there for used, there in zip(loads[cell], empty[cell], strict=True) if there]  # noqa: B023
            return max(shares, default=0.0)

        chosen = min(sorted(request.candidates or range(len(cells))), key=load)
        loads[chosen] = [used + amount for used, amount in zip(loads[chosen], request.demand, strict=True)]
        place = decide(cells[chosen], request.demand, request.spread)
        if place is None:
            found.append(None)
            continue
        server, node = place
        take(cells[chosen][server], node, request, -1)
        if request.duration < inf:
            held.append((request.arrival + request.duration, chosen, server, node, request))
        found.append((sum(map(len, cells[:chosen])) + server, node))
    return found


def total(cell: Free) -> list[int]:
    """Add up what is free of each resource."""
    return [sum(amounts) for amounts in zip(*(node for server in cell for node in server), strict=True)]


def take(server: list[list[int]], node: int, request: Request, sign: int) -> None:
    """Take from a node, or an even part from each where `node` is -1; give back with sign 1."""
    nodes = len(server)
    for n in range(nodes):
        for r, amount in enumerate(request.demand):
            if node == -1:
                server[n][r] += sign * (amount // nodes + (n < amount % nodes))
            elif n == node:
                server[n][r] += sign * amount
