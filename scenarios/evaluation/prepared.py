"""A scenario that is ready to be played again and again: its requests are drawn once per seed."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from traceback import extract_tb
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
    """Plays agents in a scenario and measures one metric. Several threads may use it at once."""

    def __init__(self, scenario: Scenario, metric: str) -> None:
        if scenario.sweep.product or scenario.sweep.zip:
            remedy = "Evaluate one point: sweep=null, and set what was swept."
            raise ScenarioError(
                "policies are not evaluated over a sweep", file=scenario.file, key="sweep", remedy=remedy
            )
        world = build_world(scenario)
        self.scenario, self.metric = scenario, metric
        requests: Any = SimpleNamespace(
            drawn=world.requests.drawn, draw=cache(world.requests.draw), windows=world.requests.windows
        )
        self.world = replace(world, requests=requests)
        self._known: tuple[Definition, Metric] | None = None
        self._sampled = False

    def value(self, make: Callable[[], Agent], seed: int) -> float:
        """Play a new agent on the requests of a seed, and return the metric; NaN if the run has none.

        Where the policy itself warms up the cluster, this is done by another new agent.
        """
        over = self._play(make, seed, self._sampled)
        try:
            found = self._definition(over).measured(over)
        except KeyError:  # it is one of those that look at the cluster now and then
            self._sampled = True
            over = self._play(make, seed, True)
            found = self._definition(over).measured(over)
        return float(found.get(self.metric, float("nan")))

    @property
    def sign(self) -> int:
        """Return 1 where more of the metric is better, and -1 where less is; something must have been played."""
        assert self._known
        return -1 if self._known[1].better == "lower" else 1

    def _definition(self, over: FinishedRun) -> Definition:
        if self._known is None:
            columns: dict[str, tuple[Definition, Metric]] = {}
            for one in (*built_in(), *(added_metric(one.asked) for one in self.scenario.metrics)):
                columns |= {each.name: (one, each) for each in one.columns(over.resources, over.tiers)}
            if self.metric not in columns:
                remedy = suggest(self.metric, columns)
                raise UnknownName("no such metric", key="metric", value=self.metric, remedy=remedy)
            if columns[self.metric][1].better == "neither":
                remedy = "Take one of which higher or lower is better, such as acceptance."
                raise UserError("neither higher nor lower is better", key="metric", value=self.metric, remedy=remedy)
            self._known = columns[self.metric]
        return self._known[0]

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
        return " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return "needs more memory than it may have"
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == "<score>"]
    where = f" in line {lines[-1]}" if lines else ""
    return short(f"raised {type(error).__name__}{where}: {error}", 300)
