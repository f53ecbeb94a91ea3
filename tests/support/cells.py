"""Small runs in cells."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from hypothesis import strategies as st

from binwright.fabric.cluster import NEVER, Cluster
from binwright.simcore.types import Workload

ROUTERS = ["least-loaded", "two-choices", "affinity"]
CASES: dict[str, Any] = {
    "seed": st.integers(0, 2**32),
    "n": st.integers(1, 60),
    "servers": st.integers(1, 8),
    "count": st.integers(1, 4),
    "router": st.sampled_from(ROUTERS),
    "window": st.sampled_from([0.0, 0.5, 2.0, 3.0, 100.0]),
}
"""What is drawn of a run in cells, see `drawn`."""


def drawn(seed: int, n: int, servers: int, count: int) -> tuple[Workload, Cluster, Any]:
    """Draw a small run in which much happens at one instant, and the two choices of every request."""
    rng = np.random.default_rng(seed)
    capacity = rng.integers(0, 6, (servers, 2, 2))
    workload = Workload(
        ("a", "b"),
        np.sort(rng.integers(0, 1 + n // 3, n) / 2),
        rng.choice([0.0, 0.5, 1.0, 2.0, 3.0, 7.0, inf], n),
        rng.integers(0, 7, (n, 2)),
        np.arange(n),
        labels={"tenant": rng.choice(["x", "y", "z"], n)},
    )
    first = rng.integers(0, count, n)
    other = (first + rng.integers(1, count, n)) % count if count > 1 else first
    return workload, Cluster(workload.resources, capacity, (4, NEVER), capacity[0]), np.stack([first, other], axis=1)
