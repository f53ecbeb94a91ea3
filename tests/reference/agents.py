"""Every heuristic as the slow, obvious rule, in exact arithmetic: what the kernels are compared with.

Each takes lists [servers][nodes][resources] and answers (server, node), the node being 0 for a spread request, or
None. `min` and `max` keep the first of equals, which is the tie rule: candidates come lowest index first.
"""

from collections.abc import Callable
from fractions import Fraction
from math import floor
from typing import TypeAlias

import numpy as np

Room: TypeAlias = list[list[list[int]]]
Demand: TypeAlias = tuple[int, ...]
Where: TypeAlias = tuple[int, int]
Rule: TypeAlias = Callable[[Room, Room, Demand, bool], Where | None]


def parts(demand: Demand, nodes: int) -> list[Demand]:
    """What each node of a server gives to a spread request."""
    return [tuple(amount // nodes + (node < amount % nodes) for amount in demand) for node in range(nodes)]


def after(free: Room, demand: Demand, spread: bool, where: Where) -> list[list[int]]:
    """What the server has left on each node with the request there; negative where it does not fit."""
    server, chosen = where
    nodes = len(free[server])
    nothing = (0,) * len(demand)
    taken = parts(demand, nodes) if spread else [demand if node == chosen else nothing for node in range(nodes)]
    return [[a - b for a, b in zip(has, takes, strict=True)] for has, takes in zip(free[server], taken, strict=True)]


def feasible(free: Room, demand: Demand, spread: bool) -> list[Where]:
    """Everywhere that the request fits, lowest index first."""
    everywhere = [(s, n) for s, server in enumerate(free) for n in range(1 if spread else len(server))]
    return [where for where in everywhere if all(min(node) >= 0 for node in after(free, demand, spread, where))]


def remaining(free: Room, server: int) -> int:
    """The first resource, over all nodes."""
    return sum(node[0] for node in free[server])


def billionths(value: Fraction) -> int:
    """To the nearest."""
    return floor(value * 10**9 + Fraction(1, 2))


def free_share(free: Room, capacity: Room, server: int, node: int) -> Fraction:
    """Least over the resources the node has."""
    return min(
        (Fraction(f, c) for f, c in zip(free[server][node], capacity[server][node], strict=True) if c),
        default=Fraction(1),
    )


def first_fit(free: Room, capacity: Room, demand: Demand, spread: bool) -> Where | None:
    """The first."""
    return next(iter(feasible(free, demand, spread)), None)


def best_fit(free: Room, capacity: Room, demand: Demand, spread: bool) -> Where | None:
    """The server with least remaining, the first of equals; its node with least."""
    return min(
        feasible(free, demand, spread), key=lambda w: (remaining(free, w[0]), w[0], free[w[0]][w[1]][0]), default=None
    )


def best_fit_loose(free: Room, capacity: Room, demand: Demand, spread: bool) -> Where | None:
    """Least remaining on the server, then most on the node."""
    return min(
        feasible(free, demand, spread), key=lambda w: (remaining(free, w[0]), w[0], -free[w[0]][w[1]][0]), default=None
    )


def worst_fit(free: Room, capacity: Room, demand: Demand, spread: bool) -> Where | None:
    """Most remaining on the server, then on the node."""
    return max(
        feasible(free, demand, spread), key=lambda w: (remaining(free, w[0]), -w[0], free[w[0]][w[1]][0]), default=None
    )


def balance_fit(free: Room, capacity: Room, demand: Demand, spread: bool) -> Where | None:
    """Single requests: where the shares of the server's nodes lie furthest apart as floats, then the emptiest node."""
    if spread:
        return first_fit(free, capacity, demand, spread)

    def key(where: Where) -> tuple[float, int, float]:
        server, node = where
        there = [n for n, has in enumerate(capacity[server]) if any(has)]  # others may have more nodes
        shares = {n: float(free_share(free, capacity, server, n)) for n in there}
        # A request of nothing goes to a node that is not there, too.
        spread_out = max(shares.values()) - min(shares.values()) if shares else -1.0
        return spread_out, -server, shares.get(node, 1.0)

    return max(feasible(free, demand, spread), key=key, default=None)


def dot_product(free: Room, capacity: Room, demand: Demand, spread: bool) -> Where | None:
    """Largest sum of demand share x free share."""

    def key(where: Where) -> int:
        server, node = where
        nodes = len(free[server])
        taken = dict(enumerate(parts(demand, nodes))) if spread else {node: demand}
        return billionths(
            sum(
                (
                    Fraction(amount, c) * Fraction(f, c)
                    for n, amounts in taken.items()
                    for amount, f, c in zip(amounts, free[server][n], capacity[server][n], strict=True)
                    if c
                ),
                Fraction(0),
            )
        )

    return max(feasible(free, demand, spread), key=key, default=None)


def bins_of(free: Room, capacity: Room, places: list[Where], spread: bool, hold: int) -> list[tuple[int, int, float]]:
    """What each place has free and in all of the first resource, and the first where the second counts as `hold`."""
    found = []
    for server, node in places:
        nodes = range(len(free[server])) if spread else [node]
        has, of = (sum(room[server][n][0] for n in nodes) for room in (free, capacity))
        found.append((has, of, has * float(hold) / of if of else 0.0))
    return found


def funsearch(free: Room, capacity: Room, demand: Demand, spread: bool) -> Where | None:
    """The printed program for Weibull's items, in numpy."""
    places = feasible(free, demand, spread)
    if not places or not demand[0]:
        return next(iter(places), None)
    found = bins_of(free, capacity, places, spread, 100)
    item, bins = np.array([demand[0] * 100.0 / of for _, of, _ in found]), np.array([each[2] for each in found])
    score = (bins - max(bins)) ** 2 / item + bins**2 / (item * item)
    score += bins**2 / (item * item * item)
    larger = np.array([has > demand[0] for has, _, _ in found])
    score[larger] = -score[larger]
    score[1:] -= score[:-1]
    return places[int(np.argmax(score))]


def funsearch_or(free: Room, capacity: Room, demand: Demand, spread: bool) -> Where | None:
    """The printed program for the OR-Library's items."""
    places = feasible(free, demand, spread)

    def score(has: int, of: int) -> float:
        rest = Fraction(150 * (has - demand[0]), of) if of else 0
        for limit, value in ((2, 4), (3, 3), (5, 2), (7, 1), (9, 0.9), (12, 0.95), (15, 0.97), (18, 0.98), (21, 0.98)):
            if rest <= limit:
                return value
        return 0.99

    scores = [score(has, of) for has, of, _ in bins_of(free, capacity, places, spread, 150)]
    return places[scores.index(max(scores))] if places else None


def sizes_held(room: list[list[int]], capacity: list[list[int]]) -> list[bool]:
    """Whether every node has 80, 40, 20 % of every resource."""
    return [
        all(
            f * 100 >= c * percent
            for has, is_there in zip(room, capacity, strict=True)
            for f, c in zip(has, is_there, strict=True)
        )
        for percent in (80, 40, 20)
    ]


def sizes_lost(free: Room, capacity: Room, demand: Demand, spread: bool, where: Where) -> list[bool]:
    """Which of them the server no longer has with the request there, the largest first."""
    before = sizes_held(free[where[0]], capacity[where[0]])
    later = sizes_held(after(free, demand, spread, where), capacity[where[0]])
    return [had and not has for had, has in zip(before, later, strict=True)]


def internal(free: Room, capacity: Room, demand: Demand, spread: bool) -> Where | None:
    """Least sizes lost, the largest first; least remaining on the server; most remaining on the node."""

    def key(where: Where) -> tuple[list[bool], int, int, int]:
        server, node = where
        lost = sizes_lost(free, capacity, demand, spread, where)
        return lost, remaining(free, server), server, -free[server][node][0]

    return min(feasible(free, demand, spread), key=key, default=None)


RULES: dict[str, Rule] = {
    "first-fit": first_fit, "best-fit": best_fit, "best-fit loose": best_fit_loose, "worst-fit": worst_fit,
    "balance-fit": balance_fit, "dot-product": dot_product, "funsearch": funsearch,
    "funsearch or": funsearch_or, "internal": internal, "in-line": first_fit,
    "two-stage": best_fit, "nilas": best_fit, "formula": first_fit,
}  # fmt: skip
