"""Which engine runs a scenario: the SimPy clock, or machine code where every part of it is compiled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

from scenarios.build.parts import build_agent, build_faults
from scenarios.build.plan import Run
from scenarios.schema.cluster import expand_of, wait_of
from scenarios.schema.scenario import Scenario
from simcore.errors import ScenarioError, UserError, suggest
from simcore.vocabulary import Agent

Engine: TypeAlias = Literal["auto", "simpy", "compiled"]
"""`auto` is compiled wherever it can be: the results are the same."""


def check_engine(engine: str, runs: Iterable[Run]) -> None:
    """Refuse an engine that is none, or that cannot run all of these."""
    if engine not in get_args(Engine):
        raise UserError("there is no such engine", key="engine", value=engine, remedy=suggest(engine, get_args(Engine)))
    if engine != "compiled":
        return
    seen = set()
    for run in runs:
        if (known := (id(run.scenario), run.agent.label)) not in seen:
            seen.add(known)
            check_compiled(run)


def check_compiled(run: Run) -> None:
    """Refuse a run that is not compiled, saying for which part of it."""
    if part := not_compiled(run.scenario, *agents_of(run)):
        key, problem = part
        remedy = "Leave --engine at auto, or change this part of the scenario."
        raise ScenarioError(f"cannot be compiled: {problem}", file=run.scenario.file, key=key, remedy=remedy)


def agents_of(run: Run) -> tuple[Agent, Agent | None]:
    """The agent, new, and the one of the warm start."""
    warm = run.scenario.warm_start
    return build_agent(run.agent), build_agent(warm.agent) if warm else None


def grows_by(scenario: Scenario) -> str:
    """The key that makes the cluster grow; empty when none does."""
    if scenario.cluster.expansion:
        return "cluster.expansion"
    return "overflow.expand" if expand_of(scenario.overflow) else ""


def not_compiled(scenario: Scenario, agent: Agent, warm: Agent | None) -> tuple[str, str] | None:
    """The key of a part of the scenario that is not compiled, and what is the matter; None when all of it is."""
    if scenario.cluster.network:
        return "cluster.network", "links are reserved"
    if build_faults(scenario, 0):
        return "cluster.failures", "servers fail"
    if wait_of(scenario.overflow):
        return "overflow.wait", "requests that wait are offered together"
    if "times" in scenario.record:
        return "record", "single decisions are timed"
    if scenario.pacing:
        return "pacing", "requests are not offered as they arrive"
    for key, each in (("agents", agent), ("warm_start.with", warm)):
        if each is not None and each.compiled is None:
            return key, f"{type(each).__name__} is not one kernel"
        if each is not None and not each.any_size and grows_by(scenario):
            return key, f"{type(each).__name__} is for one number of servers, and the cluster grows"
    return None
