"""Which engine runs a scenario: the SimPy clock, or machine code where every part of it is compiled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

from agents.world import World
from scenarios.build.plan import Run
from scenarios.build.world import build_agent, build_world, fitted
from simcore.errors import ScenarioError, UserError, suggest
from simcore.vocabulary import Agent

Engine: TypeAlias = Literal["auto", "simpy", "compiled"]
"""`auto` is compiled wherever it can be: the results are the same."""


def check_engine(engine: str, runs: Iterable[Run]) -> None:
    """Refuse an unknown engine, and one that cannot run all of these."""
    if engine not in get_args(Engine):
        raise UserError("unknown engine", key="engine", value=engine, remedy=suggest(engine, get_args(Engine)))
    if engine != "compiled":
        return
    seen = set()
    for run in runs:
        if (known := (id(run.scenario), run.agent.label)) not in seen:
            seen.add(known)
            world = build_world(run.scenario)
            is_compiled(engine, run, world, *agents_of(run, world))


def agents_of(run: Run, world: World) -> tuple[Agent, Agent | None]:
    """Make a run's agent, and the one of the warm start if there is one."""
    warm = fitted(world, world.warm_start.agent()) if world.warm_start else None
    return fitted(world, build_agent(run.agent)), warm


def is_compiled(engine: str, run: Run, world: World, agent: Agent, warm: Agent | None) -> bool:
    """Tell whether a run is played in machine code; refuse one that is asked for and cannot be, saying why."""
    if engine == "simpy":
        return False
    part = world.not_compiled(agent, warm)
    if part and engine == "compiled":
        key, problem = part
        remedy = "Leave --engine at auto, or change this part of the scenario."
        raise ScenarioError(f"cannot be compiled: {problem}", file=run.scenario.file, key=key, remedy=remedy)
    return not part
