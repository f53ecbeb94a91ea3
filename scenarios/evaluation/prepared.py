"""A scenario that is ready to be played again and again: its requests are drawn once per seed."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from binwright.analysis.measure.definition import Definition, added_metric, built_in
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.metric import Metric
from binwright.scenarios.build.plan import Run
from binwright.scenarios.build.world import adapt_agent, build_world
from binwright.scenarios.run.execute import play_run
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import ScenarioError, UnknownName, UserError, short, suggest
from binwright.simcore.types import Agent

A = TypeVar("A", bound=Agent)
READY = 256
"""Seeds whose requests stay in memory."""


class AgentFactory(Generic[A]):
    """Makes agents, and keeps all that it made: a run needs a second one where the policy warms up the cluster."""

    def __init__(self, make: Callable[[], A]) -> None:
        self._make = make
        self.agents: list[A] = []

    def __call__(self) -> A:
        """Make one more."""
        self.agents.append(self._make())
        return self.agents[-1]


class PreparedScenario:
    """Plays agents in a scenario and measures one metric; `sign` is -1 where less of it is better, else 1.

    Several threads may use it at once.
    """

    def __init__(self, scenario: Scenario, metric: str) -> None:
        if scenario.sweep.product or scenario.sweep.zip:
            remedy = "Evaluate one point: sweep=null, and set what was swept."
            raise ScenarioError(
                "policies are not evaluated over a sweep", file=scenario.file, key="sweep", remedy=remedy
            )
        world = build_world(scenario)
        self.scenario, self.metric = scenario, metric
        requests: Any = SimpleNamespace(
            drawn=world.requests.drawn, draw=lru_cache(READY)(world.requests.draw), windows=world.requests.windows
        )
        self.world = replace(world, requests=requests)
        self._sampled = False
        ledger, columns = world.ledger(scenario.seed), dict[str, tuple[Definition, Metric]]()
        for one in (*built_in(), *(added_metric(one.asked) for one in scenario.metrics)):
            columns |= {each.name: (one, each) for each in one.columns(ledger.view.resources, tuple(ledger.tiers))}
        if metric not in columns:
            raise UnknownName("no such metric", key="metric", value=metric, remedy=suggest(metric, columns))
        self._definition, found = columns[metric]
        if found.better == "neither":
            remedy = "Take one of which higher or lower is better, such as acceptance."
            raise UserError("neither higher nor lower is better", key="metric", value=metric, remedy=remedy)
        self.sign = -1 if found.better == "lower" else 1

    def value(self, make: Callable[[], Agent], seed: int) -> float:
        """Play a new agent on the requests of a seed, and return the metric; NaN if the run has none.

        Where the policy itself warms up the cluster, this is done by another new agent.
        """
        over = self._play(make, seed, self._sampled)
        try:
            found = self._definition.measured(over)
        except KeyError:  # it is one of those that look at the cluster now and then
            self._sampled = True
            found = self._definition.measured(self._play(make, seed, True))
        return float(found.get(self.metric, float("nan")))

    def _play(self, make: Callable[[], Agent], seed: int, sampled: bool) -> FinishedRun:
        scenario, world = self.scenario, self.world
        agent = adapt_agent(world, make())
        warm = adapt_agent(world, (world.warm_start.agent or make)()) if world.warm_start else None
        over, _ = play_run(Run("", {}, scenario, scenario.agents[0], seed, "", ""), world, agent, warm, sampled=sampled)
        return over


def reason_of(error: BaseException) -> str:
    """Say in one line why a policy has no score, so that who proposed it can mend it."""
    while not isinstance(error, UserError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # what an agent raised, not that it raised
    if isinstance(error, UserError):
        return " ".join(str(error).replace("\n  ", ". ").split())
    if isinstance(error, MemoryError):
        return "needs more memory than it may have"
    return short(f"raised {type(error).__name__}: {error}", 300)
