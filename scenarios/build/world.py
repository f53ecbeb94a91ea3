"""From a point of a scenario to the world of its runs: the one place where a scenario is interpreted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from binwright.agents.rules.on_devices import WithDevices, no_devices_for
from binwright.agents.world import Luck, World
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.build.cluster import build_ledger, servers_of
from binwright.scenarios.build.plan import Run
from binwright.scenarios.build.requests import ScenarioRequests
from binwright.scenarios.features import used
from binwright.scenarios.features.feature import Point, way
from binwright.scenarios.schema.explain import explain
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.workload import Tenants
from binwright.scenarios.schema.yaml_source import Source
from binwright.simcore.errors import ScenarioError, UserError
from binwright.simcore.faults import Faults
from binwright.simcore.fields import findings
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM, Agent


def build_world(scenario: Scenario) -> World:
    """Make the world of a scenario, whose sweep is left out."""
    own, overflow = used(scenario), _overflow(scenario)
    parts = [parts for _, parts in scenario.workload.gangs]

    def total() -> dict[str, float]:
        amounts = servers_of(scenario).capacity.sum(axis=(0, 1)) / QUANTUM
        return dict(zip(scenario.resources, amounts.tolist(), strict=True))

    def faults(seed: int) -> list[Faults]:
        return [each for feature in own for each in feature.faults(point_of(scenario, seed))]

    def attach(simulation: Simulation, seed: int) -> None:
        for feature in own:
            with _explained(scenario):
                feature.attach(point_of(scenario, seed), simulation)

    def begin(simulation: Simulation, seed: int, luck: Luck) -> None:
        for feature in own:
            feature.begin(point_of(scenario, seed), simulation, luck)

    def suits(agent: Agent) -> None:
        for feature in own:
            feature.suits(scenario, agent)

    def prepare(simulation: Simulation, agent: Agent, play: Callable[..., int]) -> None:
        for feature in own:
            feature.prepare(scenario, simulation, agent, play)

    faults(0)  # refuses domains that there are not
    return World(
        ledger=partial(build_ledger, scenario),
        requests=ScenarioRequests(scenario, lru_cache(maxsize=1)(total)),
        overflow=overflow,
        grows_by=scenario.grows,
        faults=faults,
        networked=scenario.cluster.network is not None,
        virtual=isinstance(scenario.workload, Tenants),
        devices=scenario.cluster.has_devices,
        numbered=scenario.cluster.numbering != "given",
        ruled=scenario.ruled_by,
        gangs="ruled" if any(each.labels for each in parts) else "plain" if parts else "",
        timed="times" in scenario.record,
        hidden=scenario.knowledge.lifetimes == "hidden",
        stepped=any(feature.stepped(scenario, overflow.together > 0) for feature in own),
        attach=attach,
        begin=begin,
        suits=suits,
        prepare=prepare,
        **{name: value for feature in own for name, value in feature.world(scenario).items()},
    )


def build_learning(scenario: Scenario, warm: bool = False) -> World:
    """Make the world of a scenario to learn in, and refuse what nobody learns with.

    With `warm` a warm start is not refused: there are trainers that begin with it.
    """
    world = build_world(scenario)
    for key, present in (
        ("warm_start", world.warm_start and not warm),
        ("cluster.expansion", world.expansion),
        ("workload.networks", world.virtual),
        ("workload.parts", world.gangs),
        ("cluster.devices", world.devices),
        ("cluster.numbering", world.numbered),
        ("placement" if scenario.placement else "cluster.network.marked", world.ruled and world.networked),
        *((feature.at(scenario), not feature.learned) for feature in used(scenario)),
    ):
        if present:
            instead = "Write `overflow: drop`, or stop, in" if key.startswith("overflow.") else "Take it out of"
            remedy = f"{instead} the scenario to learn in."
            raise ScenarioError("nothing is learned with it", file=scenario.file, key=key, remedy=remedy)
    return world


def adapt_agent(world: World, agent: Agent) -> Agent:
    """Return an agent that places in a world: where servers have devices, one that chooses them.

    Raises a `UserError` where they have none and the agent chooses them, where rules of placement, devices or gangs are
    to hold for an agent that chooses among several requests, and where how long requests stay is hidden from an agent
    that asks for it.
    """
    world.suits(agent)
    hiding = world.ruled or ("devices" if world.devices and not agent.on_devices else "gangs" if world.gangs else "")
    chooses = type(agent).decide_line is not Agent.decide_line and not agent.passes_on
    if hiding and world.overflow.together and chooses:
        remedy = f"Take an agent that answers one request after another, such as best-fit, or remove {hiding}."
        problem = f"{type(agent).__name__} chooses among requests that wait, and does not go by {hiding}"
        raise UserError(problem, key="agents", remedy=remedy)
    if world.devices == agent.on_devices or (world.devices and agent.passes_on):
        return agent
    if agent.on_devices:
        raise no_devices_for(agent)
    return WithDevices(agent)


def agents_of(run: Run, world: World) -> tuple[Agent, Agent | None]:
    """Make a run's agent, and the one of the warm start if there is one, which may be another of the same."""
    agent = adapt_agent(world, run.agent.make())
    if world.warm_start is None:
        return agent, None
    other = world.warm_start.agent
    return agent, adapt_agent(world, (other or run.agent.make)())


def point_of(scenario: Scenario, seed: int) -> Point:
    """Return a point with what features ask of its cluster."""
    return Point(scenario, seed, partial(servers_of, scenario, seed))


def measured(scenario: Scenario, seed: int) -> dict[str, Any]:
    """Collect what features say that runs of a seed are measured by: arguments of `FinishedRun`."""
    known: dict[str, Any] = {}
    for feature in used(scenario):
        with _explained(scenario):
            feature.measure(point_of(scenario, seed), known)
    return known


@contextmanager
def _explained(scenario: Scenario) -> Iterator[None]:
    """Say what is wrong in a scenario as other mistakes in it are said."""
    try:
        yield
    except (PydanticCustomError, ValidationError) as error:
        mistakes = ValidationError.from_exception_data("mistakes", findings(error))
        raise explain(mistakes, Source(scenario.file, scenario.dump())) from None


def _overflow(scenario: Scenario) -> Overflow:
    spec = scenario.overflow
    if expand := way(spec, "expand"):
        return Overflow("expand", expand.by, expand.limit, expand.then)
    if wait := way(spec, "wait"):
        return Overflow("wait", 0, 0, "stop", wait.together, wait.one_by_one)
    while not isinstance(spec, str):  # a word is at the end of all other ways
        _, section = spec.chosen
        spec = getattr(section, "otherwise", None) or section.then
    return Overflow(spec)
