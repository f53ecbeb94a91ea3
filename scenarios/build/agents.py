"""Makes the agents of runs, and tells whether they decide in machine code or in Python."""

from collections.abc import Iterable, Iterator

from binwright.agents.world import World
from binwright.scenarios.build.plan import Run
from binwright.scenarios.build.world import adapt_agent, build_agent, build_world
from binwright.simcore.types import Agent


def in_python(runs: Iterable[Run]) -> Iterator[tuple[str, str]]:
    """Yield the agents that decide in Python at the first point of these runs, and why."""
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
