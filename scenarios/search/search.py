"""Races random formulas on paired seeds, and says what the best one is worth on seeds that the race never met."""

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import nan
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import yaml

from binwright.agents.formulas.parse import Term, expression
from binwright.agents.formulas.program import LOST, Formula
from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.results_api import Results
from binwright.scenarios.agent_spec import AgentSpec
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.batch.journal import Row
from binwright.scenarios.evaluation.evaluator import APART, PreparedScenario
from binwright.scenarios.learn.tune import FIRST
from binwright.scenarios.schema.load import Override, folder_for, loaded
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import RunError, UserError
from binwright.simcore.files import write_text
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats

LEAST = {"seeds": 4, "validation": 4, "test": 2, "evaluations": 1}
LABEL = "found"
"""What the chosen rule is called among agents."""
PROPOSALS, KEPT, STAGES, FEWEST = 54, 3, 4, 4
"""Rules of a race; one of so many goes on to so many times as many seeds; how many stages and seeds there are."""
FINALISTS = 8
"""So many of the best rules are played on the seeds of validation."""
LONGEST, DEPTH = 80, 4
"""Steps of the longest rule that is proposed, and how deep its operations are nested."""
BINARY = (*("+",) * 4, *("-",) * 4, *("*",) * 3, "/", "min", "max")
WORTH = ("+", "+", "-", "*", "*", "min", "max")
UNARY = ("abs(", "sqrt(", "-(")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search has found; `results` has the runs on the test seeds.

    `finalists` has a row for each of the best rules: whether it is `chosen`, its means `search` and `validation`, and
    `rule`. `agent` is the entry for `agents:` of the chosen one.
    """

    finalists: pl.DataFrame
    chosen: str
    agent: dict[str, Any]
    results: Results
    metric: str

    @property
    def comparison(self) -> Comparison:
        """Return the scenario's agents beside the chosen rule on the test seeds, corrected by Holm."""
        return Comparison([self.results], LABEL, [self.metric])


class State(NamedTuple):
    """Says how far a search is: the best rule so far, and its mean of the metric."""

    evaluations: int
    seconds: float
    best: str
    mean: float


def search(
    scenario: str | Path | Scenario,
    *overrides: Override,
    metric: str = "acceptance",
    evaluations: int = 100_000,
    seeds: int = 200,
    validation: int = 400,
    test: int = 100,
    seed: int = 0,
    jobs: int | None = None,
    out: str | Path | None = None,
    on_progress: Callable[[State], None] = lambda state: None,
    finished: Callable[[Row], None] = lambda row: None,
) -> SearchResult:
    """Search a formula with the best mean of `metric` in a scenario.

    The budget is `evaluations`, plays of a rule on one seed. `seeds` are those of the race, `validation` those of the
    choice among its best, and `test` of the scenario's own are for the chosen rule beside the scenario's agents. `out`
    (default `results/<name>/search`) gets found.yaml and these runs. `on_progress` is called after every race,
    `finished` with every run on the test seeds.
    """
    scenario = loaded(scenario, overrides)
    for key, value in {"seeds": seeds, "validation": validation, "test": test, "evaluations": evaluations}.items():
        if value < LEAST[key]:
            raise UserError("is too few", key=key, value=value, remedy=f"Give {LEAST[key]} or more.")
    folder, began = folder_for(scenario, out, "search"), monotonic()
    plays, means = Plays(scenario, metric, jobs), dict[str, float]()
    for rule, mean in _raced(plays, seeds, seed):
        means[rule] = mean
        best = max(means, key=means.__getitem__)
        on_progress(State(plays.done, monotonic() - began, best, means[best] * plays.sign))
        if plays.done >= evaluations:
            break
    rules = sorted(means, key=means.__getitem__, reverse=True)[:FINALISTS]
    validated = plays.objective(rules, range(validation), APART).mean(axis=1)
    chosen = rules[int(np.nanargmax(validated))]
    rows = [
        (rule == chosen, means[rule] * plays.sign, float(mean) * plays.sign, rule)
        for rule, mean in zip(rules, validated, strict=True)
    ]
    agent = AgentSpec.model_validate({"name": "formula", "options": {"score": chosen}, "label": LABEL})
    agents = {each.label: each for each in (agent, *scenario.agents)}
    update = {"agents": tuple(agents.values()), "replications": test, "record": (), "train": None}
    tested = scenario.model_copy(update=update)
    tested._source = None  # which has other agents
    results = Batch(tested, folder / "test").run(jobs=jobs, finished=finished)
    entry = yaml.safe_dump({"agents": [agent.model_dump()]}, sort_keys=False, width=1000, default_flow_style=None)
    write_text(folder / "found.yaml", f"# Found by `binwright search` for {metric} in {scenario.name}.\n{entry}")
    frame = pl.DataFrame(rows, ("chosen", "search", "validation", "rule"), orient="row")
    return SearchResult(frame, chosen, agent.model_dump(), results, metric)


def _raced(plays: "Plays", seeds: int, seed: int) -> Iterator[tuple[str, float]]:
    """Yield rules that were played on all seeds with their mean objective: `0`, and the winner of each race, for ever.

    In a race all rules play on a few seeds, and the best third of them on three times as many, until the last stage.
    """
    rng, order = stream(seed, "rules"), stream(seed, "race").permutation(seeds)
    proposer, known = Proposer(plays.scenario.resources, plays.nodes, rng), {"0"}
    mean = float(plays.objective(["0"], range(seeds)).mean())
    if not np.isfinite(mean):
        remedy = "Take one that `binwright run` shows for this scenario, whatever its agents do."
        raise UserError("has no value in some or all runs", key="metric", value=plays.metric, remedy=remedy)
    yield "0", mean
    stages = [until for stage in range(STAGES) if (until := seeds // KEPT**stage) >= min(FEWEST, seeds)][::-1]
    while True:
        rules = list(dict.fromkeys(proposer.new() for _ in range(PROPOSALS)))
        rules = [rule for rule in rules if rule not in known] or ["0"]
        known.update(rules)
        values, done = np.full((len(rules), seeds), nan), 0
        for until in stages:
            now, done = order[done:until].tolist(), until
            values[:, now] = plays.objective(rules, now)
            means = values[:, order[:until]].mean(axis=1)
            places = np.argsort(-np.where(np.isfinite(means), means, -np.inf), kind="stable")
            places = places[: 1 if until == seeds else max(1, len(rules) // KEPT)]
            rules, values, means = [rules[place] for place in places], values[places], means[places]
        if np.isfinite(means[0]):
            yield rules[0], float(means[0])


class Plays:
    """Plays formulas on seeds on all cores.

    The objective, of which more is better, is the metric, with a minus where less of it is better. `done` counts plays
    of a rule on a seed.
    """

    def __init__(self, scenario: Scenario, metric: str, jobs: int | None) -> None:
        self.scenario, self.metric, self._jobs, self.done = scenario, metric, jobs or usable_cpus(), 0
        self._prepared = PreparedScenario(scenario, metric)
        self.nodes: int = self._prepared.world.ledger(0).view.free.shape[1]
        self.value(expression("0"), 0)  # whoever cannot play here says so
        self.sign = self._prepared.sign

    def objective(self, rules: Sequence[str], at: Sequence[int], apart: int = 0) -> Floats:
        """Return the objective of rules on seeds number `at`, `apart` from those of the race, float64 [rules, at]."""
        self.done += len(rules) * len(at)
        formulas = list(map(expression, rules))

        def column(number: int) -> list[float]:
            return [self.value(formula, FIRST + apart + number) for formula in formulas]

        with ThreadPoolExecutor(self._jobs) as pool:
            return self.sign * np.array(list(pool.map(column, at)), float).T

    def value(self, formula: Term, seed: int) -> float:
        """Play a formula on the requests of a seed; NaN is of one that scores no number wherever a request fits."""
        try:
            value, agents = self._prepared.value(partial(Formula.of, formula), seed)
        except RunError:
            return nan
        return nan if any(isinstance(agent, Formula) and agent.numbers[2][LOST] for agent in agents) else value


class Proposer:
    """Proposes formulas for servers with these resources and so many nodes; all chance is that of `rng`."""

    def __init__(self, resources: Sequence[str], nodes: int, rng: np.random.Generator) -> None:
        self._rng, names = rng, [re.sub(r"\W", "_", resource) for resource in resources]
        scopes = ("", "server_", "other_", "least_", "most_") if nodes > 1 else ("",)
        self._leaves: list[str] = []
        for name in names:
            self._leaves += [f"{scope}share_{name}" for scope in scopes] * 2
            self._leaves += [f"free_{name} / capacity_{name}", f"demand_{name} / capacity_{name}"]
            self._leaves += [f"least_free_{name} / most_capacity_{name}"] * (nodes > 1)
        self._worth: list[str] = []
        for scope in ("least_", "most_", "server_") if nodes > 1 else ("server_",):
            shares = [f"{scope}share_{name}" for name in names]
            self._worth += [*shares, *([f"min({', '.join(shares)})"] if len(shares) > 1 else [])]

    def new(self) -> str:
        """Propose a formula: any, or what a server's worth loses by a request, with a little of any other."""
        while True:
            if self._rng.random() < 0.5:
                text = self._tree(DEPTH)
            else:
                text = f"0.001 * {self._tree(1)} - lost({self._worth_tree(DEPTH - 1)})"
            if 1 < expression(text).size <= LONGEST:
                return text

    def _pick(self, some: Sequence[str]) -> str:
        return some[int(self._rng.integers(len(some)))]

    def _number(self) -> str:
        return f"{10 ** self._rng.uniform(-2, 0.7):.2g}"

    def _leaf(self) -> str:
        return self._number() if self._rng.random() < 0.25 else f"({self._pick(self._leaves)})"

    def _tree(self, depth: int) -> str:
        if depth == 0 or self._rng.random() < 0.2:
            return self._leaf()
        kind, below = self._rng.random(), depth - 1
        if kind < 0.1:
            return f"where({self._leaf()} < {self._leaf()}, {self._tree(below)}, {self._tree(below)})"
        if kind < 0.2:
            return f"{self._pick(UNARY)}{self._tree(below)})"
        return _joined(self._pick(BINARY), self._tree(below), self._tree(below))

    def _worth_tree(self, depth: int) -> str:
        """Propose what a server is worth: a sum of products, powers and steps of what is free on it."""
        kind, leaf = self._rng.random(), self._pick(self._worth)
        if kind < 0.3:
            return f"({self._rng.uniform(0.05, 0.95):.2g} <= {leaf})"
        if depth == 0 or kind < 0.4:
            return leaf
        if kind < 0.55:
            return f"{leaf} ** {self._number()}"
        return _joined(self._pick(WORTH), self._worth_tree(depth - 1), self._worth_tree(depth - 1))


def _joined(op: str, x: str, y: str) -> str:
    return f"{op}({x}, {y})" if op in ("min", "max") else f"({x} {op} {y})"
