"""Keeps which server is best for each of the demands asked for lately, so that a decision looks at what changed only.

Of every kept demand there is a tournament tree over blocks of servers: of each block the least cost on any of its
servers, and the server that has it. It is built when the demand comes for the second time, and brought up to date
whenever it is asked for again, from the log of the servers that changed since. A block whose best server became worse
keeps the old cost, as a bound, until it would win. `agents.rules.cheapest_place` has the rest, as what a server costs
is the rule's.
"""

from typing import NamedTuple

import numpy as np

from binwright.simcore.jit import lean, lean_inlined
from binwright.simcore.jit.cost_functions import NOTHING
from binwright.simcore.types import Amounts, Ints

BLOCK = 8
"""Servers of a block."""
SERVERS_WORTH_IT = 256
"""From so many servers on looking at what changed is faster than looking at all of them, for most rules."""
DEMANDS = 64
"""Demands that are kept at most. One more takes the place of the one that was not asked for for the longest time."""
SEEN, SERVERS, SPREAD, AMOUNTS = range(4)
"""Columns of `Standings.known`: how many changes the tree knows, and how many servers, 0 for none; then what was asked
for. Whatever else a place may depend on becomes a column here, compared in `find`.
"""
ONCE = -1
"""What SERVERS is for a demand that came by only once: it has no tree yet."""


class Standings(NamedTuple):
    """Holds the trees of a rule.

    `known` int64 [kept, AMOUNTS + resources]; `trees` int64 [kept, 3 * blocks], a power of 2 of blocks: the least cost
    of the places 2 i and 2 i + 1 at place i, from 1 on, those of the blocks from place `blocks` on; behind them the
    best server of every block, -1 where it has to be looked for.
    """

    known: Ints
    trees: Ints


def blocks_of(servers: int) -> int:
    """Count the blocks that are kept for so many servers: a power of 2."""
    return 1 << max(0, -(-servers // BLOCK) - 1).bit_length()


def log_of(servers: int, before: Ints | None = None) -> Ints:
    """Make a log, int64 [1 + blocks]: how many changes there were, and a ring of the servers that changed last.

    It holds as many changes as it pays to follow. The log `before` is returned instead if it is as long.
    """
    blocks = blocks_of(servers)
    return before if before is not None and len(before) == 1 + blocks else np.zeros(1 + blocks, np.int64)


def standings(free: Ints, demands: int = DEMANDS) -> Standings:
    """Make room for trees of as many servers as a log is for that suits `free` int64 [servers, nodes, resources].

    Memory that no demand uses is not touched.
    """
    known = np.zeros((demands, AMOUNTS + free.shape[2]), np.int64)
    return Standings(known, np.zeros((demands, 3 * blocks_of(len(free))), np.int64))


@lean
def note(log: Ints, server: int) -> None:
    """Note that what is free on a server has changed; changes `log`."""
    log[1 + (log[0] & (len(log) - 2))] = server
    log[0] += 1


@lean
def find(known: Ints, demand: Amounts, spread: bool) -> int:
    """Return which row of `known` a demand has; -1 - row for the row that it is to have, if it has none."""
    oldest = 0
    for row in range(len(known)):
        if known[row, SERVERS] == 0:
            return -1 - row
        same = known[row, SPREAD] == spread
        for r in range(len(demand)):
            same &= known[row, AMOUNTS + r] == demand[r]
        if same:
            return row
        if known[row, SEEN] < known[oldest, SEEN]:
            oldest = row
    return -1 - oldest


@lean
def keep(known: Ints, row: int, demand: Amounts, spread: bool) -> None:
    """Give a row of `known` to a demand."""
    known[row, SPREAD] = spread
    for r in range(len(demand)):
        known[row, AMOUNTS + r] = demand[r]


@lean_inlined
def best_of(tree: Ints, block: int) -> int:
    """Return the best server of a block, -1 if it has to be looked for."""
    return int(tree[len(tree) // 3 * 2 + block])


@lean_inlined
def put(tree: Ints, block: int, key: int, server: int) -> None:
    """Set the least cost of a block and its best server, or -1; `climb` or `build` are to follow. Changes `tree`."""
    blocks = len(tree) // 3
    tree[blocks + block], tree[2 * blocks + block] = key, server


@lean
def climb(tree: Ints, blocks: int, block: int) -> None:
    """Compute anew the least costs above a block; changes `tree`."""
    at = (blocks + block) // 2
    while at > 0:
        least = min(tree[2 * at], tree[2 * at + 1])
        if tree[at] == least:
            break
        tree[at] = least
        at //= 2


@lean
def build(tree: Ints, blocks: int) -> None:
    """Compute the least costs from those of the blocks; changes `tree`."""
    for at in range(blocks - 1, 0, -1):
        tree[at] = min(tree[2 * at], tree[2 * at + 1])


@lean
def compete(tree: Ints, blocks: int, server: int, key: int) -> None:
    """Enter what a server costs now, `NOTHING` where the demand does not fit; changes `tree`."""
    block = server // BLOCK
    least, best = tree[blocks + block], best_of(tree, block)
    if key < least:
        put(tree, block, key, server)
        climb(tree, blocks, block)
    elif server == best:
        if key > least:
            put(tree, block, least, -1)
    elif key == least and server < best:
        put(tree, block, least, server)


@lean
def first_of(tree: Ints, blocks: int) -> int:
    """Return the first block of those with the least cost, -1 if the demand fits nowhere."""
    at = 1
    if tree[at] == NOTHING:
        return -1
    while at < blocks:
        at = 2 * at + int(tree[2 * at] != tree[at])
    return at - blocks
