"""Speed of compiled runs on NUMA servers: python -m benchmarks.episodes_numa [--requests N].

A synthetic load that fills the servers to nine tenths; what does not fit is dropped. CPU time of one thread.
"""

import argparse
from math import inf
from time import process_time

import numpy as np

from binwright.agents import AGENTS
from binwright.agents.learned.value import KNOWN, SIZE, value_es
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.compiled.numa_decisions import as_argument, go
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.types import QUANTUM, Compiled
from binwright.simcore.workload import Workload


def busy(servers: int, n: int) -> tuple[Workload, Cluster]:
    """Draw requests of 1 to 15 cores and GB for servers of two nodes of 40 cores and 90 GB, spread above 10 GB."""
    rng = np.random.default_rng(0)
    demand = rng.integers(1, 16, (n, 2)) * QUANTUM
    arrival = np.cumsum(rng.exponential(1, n))
    workload = Workload(("cpu", "mem"), arrival, rng.exponential(9 * servers, n), demand, np.arange(n))
    capacity = np.tile(np.array([40, 90]) * QUANTUM, (servers, 2, 1))
    return workload, Cluster(("cpu", "mem"), capacity, (NEVER, 10 * QUANTUM), capacity[0])


def rate(rule: Compiled, workload: Workload, cluster: Cluster) -> float:
    """Million of requests a second, in the loop alone: the better of two."""
    took = inf
    for _ in range(2):
        simulation = Simulation(workload, Ledger(cluster))
        run = simulation.requests, simulation.state, None, simulation.tables, np.zeros(0, np.bool_), 0, 0, inf
        decide, weights = as_argument(rule.scan, 2, rule.weights)
        go(decide, weights, *run, 1)  # compiled or loaded
        began = process_time()
        go(decide, weights, *run, -1)
        took = min(took, process_time() - began)
    return len(workload) / took / 1e6


def rules() -> dict[str, Compiled]:
    """List what is measured, by name."""
    network = np.random.default_rng(0).normal(size=SIZE)
    network[: len(KNOWN)] = KNOWN
    rules = {name: AGENTS.load(name)().compiled for name in ("first-fit", "best-fit", "internal")}
    return {**rules, "value-es, 6 terms and 48 weights": Compiled(value_es, (network, np.zeros(0)))}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=300_000)
    options = parser.parse_args()
    sizes = (10, 50, 500)
    print("millions of requests a second".ljust(40), *(f"{servers:>8}" for servers in sizes), "servers")
    cases = [busy(servers, options.requests) for servers in sizes]
    for name, rule in rules().items():
        print(f"{name:40}", *(f"{rate(rule, *case):8.2f}" for case in cases))
    workload, cluster = busy(10, options.requests // 4)
    began = process_time()
    play(Simulation(workload, Ledger(cluster)), AGENTS.load("best-fit")())
    print(f"{'best-fit on the SimPy engine':40} {len(workload) / (process_time() - began) / 1e6:8.2f}")


if __name__ == "__main__":
    main()
