"""Makes what the LSTM of padrl learns from: sequences of requests, and of each what those after it are like."""

from __future__ import annotations

import numpy as np

from agents.learned.padrl.network import ASKED
from fabric.cluster import Cluster
from simcore.vocabulary import Floats, Workload

AHEAD = 100
"""How many of the next requests are forecast together."""
LARGE = (0.2, 0.4, 0.8)
"""Shares of a node's cpu: how many of the next requests want as much."""


def sequence(workload: Workload, cluster: Cluster) -> tuple[Floats, Floats]:
    """Describe every request that has `AHEAD` after it, [n, ASKED], and what those are like, [n, FORECAST].

    That is: the means of their shares of a node's cpu and mem, the share that is spread, and those that want at least
    so much cpu. Both float64, not standardised.
    """
    shares = workload.demand / cluster.capacity[0, 0]
    spread = cluster.spreads(workload.demand).astype(np.float64)
    seen = np.column_stack([np.sqrt(shares), spread])
    like = np.column_stack([shares, spread, *(shares[:, 0] >= large for large in LARGE)])
    sums = np.concatenate([np.zeros((1, like.shape[1])), like.cumsum(axis=0)])
    wanted = (sums[1 + AHEAD :] - sums[1:-AHEAD]) / AHEAD
    assert seen.shape[1] == ASKED
    return seen[: len(wanted)], wanted
