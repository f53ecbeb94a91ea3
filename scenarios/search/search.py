"""Finds a rule for one scenario or several, and says what it is worth on seeds that the search never met."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml

from binwright.agents import AGENTS
from binwright.agents.formulas.as_python import python_of
from binwright.agents.formulas.parse import expression
from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.figures.rule_front import draw
from binwright.analysis.figures.style import save
from binwright.analysis.results_api import Results
from binwright.scenarios.batch.backends import held
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.batch.journal import Row, line_of, lock, rows_of
from binwright.scenarios.build.code import ours
from binwright.scenarios.build.plan import plan
from binwright.scenarios.build.world import build_world
from binwright.scenarios.run.check import start_agents
from binwright.scenarios.schema.agent import AgentSpec
from binwright.scenarios.schema.load import Override, folder_for, loaded, resolved
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.search.islands import Islands, Rule, State
from binwright.scenarios.search.plays import Plays
from binwright.simcore.errors import ResultsError, UserError
from binwright.simcore.files import make_folder, write_text, writing
from binwright.simcore.jit import postponed

EVALUATIONS = 100_000
"""How many there are where nothing else is said."""
LEAST = {"seeds": 4, "validation": 4, "test": 2, "islands": 1, "evaluations": 1}
LABEL = "found"
"""What the chosen rule is called among agents."""
FINALISTS = 8
"""So many of the best rules are played on the seeds of validation, beside the front."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found; `results` are of each scenario, with the runs on the test seeds.

    `front` has a row for each rule that is better than all shorter ones, and for the `chosen` one, whose entry for
    `agents:` is `agent`: whether it is `chosen`, `length` in steps, the means `search` and `validation`, and `rule`.
    """

    front: pl.DataFrame
    chosen: str
    agent: dict[str, Any]
    results: list[Results]
    metric: str
    folder: Path

    @property
    def comparisons(self) -> list[Comparison]:
        """Return, for each scenario, all others beside the chosen rule on the test seeds, corrected by Holm."""
        return [Comparison([one], LABEL, [self.metric]) for one in self.results]


def search(
    scenario: str | Path | Scenario | Sequence[str | Path | Scenario],
    *overrides: Override,
    metric: str = "acceptance",
    evaluations: int | None = None,
    minutes: float | None = None,
    seeds: int = 200,
    validation: int = 400,
    test: int = 100,
    seed: int = 0,
    islands: int = 4,
    random: bool = False,
    beside: Sequence[str | Mapping[str, Any]] = (),
    jobs: int | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    on_progress: Callable[[State], None] = lambda state: None,
    finished: Callable[[Row], None] = lambda row: None,
) -> Found:
    """Search a formula with the best mean of `metric` in a scenario, or in several together.

    The budget is `evaluations`, plays of a rule on one seed of a scenario, or `minutes`, or both. `seeds` are those of
    the search, `validation` those of the choice among what it found, and `test` of the scenario's own are for the
    chosen rule beside the heuristics that can run there, and `beside`, other agents. `random` is a control: rules are
    only proposed at random. `out` (default `results/<name>/search`) gets journal.jsonl, from which the same call goes
    on, front.csv, front.png, found.py and found.yaml. `jobs` is that of `run`. `on_progress` is called after
    every step, `finished` with every run on the test seeds.
    """
    given = [scenario] if isinstance(scenario, str | Path | Scenario) else scenario
    scenarios = [loaded(one, overrides) for one in given]
    limit = EVALUATIONS if evaluations is None and minutes is None else evaluations
    _check(scenarios, seeds=seeds, validation=validation, test=test, islands=islands, evaluations=limit or 1)
    asked = {"metric": metric, "seeds": seeds, "seed": seed, "islands": islands, "random": random}
    folder, others = folder_for(scenarios[0], out, "search"), [AgentSpec.model_validate(one) for one in beside]
    with _journal(folder, scenarios, asked, fresh) as journal, held("local", jobs):
        plays = Plays(scenarios, metric, jobs, journal)
        found = Islands(plays, seeds, seed, islands, random)

        def spent() -> float:
            return max(plays.done / limit if limit else 0.0, plays.seconds / 60 / minutes if minutes else 0.0)

        for state in found.run(spent):
            on_progress(state)
        front, rule = _chosen(found.rules, plays, validation)
        agent = AgentSpec.model_validate({"name": "formula", "options": {"score": rule.text}, "label": LABEL})
        _write(folder, scenarios, front, agent, metric)
        results = []
        for one in scenarios:
            agents = {each.label: each for each in (agent, *_heuristics(one), *others)}
            update = {"agents": tuple(agents.values()), "replications": test, "record": (), "train": None}
            batch = one.model_copy(update=update)
            batch._source = None  # which has other agents
            own = folder / "test" / (one.name if len(scenarios) > 1 else "")
            results.append(Batch(batch, own, alone=True).run(jobs=jobs, finished=finished))
    return Found(front, rule.text, agent.model_dump(), results, metric, folder)


def _check(scenarios: Sequence[Scenario], **numbers: int) -> None:
    """Refuse a search that cannot be: with too little of something, or over different resources."""
    for key, value in numbers.items():
        if value < LEAST[key]:
            raise UserError("is too few", key=key, value=value, remedy=f"Give {LEAST[key]} or more.")
    for one in scenarios:
        if one.resources != scenarios[0].resources:
            problem = f"has other resources than {scenarios[0].name}, and a rule names them"
            remedy = "Search over scenarios with the same resources."
            raise UserError(problem, file=one.file, key="cluster", value=", ".join(one.resources), remedy=remedy)


@contextmanager
def _journal(folder: Path, scenarios: Sequence[Scenario], asked: Mapping[str, Any], fresh: bool) -> Iterator[FileIO]:
    """Take the folder, and give its journal, the first line of which says which search it is of."""
    said = json.dumps([[resolved(one) for one in scenarios], asked, ours()])
    head = {"run": "search", "digest": hashlib.blake2b(said.encode(), digest_size=16).hexdigest()}
    with writing(folder):
        make_folder(folder)
        file = (folder / "journal.jsonl").open("a+b", buffering=0)
    with file:
        lock(file, folder)
        known = [] if fresh else rows_of(Path(file.name))[0]
        if len(known) > 1 and known[0] != head:
            remedy = "Begin anew with --fresh, or name another folder with --out."
            raise ResultsError("has another search, or one by other code", file=folder, remedy=remedy)
        if known[:1] != [head]:  # one that was refused before it played anything left nothing but such a line
            file.truncate(0)
            file.write(line_of(head).encode())
        yield file


def _chosen(rules: Sequence[Rule], plays: Plays, seeds: int) -> tuple[pl.DataFrame, Rule]:
    """Play the front, and the best rules, on the seeds of validation; returns the front's table, and the rule chosen.

    That is the shortest one that loses on the best one at most half a standard error of their paired difference.
    """
    front: list[Rule] = []
    for rule in sorted(rules, key=lambda one: (one.size, -one.score)):
        if not front or rule.score > front[-1].score:
            front.append(rule)
    tried = list(dict.fromkeys([*front, *rules[:FINALISTS]]))
    found = plays.objective([one.text for one in tried], range(seeds), "validation")
    found = np.where(np.isfinite(found).all(axis=1, keepdims=True), found, np.nanmin(found) - 1)
    means, less = found.mean(axis=1), found[int(found.mean(axis=1).argmax())] - found
    near = np.flatnonzero(less.mean(axis=1) <= less.std(axis=1) / seeds**0.5 / 2).tolist()
    chosen = min(near, key=lambda number: (tried[number].size, -means[number]))
    columns = ("chosen", "length", "search", "validation", "rule")
    rows = [
        (number == chosen, rule.size, plays.shown(rule.score), plays.shown(float(means[number])), rule.text)
        for number, rule in enumerate(tried)
        if number < len(front) or number == chosen
    ]
    return pl.DataFrame(rows, columns, orient="row").sort("length"), tried[chosen]


def _heuristics(scenario: Scenario) -> list[AgentSpec]:
    """List the heuristics that can run in a scenario and, like formulas, know no lifetimes and order no line."""
    own = [one for one in scenario.agents if AGENTS.home(one.name).startswith("binwright.agents.heuristics")]
    there = {one.name for one in own if not one.options} | {one.label for one in own}
    others = [
        name for name in AGENTS if AGENTS.home(name).startswith("binwright.agents.heuristics") and name not in there
    ]
    world, found = build_world(scenario), []
    workload = world.draw(scenario.seed)
    for spec in (*own, *map(AgentSpec.model_validate, others)):
        alone = scenario.model_copy(update={"agents": (spec,)})
        alone._source = None
        try:
            with postponed():
                start_agents(alone, plan(alone)[0], [spec], world, workload)
        except UserError:
            continue
        found += [spec] * (not (AGENTS.load(spec.name).needs_lifetimes or AGENTS.load(spec.name).orders_line))
    return found


def _write(folder: Path, scenarios: Sequence[Scenario], front: pl.DataFrame, agent: AgentSpec, metric: str) -> None:
    """Write the front as a table and a figure, and the chosen rule as Python and as YAML."""
    names = " and ".join(one.name for one in scenarios)
    title = f"Found by `binwright search` for {metric} in {names}."
    what = f"{metric}{', in standard deviations above Best-Fit' * (len(scenarios) > 1)}"
    write_text(folder / "front.csv", front.write_csv())
    save(draw(front, what), folder / "front.png")
    formula = expression(agent.options["score"])
    write_text(folder / "found.py", python_of(formula, scenarios[0].resources, title))
    entry = yaml.safe_dump({"agents": [agent.model_dump()]}, sort_keys=False, width=1000, default_flow_style=None)
    write_text(folder / "found.yaml", f"# {title}\n{entry}")
