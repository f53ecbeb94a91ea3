"""CPU time of one decision over the number of servers: python -m benchmarks.decisions [--servers N ...].

Servers of two nodes of 40 cores and 90 GB, each node free to a random extent; requests of the six commonest sizes of
Huawei-East-1. The kernels alone, without clock and ledger; CPU time, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from agents import AGENTS
from benchmarks.cvd import markdown
from fabric.cluster import NEVER, Cluster
from fabric.ledger import Ledger
from simcore.jit import prepared
from simcore.types import QUANTUM, Agent

AGENTS_TIMED = "first-fit,best-fit,balance-fit,internal,random-top,cvd-rl,padrl,hindsight,value-es"
SIZES = ((1, 2, 0.46), (1, 1, 0.22), (2, 4, 0.13), (4, 8, 0.08), (8, 16, 0.07), (16, 32, 0.04))
"""Cores, GB, and how common."""


def cluster_of(servers: int) -> Cluster:
    """Make servers of two nodes of 40 cores and 90 GB each; memory above 10 GB is spread."""
    capacity = np.tile(np.array([40, 90]) * QUANTUM, (servers, 2, 1))
    return Cluster(("cpu", "mem"), capacity, (NEVER, 10 * QUANTUM), capacity[0])


def microseconds(name: str, servers: int) -> float:
    """Of one decision, mean."""
    rng = np.random.default_rng(servers)
    view = Ledger(cluster_of(servers)).view
    capacity = view.capacity
    free = rng.integers(0, 41, (servers, 2, 1)) * np.array([1, 2]) + rng.integers(0, 11, (servers, 2, 2))
    free = np.minimum(free * QUANTUM, capacity)
    agent: Agent = AGENTS.load(name)()
    agent.start(view, rng)
    rule = agent.compiled
    assert rule
    scan = prepared(rule.scan, free, capacity, (1, 1), False, *rule.weights)
    chances = np.array([size[2] for size in SIZES])
    asked = [SIZES[k][:2] for k in rng.choice(len(SIZES), max(30, 200_000 // servers), p=chances)]
    demands = [((cpu * QUANTUM, mem * QUANTUM), mem > 10) for cpu, mem in asked]
    began = time.thread_time()
    for demand, spread in demands:
        scan(free, capacity, demand, spread, *rule.weights)
    return (time.thread_time() - began) / len(demands) * 1e6


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, nargs="*", default=[10, 20, 50, 100, 500, 5000, 50000])
    parser.add_argument("--agents", default=AGENTS_TIMED)
    options = parser.parse_args()
    rows = [["agent", *(f"{servers:,}" for servers in options.servers)]]
    for name in options.agents.split(","):
        times = [microseconds(name, servers) for servers in options.servers]
        rows.append([name, *(f"{each:.2f}" if each < 100 else f"{each:,.0f}" for each in times)])
    print(markdown(rows))


if __name__ == "__main__":
    main()
