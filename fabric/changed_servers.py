"""Notes which servers changed, for rules that look at what changed only (`fabric.ranking`). It is without numba."""

from __future__ import annotations

import numpy as np

from binwright.simcore.types import Ints

BLOCK = 8
"""Servers of a block."""
SERVERS_WORTH_IT = 256
"""From so many servers on looking at what changed is faster than looking at all of them, for most rules."""


def blocks_of(servers: int) -> int:
    """Count the blocks that are kept for so many servers: a power of 2."""
    return 1 << max(0, -(-servers // BLOCK) - 1).bit_length()


def log_of(servers: int, before: Ints | None = None) -> Ints:
    """Make a log, int64 [1 + blocks]: how many changes there were, and a ring of the servers that changed last.

    It holds as many changes as it pays to follow. The log `before` is returned instead if it is as long.
    """
    blocks = blocks_of(servers)
    return before if before is not None and len(before) == 1 + blocks else np.zeros(1 + blocks, np.int64)
