"""What several benchmarks share: what is in the cells of their tables, and the servers that they measure."""

from __future__ import annotations

import numpy as np

from analysis.compare.statistics import mean_interval
from fabric.cluster import NEVER, Cluster
from simcore.types import QUANTUM, Floats


def cluster_of(servers: int) -> Cluster:
    """Make servers of two nodes of 40 cores and 90 GB each; memory above 10 GB is spread."""
    capacity = np.tile(np.array([40, 90]) * QUANTUM, (servers, 2, 1))
    return Cluster(("cpu", "mem"), capacity, (NEVER, 10 * QUANTUM), capacity[0])


def cell(values: Floats, decimals: int = 2, signed: bool = False) -> str:
    """Write the mean of values, float64 [n], ± half of its 95 % interval where there are several."""
    mean, half = mean_interval(values)
    said = f"{mean:{'+' if signed else ''}.{decimals}f}"
    return said if len(values) < 2 else f"{said} ± {half:.{decimals}f}"
