"""Which extras the agents of a scenario need, found out before anything is built."""

from __future__ import annotations

from agents import AGENTS
from scenarios.schema.scenario import Scenario
from simcore.extras import need

NEEDS = {"agents.learned": ("safetensors", "learned"), "agents.solver": ("lark", "solver")}
"""Of agents below a package: a module that they cannot do without, and the extra that has it."""


def check_extras(scenario: Scenario) -> None:
    """Refuse agents of which this machine lacks the extra; nothing is imported."""
    for agent in scenario.agents:
        for package, (module, extra) in NEEDS.items():
            if AGENTS.home(agent.name).startswith(f"{package}."):
                need(module, extra, what=agent.name)
