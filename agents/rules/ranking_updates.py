"""Makes what brings the trees of `binwright.fabric.ranking` up to date, for any search of some servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from binwright.fabric.changed_servers import BLOCK
from binwright.fabric.ranking import ONCE, SEEN, SERVERS, best_of, build, climb, compete, find, first_of, keep, put
from binwright.simcore.jit import lean_inlined
from binwright.simcore.types import Amounts, Ints


def upkeep(some: Callable[..., Any]) -> tuple[Any, Any]:
    """Make two kernels of a search: one brings a demand's tree up to date, one finds the block that is best by it.

    `some` is a lean kernel of `(free, capacity, demand, spread, numbers, first, end)`, the end not included, and
    returns the least cost, `NOTHING` where the demand does not fit, and the code of the place.
    """

    @lean_inlined
    def look_at(
        free: Ints, capacity: Ints, demand: Amounts, spread: bool, numbers: Any, tree: Ints, blocks: int, block: int
    ) -> None:
        """Look at all servers of a block; `climb` or `build` are to follow. Changes `tree`."""
        first = min(block * BLOCK, len(free))
        key, code = some(free, capacity, demand, spread, numbers, first, min(first + BLOCK, len(free)))
        put(tree, block, key, code // free.shape[1] if code >= 0 else first)

    @lean_inlined
    def up_to_date(
        free: Ints,
        capacity: Ints,
        demand: Amounts,
        spread: bool,
        order: int,
        numbers: Any,
        log: Ints,
        known: Ints,
        trees: Ints,
    ) -> int:
        """Return the row of the demand's tree, which is up to date then; -1 if it has none, as it comes first."""
        servers, blocks = len(free), trees.shape[1] // 3
        row, changes = find(known, demand, spread, order), log[0]
        if row < 0:  # a demand that comes once is not worth a tree
            keep(known, -1 - row, demand, spread, order)
            known[-1 - row, SEEN], known[-1 - row, SERVERS] = changes, ONCE
            return -1
        tree = trees[row]
        if known[row, SERVERS] == ONCE or changes - known[row, SEEN] >= len(log):
            for block in range(blocks):
                look_at(free, capacity, demand, spread, numbers, tree, blocks, block)
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
    def best_block(
        free: Ints, capacity: Ints, demand: Amounts, spread: bool, numbers: Any, tree: Ints, blocks: int
    ) -> int:
        """Return the first block of those with the least cost, whose best server is known then; -1 for none."""
        while True:
            block = first_of(tree, blocks)
            if block < 0 or best_of(tree, block) >= 0:
                return block
            look_at(free, capacity, demand, spread, numbers, tree, blocks, block)
            climb(tree, blocks, block)

    return up_to_date, best_block
