"""Keeps which server is best for each of the demands asked for lately, so that a decision looks at what changed only.

Of every kept demand there is a tournament tree over blocks of servers: of each block the least cost on any of its
servers, and the server that has it. It is brought up to date when the demand is asked for again, from the log of the
servers that changed since. A block whose best server became worse keeps the old cost, as a bound, until it would win.
`agents.rules.cheapest` has the rest, as what a server costs is the rule's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fabric.changes import BLOCK, blocks_of
from simcore.jit import lean
from simcore.jit.costs import NOTHING
from simcore.vocabulary import Amounts, Ints

KEPT = 64
"""Demands that are kept at most. One more takes the place of the one that was not asked for for the longest time."""
SEEN, SERVERS, SPREAD, AMOUNTS = range(4)
"""Columns of `Standings.known`: how many changes the tree knows, and how many servers, 0 for none; then what was asked
for. Whatever else a place may depend on becomes a column here, compared in `find`.
"""


class Standings(NamedTuple):
    """Holds the trees of a rule.

    `known` int64 [kept, AMOUNTS + resources]; `trees` int64 [kept, 3 * blocks]: least costs as a binary tree whose root
    is at 1 and whose leaves are the blocks, then of every block its best server, -1 where it has to be looked for.
    """

    known: Ints
    trees: Ints


def standings(servers: int, resources: int, kept: int = KEPT) -> Standings:
    """Make room for trees of as many servers as a log of `log_of` is for; memory that no demand uses is not touched."""
    return Standings(
        np.zeros((kept, AMOUNTS + resources), np.int64), np.zeros((kept, 3 * blocks_of(servers)), np.int64)
    )


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


@lean
def enter(tree: Ints, blocks: int, block: int, key: int, server: int) -> None:
    """Set the least cost of a block and its best server, or -1; changes `tree` int64 [3 * blocks]."""
    tree[2 * blocks + block] = server
    at = blocks + block
    tree[at] = key
    while at > 1:
        at //= 2
        least = min(tree[2 * at], tree[2 * at + 1])
        if tree[at] == least:
            break
        tree[at] = least


@lean
def compete(tree: Ints, blocks: int, server: int, key: int) -> None:
    """Enter what a server costs now, `NOTHING` where the demand does not fit; changes `tree` int64 [3 * blocks]."""
    block = server // BLOCK
    least, best = tree[blocks + block], tree[2 * blocks + block]
    if key < least:
        enter(tree, blocks, block, key, server)
    elif server == best:
        if key > least:
            tree[2 * blocks + block] = -1
    elif key == least and server < best:
        tree[2 * blocks + block] = server


@lean
def first_of(tree: Ints, blocks: int) -> int:
    """Return the first block of those with the least cost, -1 if the demand fits nowhere."""
    if tree[1] == NOTHING:
        return -1
    at = 1
    while at < blocks:
        at = 2 * at + (tree[2 * at] > tree[2 * at + 1])
    return at - blocks


@lean
def build(tree: Ints, blocks: int) -> None:
    """Compute the least costs from those of the blocks; changes `tree` int64 [3 * blocks]."""
    for at in range(blocks - 1, 0, -1):
        tree[at] = min(tree[2 * at], tree[2 * at + 1])
