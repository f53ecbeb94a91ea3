"""Finding the numeric options of an agent with which it does best in a scenario, by the cross-entropy method.

Rounds of candidates, all on the same requests, other requests in every round; at the end the answer beside the agent as
it was, on requests that no round has seen. Candidates are runs named by content, so an interrupted search goes on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from math import inf, nan
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias, get_args, get_type_hints

import numpy as np
import polars as pl
import yaml
from pydantic import ValidationError

from binwright.agents import AGENTS
from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.results.columns import metric_named
from binwright.analysis.results_api import Results
from binwright.scenarios.agent_spec import AgentSpec
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.explain import explain
from binwright.scenarios.schema.load import Override, folder_for, loaded, scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.yaml_source import Source
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.files import write_table, write_text
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats
from binwright.simcore.units import many_of
from binwright.workloads.windows import ListedStart

Between: TypeAlias = str | tuple[float, float]
"""`"0..4"`, or (low, high)."""
DIGITS = 4
"""Significant digits of what is tried."""


@dataclass(frozen=True, slots=True)
class Range:
    """The values that an option may take, perhaps `whole` numbers only."""

    name: str
    low: float
    high: float
    whole: bool

    def at(self, place: float) -> float:
        """Find the value at a place from 0 to 1, with few digits."""
        value = self.low + (self.high - self.low) * place
        value = round(value) if self.whole else float(f"{value:.{DIGITS}g}")
        return min(max(value, self.low), self.high)

    def place(self, value: float) -> float:
        """Find where a value is, from 0 to 1; one outside is at the nearest end."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)


def ranges_of(spec: AgentSpec, params: Mapping[str, Between]) -> list[Range]:
    """Read the ranges to search; refuses what the agent does not take."""
    if not params:
        raise UserError("there is nothing to tune", key="param", remedy="Name an option and its range: stranded=0..4.")
    kind = AGENTS.load(spec.name)
    options, hints = list(signature(kind).parameters), get_type_hints(kind.__init__)
    ranges = []
    for name, between in params.items():
        if name not in options:
            raise UserError("unknown option", key=f"param {name}", remedy=suggest(name, options))
        try:
            low, high = map(float, between.split("..") if isinstance(between, str) else between)
        except (TypeError, ValueError):
            low = high = nan
        if not -inf < low < high < inf:
            remedy = f"Write {name}=0..4{', without `:log`' if ':log' in str(between) else ''}."
            raise UserError("is not a range", key=f"param {name}", value=between, remedy=remedy)
        hint = hints.get(name, float)
        ranges.append(Range(name, low, high, whole=hint is int or set(get_args(hint)) == {int, NoneType}))
    for place in (0.0, 1.0):
        candidate(spec, ranges, np.full(len(ranges), place)).make()  # it may refuse them
    return ranges


def candidate(spec: AgentSpec, ranges: Sequence[Range], point: Floats) -> AgentSpec:
    """Make the agent with the options at these places."""
    values = {each.name: each.at(place) for each, place in zip(ranges, point.tolist(), strict=True)}
    try:
        return AgentSpec.model_validate({spec.name: {**spec.options, **values}})
    except ValidationError as error:
        mistake = explain(error, Source(None, {}))
        name, remedy = str(mistake.key).rpartition(".")[2], "Tune options that take numbers."
        raise UserError(mistake.problem, key=f"param {name}", value=values.get(name), remedy=remedy) from None


def closer(points: Floats, scores: Floats, mean: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation float64 [n] of the next points, after points [any, n] had these scores [any].

    The mean is that of the best quarter, more being better and NaN the worst; the variance moves by most of the way to
    theirs about the mean before (Rubinstein 1999, The cross-entropy method).
    """
    best = points[np.argsort(-np.where(np.isnan(scores), -inf, scores), kind="stable")[: len(points) // 4]]
    variance = (1 - SHARE) * width**2 + SHARE * ((best - mean) ** 2).mean(axis=0)
    return best.mean(axis=0), np.sqrt(variance)


Row: TypeAlias = dict[str, Any]
FIRST = 2**29
"""The first seed of a search's requests: far from those of scenarios."""
SIGMA, SHARE = 0.2, 0.7
"""How far from where it starts the search looks at first, as a share of every range; how fast that narrows."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """What was found. `agent` is an entry for `agents:`; `log` is log.parquet; `results` are the held-out runs."""

    agent: dict[str, Any]
    log: pl.DataFrame
    results: Results
    metric: str

    @property
    def comparison(self) -> Comparison:
        """The agent as found beside the agent as it was, on requests that no round has seen."""
        return Comparison(self.results, metrics=[self.metric])


def tune(
    scenario: str | Path | Scenario,
    *overrides: Override,
    agent: str | Mapping[str, Any],
    params: Mapping[str, Between],
    metric: str = "acceptance",
    rounds: int = 20,
    population: int = 16,
    seeds: int = 8,
    held_out: int = 100,
    seed: int = 0,
    jobs: int | None = None,
    out: str | Path | None = None,
    on_progress: Callable[[Row], None] = lambda row: None,
    finished: Callable[[Row], None] = lambda row: None,
) -> Tuned:
    """Find the numeric options of an agent with the best mean of `metric` over the scenario's points and seeds.

    `params` are ranges: `{"stranded": (0, 2), "cut_off": "0..1"}`. Every one of `rounds` tries `population`
    candidates on `seeds` seeds. `out` (default `results/<name>/tuning`) gets tuned.yaml and log.parquet after every
    round, and at the end the runs of `held_out` other seeds, from the scenario's first on, where the answer is compared
    with the agent as it was; the same call goes on there. `jobs` are those of `run`. `on_progress` is called with every
    new row of the log, `finished` with that of every run.
    """
    scenario = loaded(scenario, overrides)
    least = {"rounds": (rounds, 1), "population": (population, 4), "seeds": (seeds, 1), "held_out": (held_out, 2)}
    for key, (value, enough) in least.items():
        if value < enough:
            raise UserError("is too few", key=key, value=value, remedy=f"Give {enough} or more.")
    if isinstance(getattr(scenario.workload, "start", None), ListedStart):
        problem = "a list of starts has no further seeds, which tuning needs"
        remedy = "Have them drawn: start: {random: [FIRST, LAST]}."
        raise UserError(problem, key="workload.start", remedy=remedy)
    folder = folder_for(scenario, out, "tuning")
    spec = scenario_from({**scenario.dump(), "sweep": {}, "agents": [agent]}).agents[0]
    ranges = ranges_of(spec, params)
    defaults = {
        name: parameter.default for name, parameter in signature(AGENTS.load(spec.name)).parameters.items()
    } | spec.options
    begin = [each.place(at) if isinstance(at := defaults[each.name], int | float) else 0.5 for each in ranges]
    mean, width, rng = np.array(begin), np.full(len(ranges), SIGMA), stream(seed, "tune")
    best, rows = spec, list[Row]()

    def note(step: int, split: str, value: float, before: float) -> None:
        """Add a row to the log, which is written anew: the metric now, and of the agent as it was."""
        options = {each.name: float(best.options[each.name]) for each in ranges if each.name in best.options}
        head = {"step": step, "seconds": runs.seconds, "split": split, "seed": seed}
        rows.append({**head, metric: value, "gain": value - before, **options})
        write_table(folder / "log.parquet", pl.DataFrame(rows, infer_schema_length=None))
        on_progress(rows[-1])

    runs = _Runs(scenario, folder, metric, partial(Batch.run, jobs=jobs, finished=finished))
    for step in range(rounds + 1):
        points = np.clip(rng.normal(mean, width, (population if step else 0, len(ranges))), 0.0, 1.0)
        tried = [candidate(spec, ranges, point) for point in points]
        means = runs.means("rounds", [*tried, spec], FIRST + seed * 2**20 + step * seeds, seeds)
        before = float(means[-1])
        if not step:
            note(0, "train", before, before)
            continue
        mean, width = closer(points, runs.sign * means[:-1], mean, width)
        best, average = candidate(spec, ranges, mean), float(np.nanmean(means[:-1]))
        note(step, "train", average, before)
        _write(folder, best, f"round {step} of {rounds}, {seeds} seeds each; {metric} of the candidates: {average:.6g}")
    tuned = best.model_copy(update={"label": f"{spec.label} tuned"})
    before, after = runs.means("held-out", [spec, tuned], scenario.seed, held_out).tolist()
    note(rounds, "validation", after, before)
    drawn = build_world(scenario).drawn
    where = f"{held_out} other seeds" if drawn else "the same requests (none are drawn, so none are held out)"
    entry = _write(folder, best, f"{many_of(rounds, 'round')}; {metric} on {where}: {after:.6g}, before {before:.6g}")
    return Tuned(entry, pl.DataFrame(rows), Results(folder / "held-out"), metric)


@dataclass(slots=True)
class _Runs:
    """Runs agents by `run`, and averages the metric. `seconds` is how long all runs took, whenever that was."""

    scenario: Scenario
    folder: Path
    metric: str
    run: Callable[[Batch], Results]
    sign: int = 1
    seconds: float = 0.0

    def means(self, name: str, agents: Sequence[AgentSpec], seed: int, seeds: int) -> Floats:
        """Average the metric of each agent, float64 [agents]; NaN for one of which a run failed."""
        different = {agent.label: agent for agent in agents}
        update = {"agents": tuple(different.values()), "seed": seed, "replications": seeds, "record": (), "train": None}
        scenario = self.scenario.model_copy(update=update)
        scenario._source = None  # which has other agents
        results = self.run(Batch(scenario, self.folder / name))
        if not len(results.done):
            raise UserError(f"no run finished: {results.failed['error'][0]}", key=agents[0].label)
        self.seconds += float(results.runs["seconds"].sum())
        better = metric_named(self.metric, results.done, results.metrics).better
        if better == "neither":
            remedy = "Tune for a metric of which higher or lower is better, such as acceptance."
            raise UserError("neither higher nor lower is better", key="metric", value=self.metric, remedy=remedy)
        self.sign = 1 if better == "higher" else -1
        failed = set(results.failed["agent"])
        means = dict(results.done.group_by("agent").agg(pl.col(self.metric).mean()).rows())
        return np.array([nan if agent.label in failed else means[agent.label] for agent in agents], float)


def _write(folder: Path, best: AgentSpec, comment: str) -> dict[str, Any]:
    """Write tuned.yaml, ready to paste; returns its entry."""
    entry = {best.name: best.options}
    text = yaml.safe_dump({"agents": [entry]}, sort_keys=False, default_flow_style=None, width=1000)
    write_text(folder / "tuned.yaml", f"# {comment}\n{text}")
    return entry
