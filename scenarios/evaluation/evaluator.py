"""Scores one policy after another, each in milliseconds and in memory, beside a baseline on the same seeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from math import isfinite, isnan, nan
from pathlib import Path
from threading import Lock
from time import perf_counter
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias

import numpy as np
from pydantic import ValidationError

from binwright.agents import AGENTS
from binwright.agents.formulas.parse import expression, source
from binwright.agents.formulas.program import DECISIONS, LOST, Formula, feature_named, no_score
from binwright.agents.rules.scan import ScanAgent
from binwright.analysis.compare.statistics import differences, mean_interval
from binwright.analysis.measure.definition import Definition, added_metric, built_in
from binwright.analysis.measure.metric import Metric
from binwright.scenarios.agent_spec import AgentSpec
from binwright.scenarios.build.plan import Run
from binwright.scenarios.build.world import adapt_agent, build_world
from binwright.scenarios.learn.tune import FIRST
from binwright.scenarios.run.execute import play_run
from binwright.scenarios.run.sandbox import TooLong
from binwright.scenarios.schema.explain import explain
from binwright.scenarios.schema.load import Override, loaded
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.yaml_source import Source
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import ScenarioError, UnknownName, UserError, short, suggest, unread
from binwright.simcore.jit import is_kernel
from binwright.simcore.types import Agent

READY = 256
"""Seeds whose requests stay in memory."""


def reason_of(error: BaseException) -> str:
    """Say in one line why a policy has no score, so that who proposed it can mend it."""
    while not isinstance(error, UserError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # what an agent raised, not that it raised
    if isinstance(error, UserError):
        return " ".join(str(error).replace("\n  ", ". ").split())
    if isinstance(error, MemoryError):
        return "needs more memory than it may have"
    return short(f"raised {type(error).__name__}: {error}", 300)


Split = Literal["search", "validation", "test"]
Policy: TypeAlias = "str | Path | Agent | Mapping[str, Any] | AgentSpec | Callable[..., Any]"
APART = 2**19
"""How far the seeds of validation are from those of the search."""
GIVE = "Give an expression, source with a function `score`, a file, an agent, or a @cheapest function."
_FILE = re.compile(r"(.+\.py)(?::(\w+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a policy came to on the seeds of a split.

    `score` is the mean of the metric over the seeds, `values` has it by seed. `difference` is how much more of it the
    policy has than the baseline, the mean over the seeds, and `interval` that mean's 95 % interval. Where a policy
    has no score, these are NaN, and `reason` says why. `reason` also says at how many decisions a request was refused
    because no place had a number as its score.
    """

    policy: str
    metric: str
    split: Split
    score: float = nan
    difference: float = nan
    interval: tuple[float, float] = (nan, nan)
    values: dict[int, float] = field(default_factory=dict)
    reason: str | None = None
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain data, with None for what is no number, or infinite: JSON has neither."""

        def plain(value: Any) -> Any:
            if isinstance(value, dict):
                return {str(key): plain(each) for key, each in value.items()}
            if isinstance(value, tuple):
                return [plain(each) for each in value] if all(map(isfinite, value)) else None
            return None if isinstance(value, float) and not isfinite(value) else value

        return {name: plain(getattr(self, name)) for name in self.__slots__}


class Evaluator:
    """Evaluates policies on the requests of a scenario, which are drawn once.

    `metric` is a column of results. `seeds`, `validation` and `test` are how many seeds each split has; those of `test`
    are the scenario's own, which no search should see: `tested` counts how many policies were tried on them. `baseline`
    is any policy, by default the scenario's first agent. `sign` is 1 where more of the metric is better, else -1.

    A policy is an expression, Python source with a function `score`, a file with such source (`rule.py`, or
    `rule.py:name`), the name of an agent or a mapping as in `agents:`, an agent, or a `@cheapest` function. Text is
    read as a formula, never imported or run. Agents, kernels and classes are yours, and run as they are.
    """

    def __init__(
        self,
        scenario: str | Path | Scenario,
        *overrides: Override,
        metric: str = "acceptance",
        seeds: int = 20,
        validation: int = 100,
        test: int = 100,
        baseline: Policy | None = None,
    ) -> None:
        self.scenario = settings = loaded(scenario, overrides)
        for key, value in (("seeds", seeds), ("validation", validation), ("test", test)):
            if value < 1:
                raise UserError("is too few", key=key, value=value, remedy="Give 1 or more.")
        if settings.sweep.product or settings.sweep.zip:
            problem, remedy = "policies are not evaluated over a sweep", "Evaluate one point: sweep=null, and set it."
            raise ScenarioError(problem, file=settings.file, key="sweep", remedy=remedy)
        world = build_world(settings)
        requests: Any = SimpleNamespace(
            drawn=world.requests.drawn, draw=lru_cache(READY)(world.requests.draw), windows=world.requests.windows
        )
        self._world, self._sampled = replace(world, requests=requests), False
        ledger, columns = world.ledger(settings.seed), dict[str, tuple[Definition, Metric]]()
        for definition in (*built_in(), *(added_metric(spec) for spec in settings.metrics)):
            described = definition.columns(ledger.view.resources, tuple(ledger.tiers))
            columns |= {each.name: (definition, each) for each in described}
        if metric not in columns:
            raise UnknownName("no such metric", key="metric", value=metric, remedy=suggest(metric, columns))
        self.metric, (self._definition, column) = metric, columns[metric]
        if column.better == "neither":
            remedy = "Take one of which higher or lower is better, such as acceptance."
            raise UserError("neither higher nor lower is better", key="metric", value=metric, remedy=remedy)
        self.sign, self.tested, self._lock = -1 if column.better == "lower" else 1, 0, Lock()
        self.seeds: dict[Split, range] = {
            "search": range(FIRST, FIRST + seeds),
            "validation": range(FIRST + APART, FIRST + APART + validation),
            "test": range(settings.seed, settings.seed + test),
        }
        _, self._baseline = _read(settings.agents[0] if baseline is None else baseline, settings.resources)
        self._base: dict[Split, list[float]] = {}
        self.of_baseline("search")

    def __call__(self, policy: Policy, on: Split = "search") -> Evaluation:
        """Evaluate a policy; whatever is wrong with it is the `reason` of what is returned."""
        if on not in self.seeds:
            raise UserError("no such split of the seeds", key="on", value=on, remedy=suggest(on, self.seeds))
        base = self.of_baseline(on)
        began = perf_counter()
        label = short(policy if isinstance(policy, str) else getattr(policy, "__name__", repr(policy)), 200)
        try:
            label, make = _read(policy, self.scenario.resources)
            values, refused = self.play(make, self.seeds[on])
        except (Exception, TooLong) as error:
            return Evaluation(label, self.metric, on, reason=reason_of(error), seconds=perf_counter() - began)
        finally:
            if on == "test":
                with self._lock:
                    self.tested += 1
        seconds = perf_counter() - began
        result, others = np.array(values), np.array(base)
        mean, half = mean_interval(differences(result, others))
        each = dict(zip(self.seeds[on], values, strict=True))
        interval = (float(mean - half), float(mean + half))
        score = float(result.mean())
        reason = f"a run has no value of {self.metric}" if isnan(score) else refused or None
        return Evaluation(label, self.metric, on, score, float(mean), interval, each, reason, seconds)

    def many(self, policies: Iterable[Policy], on: Split = "search", jobs: int | None = None) -> list[Evaluation]:
        """Evaluate policies, so many at once (default: one for each CPU), and return what each came to, in order."""
        self.of_baseline(on)
        with ThreadPoolExecutor(jobs or usable_cpus()) as pool:
            return list(pool.map(partial(self, on=on), policies))

    def of_baseline(self, on: Split) -> list[float]:
        """Return what the baseline has on each seed."""
        if on not in self._base:
            self._base[on], _ = self.play(self._baseline, self.seeds[on])
        return self._base[on]

    def play(self, make: Callable[[], Agent], seeds: Iterable[int]) -> tuple[list[float], str]:
        """Play new agents, one on each of the seeds; returns the metric on each and `no_score`."""
        values, counts = list[float](), np.zeros(2)
        for seed in seeds:
            value, agents = self._value(make, seed)
            values.append(value)
            for agent in agents:
                if isinstance(agent, Formula):
                    counts += [agent.numbers[2][LOST], agent.numbers[2][DECISIONS]]
        return values, no_score(*counts.astype(int).tolist())

    def _value(self, make: Callable[[], Agent], seed: int) -> tuple[float, list[Agent]]:
        """Play a new agent on the requests of a seed; returns the metric, NaN if the run has none, and who answered.

        Where the policy itself warms up the cluster, this is done by another new agent.
        """
        scenario, world = self.scenario, self._world
        agents, warm = [make()], None
        agent = adapt_agent(world, agents[0])
        if world.warm_start:
            agents.append((world.warm_start.agent or make)())
            warm = adapt_agent(world, agents[1])
        run, sampled = Run("", {}, scenario, scenario.agents[0], seed), self._sampled
        over, *_ = play_run(run, world, agent, warm, sampled=sampled)
        try:
            return float(self._definition.measured(over).get(self.metric, nan)), agents
        except KeyError:  # it is one of those that look at the cluster now and then
            if sampled:
                raise
            self._sampled = True
            return self._value(make, seed)


def _read(policy: Policy, resources: tuple[str, ...]) -> tuple[str, Callable[[], Agent]]:
    """Read a policy: its label, and what makes an agent of it; raises a `UserError` for one that is none."""
    if isinstance(policy, Agent):
        return type(policy).__name__, partial(deepcopy, policy)
    if isinstance(policy, type) and issubclass(policy, Agent):
        return policy.__name__, policy
    if is_kernel(policy):
        return getattr(policy, "__name__", "rule"), partial(_scanning, policy)
    if isinstance(policy, AgentSpec | Mapping) or (isinstance(policy, str) and policy in set(AGENTS)):
        try:
            spec = policy if isinstance(policy, AgentSpec) else AgentSpec.model_validate(policy)
        except ValidationError as error:
            raise explain(error, Source(None, {})) from None
        return spec.label, spec.make
    if not isinstance(policy, str | Path):
        raise UserError("is no policy", key="policy", value=type(policy).__name__, remedy=GIVE)
    text = str(policy)
    if isinstance(policy, Path) or (_FILE.fullmatch(text) and "\n" not in text):
        match = _FILE.fullmatch(text)
        file, name = (match[1], match[2] or "score") if match else (text, "score")
        try:
            return text, _function(Path(file).read_text("utf-8"), name, resources)
        except (OSError, ValueError) as error:
            problem, remedy = unread(error, file, "Give a file of Python source.")
            raise UserError(problem, file=file, remedy=remedy) from None
        except UserError as error:
            error.file = file
            raise
    if not text.strip():
        raise UserError("the source is empty", key="policy", value=text, remedy=GIVE)
    if "\n" in text or text.lstrip().startswith("def "):
        return short(text.strip().splitlines()[0]), _function(text, "score", resources)
    return short(text, 200), partial(Formula.of, expression(text))


def _function(text: str, name: str, resources: tuple[str, ...]) -> Callable[[], Agent]:
    """Read the function `name` in a source; its parameters are features, also where it does not use them."""
    formula, parameters = source(text, name)
    for parameter in parameters:
        feature_named(parameter, resources)
    return partial(Formula.of, formula)


def _scanning(scan: Any) -> Agent:
    agent = ScanAgent()
    agent.scan = scan
    return agent
