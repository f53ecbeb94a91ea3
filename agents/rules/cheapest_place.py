"""Makes whole rules from one short function: what a place costs. The search for the cheapest place is written here.

The cost is a function of `(free, capacity, taken, node)`, each array int64 [nodes, resources] of one server, unchanged:
what is free, what is there, and what the request would take. `node` is the node that it would take it from, `SPREAD`
for a part of every node. One argument more may be numbers of the rule's own, float64 [any].

It returns one number, what the place costs; or two, what the server costs, whatever the node, and what the node does:
the request goes to the cheapest server on which it fits, and there to the cheapest node; or three: a bound of the cost
of all places of the server, so that servers can be passed over, what the place costs, and what decides between equal
nodes of one server. Lower is better, equals go to the lowest server and then the lowest node. Infinity means nowhere,
and among whole numbers the largest (`NOTHING`). The search ends at a place that costs `ANY`.

It is compiled: it may call other `@kernel` functions and numpy, and the constants that it names are kept with it.
"""

from collections.abc import Callable
from typing import Any, cast

from binwright.agents.rules.scan import Scan
from binwright.fabric.ranking import (
    BLOCK,
    ONCE,
    SEEN,
    SERVERS,
    SERVERS_WORTH_IT,
    best_of,
    build,
    climb,
    compete,
    find,
    first_of,
    keep,
    put,
)
from binwright.fabric.servers import fits_node, fits_spread, share
from binwright.simcore.errors import KernelError
from binwright.simcore.jit import Kernel, inlined, kernel, lean, lean_inlined, named_after
from binwright.simcore.jit.cost_functions import (
    ANY,
    NOTHING,
    at_place,
    bound_of,
    is_somewhere,
    on_stack,
    ordered,
)
from binwright.simcore.record import SPREAD
from binwright.simcore.types import Amounts, Floats, Ints

COST_ARGUMENTS = 4
"""Arguments of a cost before the rule's own numbers."""


@lean_inlined
def write_taken(taken: Ints, demand: Amounts, spread: bool) -> None:
    """Write what a request takes of a server by each choice of a node, int64 [choices, nodes, resources]."""
    choices, nodes, resources = taken.shape
    for choice in range(1 if spread else choices):
        for node in range(nodes):
            for r in range(resources):
                taken[choice, node, r] = share(demand[r], SPREAD if spread else choice, node, nodes)


def cheapest(cost: Callable[..., Any], worth_it: int = SERVERS_WORTH_IT) -> Scan:
    """Make a `Scan` of a cost: the place that costs least of all on which the request fits.

    It has a second form, which answers the same but looks only at what changed (`fabric.ranking`): runs take it by
    themselves where there are many servers, from `worth_it` on.
    """
    own = cost.__code__.co_argcount - COST_ARGUMENTS
    if own not in (0, 1):
        problem = f"{cost.__qualname__} takes {own + COST_ARGUMENTS} arguments, and not (free, capacity, taken, node)"
        raise KernelError(problem, remedy="Behind these it may take one array of your own.")
    of = Kernel(cost, forceinline=True, _nrt=True)  # it may make arrays

    @lean_inlined
    def search(free: Ints, capacity: Ints, demand: Amounts, spread: bool, nodes: int, numbers: Any) -> Any:
        """Search servers of so many nodes; returns the least cost and the code of the place, -1 for none."""
        taken = on_stack((nodes, nodes, len(demand)))
        write_taken(taken, demand, spread)
        best, least = -1, NOTHING
        for server in range(len(free)):
            own_free, own_capacity = free[server], capacity[server]
            # Of what a cost returns only a part is used here, and the compiler leaves the others out.
            first: Any = of(own_free, own_capacity, taken[0], SPREAD if spread else 0, *numbers)
            bound = bound_of(first)
            if best >= 0 and not bound < least:
                continue
            chosen, least_order = False, NOTHING
            if spread:
                if fits_spread(free, server, demand):
                    place, _ = at_place(of(own_free, own_capacity, taken[0], SPREAD, *numbers), bound)
                    if is_somewhere(place) and (best < 0 or place < least):
                        best, chosen, least = server * nodes, True, place
            else:
                for node in range(nodes):
                    if not fits_node(free, server, node, demand):
                        continue  # first, as the cost of a place may be dear
                    place, order = at_place(of(own_free, own_capacity, taken[node], node, *numbers), bound)
                    is_less = best < 0 or place < least or (chosen and place == least and order < least_order)
                    if is_less and is_somewhere(place) and is_somewhere(order):
                        best, chosen, least, least_order = server * nodes + node, True, place, order
            if chosen and least == ANY:
                break
        return least, best

    def some(
        free: Ints, capacity: Ints, demand: Amounts, spread: bool, numbers: Any, first: int, end: int
    ) -> tuple[int, int]:
        """Search the servers from `first` to `end` - 1; returns the least cost as trees have it, and the place.

        A constant number of nodes makes that up to three times as fast: two are usual, and one.
        """
        nodes: int = free.shape[1]
        some_free, some_capacity = free[first:end], capacity[first:end]
        if nodes == 2:
            least, code = search(some_free, some_capacity, demand, spread, 2, numbers)
        elif nodes == 1:
            least, code = search(some_free, some_capacity, demand, spread, 1, numbers)
        else:
            least, code = search(some_free, some_capacity, demand, spread, nodes, numbers)
        return (ordered(least), first * nodes + code) if code >= 0 else (NOTHING, -1)

    all_of, some = lean_inlined(some), lean(some)  # a call less, where that is all that a rule does

    @lean_inlined
    def look_at(
        free: Ints, capacity: Ints, demand: Amounts, spread: bool, numbers: Any, tree: Ints, block: int
    ) -> None:
        """Look at all servers of a block; `climb` or `build` are to follow. Changes `tree`."""
        first = min(block * BLOCK, len(free))
        key, code = some(free, capacity, demand, spread, numbers, first, min(first + BLOCK, len(free)))
        put(tree, block, key, code // free.shape[1] if code >= 0 else first)

    @lean_inlined
    def up_to_date(
        free: Ints, capacity: Ints, demand: Amounts, spread: bool, numbers: Any, log: Ints, known: Ints, trees: Ints
    ) -> int:
        """Return the row of the demand's tree, which is up to date then; -1 if it has none, as it comes first."""
        servers, blocks = len(free), trees.shape[1] // 3
        row, changes = find(known, demand, spread), log[0]
        if row < 0:  # a demand that comes once is not worth a tree
            keep(known, -1 - row, demand, spread)
            known[-1 - row, SEEN], known[-1 - row, SERVERS] = changes, ONCE
            return -1
        tree = trees[row]
        if known[row, SERVERS] == ONCE or changes - known[row, SEEN] >= len(log):
            for block in range(blocks):
                look_at(free, capacity, demand, spread, numbers, tree, block)
            build(tree, blocks)
        else:
            added, last = servers - known[row, SERVERS], -1
            for change in range(known[row, SEEN] - added, changes):
                server = log[1 + (change & (len(log) - 2))]
                if change < known[row, SEEN]:
                    server = servers - known[row, SEEN] + change
                if server != last:
                    key = some(free, capacity, demand, spread, numbers, server, server + 1)[0]
                    compete(tree, blocks, server, key)
                last = server
        known[row, SEEN], known[row, SERVERS] = changes, servers
        return row

    @lean_inlined
    def follow(
        free: Ints, capacity: Ints, demand: Amounts, spread: bool, numbers: Any, log: Ints, known: Ints, trees: Ints
    ) -> int:
        """Answer as `scan` does, by the demand's tree, in which the first best block is the one that counts."""
        row, blocks = up_to_date(free, capacity, demand, spread, numbers, log, known, trees), trees.shape[1] // 3
        if row < 0:
            return some(free, capacity, demand, spread, numbers, 0, len(free))[1]
        tree = trees[row]
        block = first_of(tree, blocks)
        while block >= 0 and best_of(tree, block) < 0:  # its best server became worse
            look_at(free, capacity, demand, spread, numbers, tree, block)
            climb(tree, blocks, block)
            block = first_of(tree, blocks)
        if block < 0:
            return -1
        server = best_of(tree, block)
        return some(free, capacity, demand, spread, numbers, server, server + 1)[1]

    def plain(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> Any:
        return all_of(free, capacity, demand, spread, (), 0, len(free))[1]

    def with_numbers(free: Ints, capacity: Ints, demand: Amounts, spread: bool, a: Floats) -> Any:
        return all_of(free, capacity, demand, spread, (a,), 0, len(free))[1]

    def following(free: Any, capacity: Any, demand: Any, spread: bool, log: Ints, known: Ints, trees: Ints) -> int:
        return follow(free, capacity, demand, spread, (), log, known, trees)

    def following_with_numbers(
        free: Any, capacity: Any, demand: Any, spread: bool, a: Floats, log: Ints, known: Ints, trees: Ints
    ) -> int:
        return follow(free, capacity, demand, spread, (a,), log, known, trees)

    rule: Any = kernel(named_after(cost, with_numbers if own else plain))
    rule.incremental = kernel(named_after(cost, following_with_numbers if own else following, "_following"))
    rule.cost, rule.worth_it = of, worth_it
    return cast(Scan, rule)


@inlined
def left(free: Ints) -> int:
    """Add up what is free of the first resource on a server, int64 [nodes, resources], for cost functions."""
    total = 0
    for node in range(len(free)):
        total += free[node, 0]
    return total
