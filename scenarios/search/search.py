"""Races random formulas on paired seeds, and says what the best one is worth on seeds that the race never met."""

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml

from binwright.agents.formulas.parse import expression
from binwright.agents.formulas.program import Formula
from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.results_api import Results
from binwright.scenarios.agent_spec import AgentSpec
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.world import build_world
from binwright.scenarios.evaluation.evaluator import Evaluator
from binwright.scenarios.schema.load import Override, folder_for, loaded
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import RunError, UserError
from binwright.simcore.files import write_text
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats

LABEL = "found"
"""What the chosen rule is called among agents."""
PROPOSALS, FACTOR, STAGES, FEWEST = 54, 3, 4, 4
"""Rules of a race; one of so many goes on to so many times as many seeds; how many stages and seeds there are."""
FINALISTS = 8
"""So many of the best rules are played on the seeds of validation."""
LONGEST, DEPTH = 80, 5
"""Steps of the longest rule that is proposed, and how deep its parts are nested."""
GRAMMAR: dict[str, dict[str, float]] = {
    "rule": {"<score>": 50, "0.001 * <leaf> - lost(<worth>)": 50},
    "score": {
        "<leaf>": 20,
        "where(<leaf> < <leaf>, <score>, <score>)": 8,
        **dict.fromkeys(("abs(<score>)", "sqrt(<score>)", "-(<score>)"), 3),
        **dict.fromkeys(("(<score> + <score>)", "(<score> - <score>)"), 18),
        "(<score> * <score>)": 14,
        **dict.fromkeys(("(<score> / <score>)", "min(<score>, <score>)", "max(<score>, <score>)"), 4),
    },
    "leaf": {"<number>": 25, "(<feature>)": 75},
    "worth": {
        "<room>": 10,
        "(<share> <= <room>)": 30,
        "<room> ** <number>": 15,
        **dict.fromkeys(("(<worth> + <worth>)", "(<worth> * <worth>)"), 13),
        **dict.fromkeys(("(<worth> - <worth>)", "min(<worth>, <worth>)", "max(<worth>, <worth>)"), 6),
    },
}
"""What each part of a rule may be, and how often; a part that is nested too deep has none of its own kind below it.

A rule is any score of a place, or what a server's worth loses by the request, with a little of something else.
"""


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
    on_progress: Callable[[int, str, float], None] = lambda evaluations, best, mean: None,
) -> SearchResult:
    """Search a formula with the best mean of `metric` in a scenario.

    The budget is `evaluations`, plays of a rule on one seed; the race that reaches it is finished. `seeds` are those of
    the race, `validation` those of the choice among its best, and `test` of the scenario's own are for the chosen rule
    beside the scenario's agents. `out` (default `results/<name>/search`) gets found.yaml and these runs. `on_progress`
    is called after every race with the plays so far, the best rule and its mean.
    """
    scenario = loaded(scenario, overrides)
    folder, means = folder_for(scenario, out, "search"), dict[str, float]()
    evaluator = Evaluator(scenario, metric=metric, seeds=seeds, validation=validation, test=test, baseline="0")
    race = Race(evaluator, jobs, seed)
    for rule, mean in race.winners():
        means[rule] = mean
        best = max(means, key=means.__getitem__)
        on_progress(race.plays, best, means[best] * evaluator.sign)
        if race.plays >= evaluations:
            break
    rules = sorted(means, key=means.__getitem__, reverse=True)[:FINALISTS]
    validated = race.played(rules, evaluator.seeds["validation"]).mean(axis=1)
    chosen = rules[int(np.nanargmax(validated))]
    finalists = {
        "chosen": [rule == chosen for rule in rules],
        "search": [means[rule] * evaluator.sign for rule in rules],
        "validation": validated * evaluator.sign,
        "rule": rules,
    }
    agent = AgentSpec.model_validate({"name": "formula", "options": {"score": chosen}, "label": LABEL})
    agents = {each.label: each for each in (agent, *scenario.agents)}
    update = {"agents": tuple(agents.values()), "replications": test, "record": (), "train": None}
    tested = scenario.model_copy(update=update)
    tested._source = None  # which has other agents
    results = Batch(tested, folder / "test").run(jobs=jobs)
    entry = yaml.safe_dump({"agents": [agent.model_dump()]}, sort_keys=False, width=1000, default_flow_style=None)
    write_text(folder / "found.yaml", f"# Found by `binwright search` for {metric} in {scenario.name}.\n{entry}")
    return SearchResult(pl.DataFrame(finalists), chosen, agent.model_dump(), results, metric)


class Race:
    """Has random rules play on the seeds of an evaluator's search, on all cores; `plays` counts rules times seeds."""

    def __init__(self, evaluator: Evaluator, jobs: int | None, seed: int) -> None:
        self.evaluator, self.plays, self._jobs, self._seed = evaluator, 0, jobs or usable_cpus(), seed

    def played(self, rules: Sequence[str], seeds: Sequence[int]) -> Floats:
        """Return the metric of rules, negative where less of it is better, float64 [rules, seeds].

        A rule without a value, or that scores no number wherever a request fits, has NaN.
        """
        self.plays += len(rules) * len(seeds)

        def row(rule: str) -> list[float]:
            with suppress(RunError):
                values, refused = self.evaluator.play(partial(Formula, rule), seeds)
                if not refused:
                    return values
            return [np.nan] * len(seeds)

        with ThreadPoolExecutor(self._jobs) as pool:
            return self.evaluator.sign * np.array(list(pool.map(row, rules)), float)

    def winners(self) -> Iterator[tuple[str, float]]:
        """Yield rules that were played on all seeds with their means: `0`, and the winner of each race, for ever.

        In a race all rules play on a few seeds, and the best third of them on three times as many, until the last.
        """
        evaluator, rng = self.evaluator, stream(self._seed, "rules")
        mean = evaluator.sign * float(np.mean(evaluator.of_baseline("search")))
        if not np.isfinite(mean):
            remedy = "Take one that `binwright run` shows for this scenario, whatever its agents do."
            raise UserError("has no value in some or all runs", key="metric", value=evaluator.metric, remedy=remedy)
        yield "0", mean
        grammar = grammar_for(evaluator.scenario)
        order = stream(self._seed, "race").permutation(evaluator.seeds["search"]).tolist()
        stages = [until for n in range(STAGES) if (until := len(order) // FACTOR**n) >= min(FEWEST, len(order))][::-1]
        while True:
            rules = np.array(sorted({proposed(grammar, rng) for _ in range(PROPOSALS)}))
            values = np.zeros((len(rules), 0))
            for until in stages:
                values = np.hstack([values, self.played(rules.tolist(), order[values.shape[1] : until])])
                best = np.argsort(-np.nan_to_num(values.mean(axis=1), nan=-np.inf), kind="stable")
                best = best[: max(1, len(rules) // FACTOR)]
                rules, values = rules[best], values[best]
            if np.isfinite(mean := float(values[0].mean())):
                yield str(rules[0]), mean


def grammar_for(scenario: Scenario) -> dict[str, dict[str, float]]:
    """Complete the grammar with the features of places in a scenario."""
    names = [re.sub(r"\W", "_", resource) for resource in scenario.resources]
    several = build_world(scenario).ledger(0).view.free.shape[1] > 1
    features, room = dict[str, float](), dict[str, float]()
    for name in names:
        scopes = ("", "server_", "other_", "least_", "most_") if several else ("",)
        features |= {f"{scope}share_{name}": 2 for scope in scopes}
        features |= {f"{amount}_{name} / capacity_{name}": 1 for amount in ("free", "demand")}
        features |= {f"least_free_{name} / most_capacity_{name}": 1} if several else {}
    for scope in ("least_", "most_", "server_") if several else ("server_",):
        shares = [f"{scope}share_{name}" for name in names]
        room |= dict.fromkeys([*shares, f"min({', '.join(shares)})"] if len(shares) > 1 else shares, 1)
    return {**GRAMMAR, "feature": features, "room": room}


def proposed(grammar: dict[str, dict[str, float]], rng: np.random.Generator) -> str:
    """Propose a formula by a grammar, not longer than rules may be."""

    def part(kind: str, depth: int) -> str:
        if kind == "number":
            return f"{10 ** rng.uniform(-2, 0.7):.2g}"
        if kind == "share":
            return f"{rng.uniform(0.05, 0.95):.2g}"
        forms = [form for form in grammar[kind] if depth > 0 or f"<{kind}>" not in form]
        weights = np.array([grammar[kind][form] for form in forms], float)
        form = forms[int(rng.choice(len(forms), p=weights / weights.sum()))]
        return re.sub("<([a-z]+)>", lambda match: part(match[1], depth - 1), form)

    while True:
        text = part("rule", DEPTH)
        if 1 < len(expression(text)) <= LONGEST:
            return text
