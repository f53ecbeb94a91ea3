"""Which engine runs a scenario: the SimPy clock, or machine code where every part of it is compiled."""

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias, get_args

from binwright.agents.world import World
from binwright.scenarios.build.plan import Run
from binwright.scenarios.build.world import adapt_agent, build_agent, build_world
from binwright.simcore.errors import ScenarioError, UserError, suggest
from binwright.simcore.types import Agent

Engine: TypeAlias = Literal["auto", "simpy", "compiled"]
"""`auto` is compiled wherever it can be: the results are the same."""


def check_engine(engine: str, runs: Iterable[Run]) -> None:
    """Refuse an unknown engine, and one that cannot run all of these."""
    if engine not in get_args(Engine):
        raise UserError("unknown engine", key="engine", value=engine, remedy=suggest(engine, get_args(Engine)))
    seen = set()
    for run in runs if engine == "compiled" else ():
        if (known := (id(run.scenario), run.agent.label)) not in seen:
            seen.add(known)
            world = build_world(run.scenario)
            is_compiled(engine, run, world, *agents_of(run, world))


def on_the_clock(runs: Iterable[Run]) -> Iterator[tuple[str, str]]:
    """Yield the agents that machine code cannot run at the first point of these runs, and why not."""
    first: dict[str, Run] = {}
    for run in runs:
        first.setdefault(run.agent.label, run)
    for label, run in first.items():
        world = build_world(run.scenario)
        if part := world.not_compiled(*agents_of(run, world)):
            yield label, part[1]


def agents_of(run: Run, world: World) -> tuple[Agent, Agent | None]:
    """Make a run's agent, and the one of the warm start if there is one, which may be another of the same."""
    agent = adapt_agent(world, build_agent(run.agent))
    if world.warm_start is None:
        return agent, None
    other = world.warm_start.agent
    return agent, adapt_agent(world, other() if other else build_agent(run.agent))


def is_compiled(engine: str, run: Run, world: World, agent: Agent, warm: Agent | None) -> bool:
    """Tell whether a run is played in machine code; refuse one that is asked for and cannot be, saying why."""
    part = world.not_compiled(agent, warm)
    if engine == "simpy":
        return False
    if part and engine == "compiled":
        key, problem = part
        remedy = "Leave --engine at auto, or change this part of the scenario."
        raise ScenarioError(f"cannot be compiled: {problem}", file=run.scenario.file, key=key, remedy=remedy)
    return not part
