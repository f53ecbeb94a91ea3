"""Which agents can answer the requests of a scenario, and why the others cannot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agents import AGENTS
from scenarios.build.plan import plan
from scenarios.build.world import build_world
from scenarios.run.check import start_agents
from scenarios.schema.load import load_to_run
from simcore.errors import UserError
from simcore.jit import postponed


def suited(file: str | Path, sets: Sequence[str] = ()) -> dict[str, str]:
    """Start every registered agent as the first run of a scenario would; returns what kept each from it, or "".

    Agents have their default options. Nothing is written, and no request is answered.
    """
    first = plan(load_to_run(file, sets))[0]
    world = build_world(first.scenario)
    workload = world.draw(first.seed)
    found = {}
    for name in sorted(AGENTS):
        try:
            scenario = load_to_run(file, [*sets, f"agents=[{name}]"])
            with postponed():
                start_agents(scenario, plan(scenario)[0], scenario.agents, world, workload)
        except UserError as error:
            found[name] = error.each()[0].problem
        else:
            found[name] = ""
    return found
