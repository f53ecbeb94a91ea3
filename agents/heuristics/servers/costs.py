"""Decides by what places cost: one short function each."""

from typing import Literal

import numpy as np

from binwright.agents.rules.cheapest_place import cheapest, left
from binwright.agents.rules.scan import ScanAgent, places_with_room
from binwright.simcore.jit import inlined, kernel
from binwright.simcore.jit.cost_functions import ANY
from binwright.simcore.record import SPREAD
from binwright.simcore.types import Amounts, Ints


def _first_fit(free: Ints, capacity: Ints, taken: Ints, node: int) -> int:
    """Take the first place on which the request fits, as nothing costs less."""
    return ANY


first_fit = cheapest(_first_fit, worth_it=2048)  # it rarely looks at all servers


class FirstFit(ScanAgent):
    """The server with the lowest number that fits, and its first node that does."""

    reference = "Johnson 1973, Near-optimal bin packing algorithms"
    scan = staticmethod(first_fit)


@cheapest
def best_fit(free: Ints, capacity: Ints, taken: Ints, node: int) -> tuple[int, int]:
    """Costs what remains of the first resource on the server, then on the node."""
    return left(free), free[node, 0]


@cheapest
def best_fit_loose(free: Ints, capacity: Ints, taken: Ints, node: int) -> tuple[int, int]:
    """Costs what remains of the first resource on the server; prefers the node on which most remains."""
    return left(free), -free[node, 0]


class BestFit(ScanAgent):
    """The server with the least remaining CPU that fits, then the node with the least (`node: loose`: the most)."""

    reference = "Johnson 1973, Near-optimal bin packing algorithms"

    def __init__(self, node: Literal["tight", "loose"] = "tight") -> None:
        self.scan = {"tight": best_fit, "loose": best_fit_loose}[node]


@cheapest
def worst_fit(free: Ints, capacity: Ints, taken: Ints, node: int) -> tuple[int, int]:
    """Prefer the server on which most of the first resource remains, then the node."""
    return -left(free), -free[node, 0]


class WorstFit(ScanAgent):
    """The server with the most remaining CPU that fits, then the node with the most: spreads the load."""

    reference = "Johnson 1973, Near-optimal bin packing algorithms"
    scan = staticmethod(worst_fit)


@cheapest
def balance_fit(free: Ints, capacity: Ints, taken: Ints, node: int) -> tuple[float, float]:
    """Prefer the server whose nodes differ most in free share, then its emptiest node; for spread requests any server.

    Differences are compared as the floats that they are: so the published numbers come out to the last digit.
    """
    if node == SPREAD:
        return 0.0, 0.0
    nodes, resources = taken.shape
    lowest, highest = 1.0, 0.0
    for n in range(nodes):
        has = 0
        for r in range(resources):
            has += capacity[n, r] > 0
        if has:  # others may have more nodes
            share = free_share(free, capacity, n, resources)
            lowest, highest = min(lowest, share), max(highest, share)
    return lowest - highest, -free_share(free, capacity, node, resources)


@inlined
def free_share(free: Ints, capacity: Ints, node: int, resources: int) -> float:
    """Return the least of free / capacity over the resources that the node has."""
    share = 1.0
    for r in range(resources):
        if capacity[node, r] > 0:
            share = min(share, free[node, r] / capacity[node, r])
    return share


class BalanceFit(ScanAgent):
    """Evens out the nodes: single requests go where nodes differ most, to the emptiest; spread ones first-fit."""

    reference = "Chan 2025, SPANE, arXiv:2504.14946: a baseline of its code"
    scan = staticmethod(balance_fit)


@cheapest
def dot_product(free: Ints, capacity: Ints, taken: Ints, node: int) -> int:
    """Prefer the place where the demand points most the way that free capacity does, both as shares of capacity.

    Scores are compared in billionths, so that the last bits of a float decide no tie.
    """
    nodes, resources = taken.shape
    score = 0.0
    for n in range(nodes):
        of_node = 0.0
        for r in range(resources):
            room = capacity[n, r]
            if taken[n, r] > 0 and room > 0:
                of_node += (taken[n, r] / room) * (free[n, r] / room)
        score += of_node
    return -int(score * 1e9 + 0.5)


class DotProduct(ScanAgent):
    """Where the shares demanded and the shares free have the largest dot product."""

    reference = "Panigrahy et al. 2011, Heuristics for vector bin packing"
    scan = staticmethod(dot_product)


SIZE = 2**60
"""What a size of room costs beside what is left: more than any server has of a resource, in quanta."""


@cheapest
def internal(free: Ints, capacity: Ints, taken: Ints, node: int) -> tuple[int, int, int]:
    """Take where it costs least room; then the server with least CPU free; then its emptier node.

    A server has room for a size, 80, 40 or 20 %, while all its nodes have that much of every resource free. Losing a
    size costs more than losing all smaller ones.
    """
    nodes, resources = taken.shape
    before = after = 4 + 2 + 1
    for n in range(nodes):
        for r in range(resources):
            before &= _sizes(free[n, r], capacity[n, r])
            after &= _sizes(free[n, r] - taken[n, r], capacity[n, r])
    return left(free), (before - after) * SIZE + left(free), -free[node, 0]


@kernel
def _sizes(room: int, of: int) -> int:
    """Return for which sizes there is room, as bits: 4 for 80 % of capacity, 2 for 40 %, 1 for 20 %."""
    return 4 * (room * 100 >= of * 80) + 2 * (room * 100 >= of * 40) + (room * 100 >= of * 20)


class Internal(ScanAgent):
    """Best-Fit into the emptier node, where it costs least of the room that large spread requests need."""

    reference = "ours: the page 'Agents' has the rule and the measurements"
    scan = staticmethod(internal)


STEPS = ((2, 400), (3, 300), (5, 200), (7, 100), (9, 90), (12, 95), (15, 97), (21, 98), (150, 99))
"""Up to what rest of a bin of 150 FunSearch's rule for the OR-Library's instances has which score, in hundredths."""


@cheapest
def by_steps(free: Ints, capacity: Ints, taken: Ints, node: int) -> int:
    """Cost less the less remains of the first resource, by the printed steps."""
    remains, of = (left(free), left(capacity)) if node == SPREAD else (free[node, 0], capacity[node, 0])
    for limit, score in STEPS:
        if (remains - left(taken)) * 150 <= limit * of:
            return -score
    return 0


@kernel
def by_differences(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """Take, as a `Scan`, the place whose score exceeds that of the place before it by most.

    As printed, of bins of 100: with what an item and the bins where it fits have of the first resource, a score is (bin
    - largest) ** 2 / item + bin ** 2 / item ** 2 + bin ** 2 / item ** 3, negative unless the item fills the bin. The
    first place has its own score; where the item takes nothing it is the place.
    """
    nodes: int = free.shape[1]
    codes = places_with_room(free, demand, spread)
    rooms, largest = np.empty((len(codes), 2)), 0.0
    for place in range(len(codes)):
        server, node = codes[place] // nodes, codes[place] % nodes
        remains, of = free[server, node, 0], capacity[server, node, 0]
        if spread:
            remains, of = left(free[server]), left(capacity[server])
        rooms[place, 0], rooms[place, 1] = remains, of
        largest = max(largest, remains * 100.0 / of if of else 0.0)
    if len(codes) and not demand[0]:
        return int(codes[0])
    best, most, before = -1, -np.inf, 0.0
    for place in range(len(codes)):
        remaining, of_all = rooms[place]
        room, item = remaining * 100.0 / of_all, demand[0] * 100.0 / of_all
        score = (room - largest) ** 2 / item + room**2 / item**2
        score += room**2 / item**3
        if remaining > demand[0]:
            score = -score
        if score - before > most:
            best, most = int(codes[place]), score - before
        before = score
    return best


class FunSearch(ScanAgent):
    """The rule that FunSearch printed for items of a Weibull distribution, or for the OR-Library's (`rule: or`).

    It looks at the first resource, of which every place counts as 100 (or 150).
    """

    reference = "Romera-Paredes et al. 2024, Mathematical discoveries from program search with large language models"

    def __init__(self, rule: Literal["weibull", "or"] = "weibull") -> None:
        self.scan = {"weibull": by_differences, "or": by_steps}[rule]
