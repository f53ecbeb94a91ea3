"""Which agents can answer the requests of a scenario, and why the others cannot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from agents import AGENTS
from scenarios.build.plan import plan
from scenarios.build.world import build_world
from scenarios.run.check import start_agents
from scenarios.schema.load import load_to_run
from simcore.errors import UserError
from simcore.jit import postponed


def suited(file: str | Path, sets: Sequence[str] = (), names: Iterable[str] = AGENTS) -> dict[str, str]:
    """Start agents as the first run of a scenario would; returns what kept each from it, or "".

    They are all that are registered, unless `names` are given, with their default options. Nothing is written, and no
    request is answered.
    """
    first = plan(load_to_run(file, sets))[0]
    world = build_world(first.scenario)
    workload = world.draw(first.seed)
    found = {}
    for name in sorted(names):
        try:
            scenario = load_to_run(file, [*sets, f"agents=[{name}]"])
            with postponed():
                start_agents(scenario, plan(scenario)[0], scenario.agents, world, workload)
        except UserError as error:
            found[name] = _by_name(error.each()[0].problem, name)
        else:
            found[name] = ""
    return found


def _by_name(problem: str, name: str) -> str:
    """Say of an agent what a message says of its class, by the name that scenarios use; its own goes without saying."""
    kind, _, what = problem.partition(" ")
    called = {AGENTS.load(each).__name__: each for each in AGENTS}.get(kind)
    if called is None:
        return problem
    return what if called == name else f"{called} {what}"
