"""What a decision of agents for networks takes that look at all servers, beside others.

    python -m benchmarks.network_agents [--requests N]

Milliseconds of CPU per request, so that other work on the machine counts less, over requests from an empty cluster on.
"""

from __future__ import annotations

import argparse
import json
from time import process_time

from fabric.cluster import NEVER
from scenarios.build.world import build_agent, build_world
from scenarios.schema.agent import AgentSpec
from scenarios.schema.load import load_scenario
from simcore.engine import Simulation
from simcore.play import play
from simcore.rng import stream
from simcore.types import Agent, Placement, Refusal, Request, View

LARGE = {
    "fabric": {
        "racks": 2504,
        "servers_per_rack": 40,
        "racks_per_pod": 8,
        "fabric_switches": 4,
        "uplinks": 4,
        "capacities": [1, 2, 2],
    }
}
SIZES = {"alpha": (40, 30, 128), "gamma": (640, 480, 896), "delta": (2560, 1920, 1000), "large": (100_160, 75_000, 50)}
"""Servers, bound of the holding times, and requests."""
AGENTS = ("tetris", "best-home", "nara", "cheapest-candidate")


class Timed(Agent):
    """Counts the CPU seconds of an agent's decisions."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.seconds = agent, 0.0

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Ask the agent, and note how long it takes."""
        begin = process_time()
        answer = self.agent.decide(view, request)
        self.seconds += process_time() - begin
        return answer


def simulation_of(size: str, seed: int, most: int = NEVER) -> Simulation:
    """Of Nara's Table 1, with the requests of a seed, so many at most."""
    _, holding, requests = SIZES[size]
    topology = json.dumps(LARGE) if size == "large" else size
    requests = min(most, requests)
    overrides = [f"cluster.network.topology={topology}", f"workload.requests={requests}", f"workload.holding={holding}"]
    scenario = load_scenario("nara/table1", overrides)
    return build_world(scenario).simulation(seed)


def milliseconds(name: str, size: str, most: int) -> float:
    """Per request; the first one is not counted."""
    simulation = simulation_of(size, 0, most)
    agent = build_agent(AgentSpec(name=name))
    agent.start(simulation.view, stream(0, "agent"))
    timed = Timed(agent)
    first = simulation.advance()
    assert first is not None
    simulation.answer(agent.decide(simulation.view, first))
    play(simulation, timed)
    return 1000 * timed.seconds / (len(simulation.workload) - 1)


def main() -> None:
    """Print a row for every agent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=NEVER, help="so many at most")
    most = parser.parse_args().requests
    print("| | " + " | ".join(f"{size}, {servers:,} servers" for size, (servers, _, _) in SIZES.items()) + " |")
    print("| --- |" + " --- |" * len(SIZES))
    for name in AGENTS:
        print(f"| {name} | " + " | ".join(f"{milliseconds(name, size, most):.3g}" for size in SIZES) + " |", flush=True)


if __name__ == "__main__":
    main()
