"""How long virtual networks take to place, on trees and fat-trees of 1,000 to 100,000 servers.

    python -m benchmarks.virtual [--seed 0] [--requests 300] [--agents oktopus,secondnet,solver]

A row per network and agent: requests placed, and the agent's time for a decision in ms, as the clock on the wall has it
and as the processor's (all threads), which other programs disturb less. Nothing leaves again; a refusal ends nothing.
"""

from __future__ import annotations

import argparse
from time import perf_counter, process_time
from typing import Any

import numpy as np

from scenarios.build.world import build_agent, build_world
from scenarios.schema.load import scenario_from
from scenarios.schema.scenario import Scenario
from simcore.rng import stream
from simcore.types import Placement

TREES = {1_000: [25, 20, 2], 4_000: [40, 20, 5], 16_000: [40, 40, 10], 40_000: [40, 40, 25], 100_000: [40, 50, 50]}
FAT_TREES = {1_024: 16, 3_456: 24, 8_192: 32, 27_648: 48, 101_306: 74}
HOSE = {
    "machines": {"exponential": {"mean": 49, "least": 10, "most": 340}},
    "machine": {"slots": 1},
    "bandwidth": ["10 Mbps", "100 Mbps"],
}
GROUPS = {**HOSE, "group": 20, "oversubscription": 4}
PAIRS = {"machines": 100, "machine": {"slots": 1}, "bandwidth": ["50 Mbps", "150 Mbps"]}


def scenario(topology: dict[str, Any], networks: dict[str, Any], agent: str, requests: int, slots: int) -> Scenario:
    """One agent against one network."""
    return scenario_from(
        {
            "cluster": {"network": {"topology": topology}, "node": {"slots": slots}},
            "workload": {"networks": networks, "requests": requests},
            "agents": [agent],
        }
    )


def measure(name: str, asked: Scenario, seed: int) -> None:
    """Run it, and print its row."""
    world = build_world(asked)
    ledger = world.ledger(0)
    simulation = world.simulation(seed, ledger)
    agent = build_agent(asked.agents[0])
    agent.start(simulation.view, stream(seed, "agent"))
    wall, cpu, placed = [], [], 0
    while (request := simulation.advance()) is not None:
        before, began = perf_counter(), process_time()
        answer = agent.decide(simulation.view, request)
        cpu.append(1000 * (process_time() - began))
        wall.append(1000 * (perf_counter() - before))
        simulation.answer(answer)
        placed += isinstance(answer, Placement)
    ledger.check()
    times = f"{np.mean(wall):.3f} | {np.median(wall):.3f} | {np.max(wall):.1f} | {np.mean(cpu):.3f}"
    print(f"| {len(simulation.view.free):,} | {name} | {asked.agents[0].label} | {placed} | {times} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--agents", default="oktopus,secondnet,solver")
    asked = parser.parse_args()
    print("| servers | networks | agent | placed | mean ms | median | max | mean CPU ms |")
    print("| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for agent in asked.agents.split(","):
        for fanouts in TREES.values() if agent != "secondnet" else ():
            topology: dict[str, Any] = {"tree": {"fanouts": fanouts, "capacities": [1, 1, 1]}}
            for name, networks in (("clusters", HOSE), ("clusters of groups", GROUPS)):
                measure(name, scenario(topology, {"hose": networks}, agent, asked.requests, 4), asked.seed)
        for k in FAT_TREES.values() if agent != "oktopus" else ():
            topology = {"fat-tree": {"k": k}}
            measure("data centres", scenario(topology, {"pairs": PAIRS}, agent, asked.requests, 16), asked.seed)


if __name__ == "__main__":
    main()
