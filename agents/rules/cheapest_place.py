"""Makes whole rules from one short function: what a place costs. The search for the cheapest place is written here.

The cost is a function of `(free, capacity, demand, spread, node)`: `free` and `capacity` are those of one server, int64
[nodes, resources], unchanged, and `demand` has the quanta of each resource. For a spread request `node` is 0. If it
takes one or two arguments more, these are numbers of the rule's own, float64 [any].

It returns one number, two or three. One is what the place costs. Two are what the server costs, whatever the node, and
what the node does: the request goes to the cheapest server on which it fits, and there to the cheapest node on which it
fits. Of three the first is less than or equal to the cost of all places of the server, so that servers can be passed
over; the second is what the place costs, and the third decides between nodes of one server that cost the same. Lower is
better, equals go to the lowest server and then the lowest node. Infinity means nowhere, and among whole numbers the
largest (`NOTHING`). The search ends at a place that costs `ANY`, as nothing costs less.

It is compiled: it may call other `@kernel` functions and numpy, and the constants that it names are part of what is
kept of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from binwright.agents.rules.ranking_updates import upkeep
from binwright.agents.rules.scan import Scan
from binwright.fabric.changed_servers import SERVERS_WORTH_IT
from binwright.fabric.ranking import best_of
from binwright.fabric.servers import fits_node, fits_spread
from binwright.simcore.jit import inlined, kernel, lean, lean_inlined, mistaken
from binwright.simcore.jit.cost_functions import ANY, NOTHING, at_place, bound_of, is_of_server, is_somewhere, ordered
from binwright.simcore.types import Amounts, Floats, Ints

GIVEN = 5
"""Arguments of a cost before the rule's own numbers."""


def cheapest(cost: Callable[..., Any], worth_it: int = SERVERS_WORTH_IT) -> Scan:
    """Make a `Scan` of a cost: the place that costs least of all on which the request fits.

    It has a second form, which answers the same but looks only at what changed (`fabric.ranking`): runs take it by
    themselves where there are many servers, from `worth_it` on.
    """
    own = cost.__code__.co_argcount - GIVEN
    if own not in (0, 1, 2):
        many = own + GIVEN
        problem = f"takes {many} argument{'s' * (many != 1)}"
        remedy = "Write (free, capacity, demand, spread, node), and behind these up to two arrays of your own."
        return cast(Scan, mistaken(cost, problem, remedy))
    of = inlined(cost)

    @lean_inlined
    def search(
        free: Ints, capacity: Ints, demand: Amounts, spread: bool, nodes: int, numbers: Any, first: int, end: int
    ) -> Any:
        """Search some servers; returns the least cost and the code of the place, -1 for none."""
        best, least = -1, NOTHING
        for server in range(first, end):
            here, of_all = free[server], capacity[server]
            # Of what a cost returns only a part is used here, and the compiler leaves the others out.
            first_cost: Any = of(here, of_all, demand, spread, 0, *numbers)
            of_server, bound = is_of_server(first_cost), bound_of(first_cost)
            if best >= 0 and not bound < least:
                continue
            chosen, least_order = False, NOTHING
            if spread:
                if fits_spread(free, server, demand):
                    place, _ = at_place(of(here, of_all, demand, True, 0, *numbers), bound)
                    if is_somewhere(place) and (best < 0 or place < least):
                        best, chosen, least = server * nodes, True, place
            else:
                for node in range(nodes):
                    if not of_server and not fits_node(free, server, node, demand):
                        continue  # first, as the cost of a place may be dear
                    place, order = at_place(of(here, of_all, demand, False, node, *numbers), bound)
                    is_less = best < 0 or place < least or (chosen and place == least and order < least_order)
                    is_less = is_less and is_somewhere(place) and is_somewhere(order)
                    if is_less and (not of_server or fits_node(free, server, node, demand)):
                        best, chosen, least, least_order = server * nodes + node, True, place, order
            if not of_server and chosen and least == ANY:
                break
        return least, best

    @lean_inlined
    def scan(free: Ints, capacity: Ints, demand: Amounts, spread: bool, numbers: Any) -> int:
        nodes: int = free.shape[1]
        # A constant makes the search up to three times as fast: two nodes are usual, and one.
        if nodes == 2:
            found: int = search(free, capacity, demand, spread, 2, numbers, 0, len(free))[1]
        elif nodes == 1:
            found = search(free, capacity, demand, spread, 1, numbers, 0, len(free))[1]
        else:
            found = search(free, capacity, demand, spread, nodes, numbers, 0, len(free))[1]
        return found

    @lean
    def some(
        free: Ints, capacity: Ints, demand: Amounts, spread: bool, numbers: Any, first: int, end: int
    ) -> tuple[int, int]:
        """Search some servers, and return the least cost as `trees` have it."""
        nodes: int = free.shape[1]
        if nodes == 2:
            least, code = search(free, capacity, demand, spread, 2, numbers, first, end)
        else:
            least, code = search(free, capacity, demand, spread, nodes, numbers, first, end)
        return (ordered(least) if code >= 0 else NOTHING), code

    up_to_date, best_block = upkeep(some)

    @lean_inlined
    def follow(
        free: Ints, capacity: Ints, demand: Amounts, spread: bool, numbers: Any, log: Ints, known: Ints, trees: Ints
    ) -> int:
        row, blocks = up_to_date(free, capacity, demand, spread, 0, numbers, log, known, trees), trees.shape[1] // 3
        if row < 0:
            return some(free, capacity, demand, spread, numbers, 0, len(free))[1]
        block = best_block(free, capacity, demand, spread, numbers, trees[row], blocks)
        if block < 0:
            return -1
        server = best_of(trees[row], block)
        return some(free, capacity, demand, spread, numbers, server, server + 1)[1]

    def plain(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
        return scan(free, capacity, demand, spread, ())

    def with_one(free: Ints, capacity: Ints, demand: Amounts, spread: bool, a: Floats) -> int:
        return scan(free, capacity, demand, spread, (a,))

    def with_two(free: Ints, capacity: Ints, demand: Amounts, spread: bool, a: Floats, b: Floats) -> int:
        return scan(free, capacity, demand, spread, (a, b))

    def following(free: Any, capacity: Any, demand: Any, spread: bool, log: Ints, known: Ints, trees: Ints) -> int:
        return follow(free, capacity, demand, spread, (), log, known, trees)

    def one_following(
        free: Any, capacity: Any, demand: Any, spread: bool, a: Floats, log: Ints, known: Ints, trees: Ints
    ) -> int:
        return follow(free, capacity, demand, spread, (a,), log, known, trees)

    def two_following(
        free: Any, capacity: Any, demand: Any, spread: bool, a: Floats, b: Floats, log: Ints, known: Ints, trees: Ints
    ) -> int:
        return follow(free, capacity, demand, spread, (a, b), log, known, trees)

    forms = (plain, following), (with_one, one_following), (with_two, two_following)
    rule: Any = _named(cost, forms[own][0])
    rule.incremental = _named(cost, forms[own][1], "_following")
    rule.worth_it = worth_it
    return cast(Scan, rule)


def _named(cost: Callable[..., Any], form: Callable[..., Any], ending: str = "") -> Any:
    """Make a kernel of a form of a rule. Kept machine code is named after the function that somebody wrote."""
    form.__module__, form.__doc__ = cost.__module__, cost.__doc__
    form.__name__, form.__qualname__ = cost.__name__ + ending, cost.__qualname__ + ending
    return kernel(form)


@inlined
def left(free: Ints) -> int:
    """Add up what is free of the first resource on a server, int64 [nodes, resources], for cost functions."""
    total = 0
    for node in range(len(free)):
        total += free[node, 0]
    return total
