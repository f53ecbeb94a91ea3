"""Measures decisions on clusters with devices: how long each takes, and what the experiments of FGD take in all.

`python -m benchmarks.gpus [--servers N ...] [--decisions N] [--agents NAME ...]` prints a row per agent and size.

The cluster is that of the openb trace, its 1,213 servers with devices repeated until there are so many; its pods come
in random order, without an end. Times are CPU seconds of the whole loop, after compilation.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from time import process_time

import numpy as np

from agents import AGENTS
from fabric.cluster import Cluster
from fabric.device_ledger import DeviceLedger
from scenarios.build.cluster import build_cluster
from scenarios.build.world import adapt_agent, build_world
from scenarios.schema.load import load_scenario
from simcore.engine import Simulation
from simcore.play import play
from simcore.rng import stream
from simcore.types import Agent, Workload

NAMES = ("first-fit", "gpu-random", "gpu-dot-product", "gpu-clustering", "gpu-packing", "gpu-best-fit", "fgd")


def repeated(cluster: Cluster, servers: int) -> Cluster:
    """Repeat the servers of a cluster, in their order, until there are so many."""
    rows = np.arange(servers) % len(cluster.capacity)
    assert cluster.devices is not None
    devices = replace(cluster.devices, count=cluster.devices.count[rows], model=cluster.devices.model[rows])
    return replace(cluster, capacity=cluster.capacity[rows], devices=devices)


def seconds(agent: Agent, cluster: Cluster, workload: Workload, decisions: int) -> float:
    """Play so many decisions, and return the CPU seconds of each."""
    simulation = Simulation(workload, DeviceLedger(cluster))
    agent.start(simulation.view, stream(0, "agent"))
    left = iter((decisions, 0))
    before = process_time()
    play(simulation, agent, lambda: next(left))
    return (process_time() - before) / len(simulation.record.sequence)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--servers", type=int, nargs="+", default=[1213, 100_000])
    parser.add_argument("--decisions", type=int, default=2000)
    parser.add_argument("--agents", nargs="+", default=list(NAMES))
    asked = parser.parse_args(arguments)
    scenario = load_scenario("fgd/default")
    world = build_world(scenario)
    cluster, workload = build_cluster(scenario, scenario.seed), world.draw(scenario.seed)
    print("| agent | servers | µs per decision |\n| --- | --- | --- |")
    for servers in asked.servers:
        larger = repeated(cluster, servers)
        for name in asked.agents:
            took = seconds(adapt_agent(world, AGENTS.load(name)()), larger, workload, asked.decisions)
            print(f"| {name} | {servers:,} | {took * 1e6:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
