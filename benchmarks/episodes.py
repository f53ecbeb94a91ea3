"""Compiled episodes: choices of a server per second on one core, and what training makes of them.

    python -m benchmarks.episodes [TOPOLOGY...]

Random choices among those allowed. `state` steps only; `seen` also writes the whole observation, as trainers have it.
CPU seconds, so that other work on the machine counts less. `benchmarks.environments` measures Gymnasium's environments.
"""

from __future__ import annotations

import sys
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.environments.observation import Features, Observer
from scenarios.build.world import build_learning
from scenarios.schema.load import load_scenario
from simcore.types import Ints

SIMULATIONS, STEPS = 64, 1000
PUBLISHED = {"alpha": (128, 30), "beta": (128, 30), "gamma": (896, 480), "delta": (2048, 1920)}
"""How many requests are offered, and for how many steps they stay at most."""


def choices(mask: npt.NDArray[Any], rng: np.random.Generator) -> Ints:
    """Any server allowed, in every simulation."""
    chosen: Ints = np.argmax(rng.random(mask.shape, np.float32) * mask, axis=1)
    return chosen


def rate(topology: str, how: str) -> float:
    """Choice per second of CPU."""
    requests, holding = PUBLISHED[topology]
    overrides = [
        f"cluster.network.topology={topology}",
        f"workload.requests={requests}",
        f"workload.holding={holding}",
    ]
    scenario = load_scenario("nara/table1", overrides)
    rng = np.random.default_rng(0)
    world = build_learning(scenario)
    episodes = world.episodes(SIMULATIONS)
    look = Observer(episodes, Features())
    workloads = [world.draw(seed) for seed in range(SIMULATIONS)]
    spent = 0.0
    for _ in range(STEPS):
        for i in np.flatnonzero(episodes.over):
            episodes.reset(int(i), workloads[i])
        servers = choices(episodes.state.mask, rng)
        begin = process_time()
        episodes.step(servers)
        if how == "seen":
            look()
        spent += process_time() - begin
    return SIMULATIONS * STEPS / spent


def main(topologies: list[str]) -> None:
    """Print a row per topology."""
    print(f"{'':8}{'state':>12}{'seen':>12}   choices per second, {SIMULATIONS} simulations")
    for topology in topologies or ["alpha", "gamma"]:
        rate(topology, "seen")  # compiled, and in the processor's memory
        row = "".join(f"{rate(topology, how):12,.0f}" for how in ("state", "seen"))
        print(f"{topology:8}{row}")


if __name__ == "__main__":
    main(sys.argv[1:])
