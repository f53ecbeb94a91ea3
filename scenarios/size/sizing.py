"""Finding for every agent the smallest cluster with which a metric meets a target, with an interval.

A size is enough for an agent when the mean of the metric over the seeds meets the target. All agents and all sizes meet
the same seeds. The ends of the interval are the sizes that are enough when each mean is taken at the one or the other
end of its own 95 % interval: three searches that share their runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, Self

import polars as pl

from binwright.analysis.measure.condition import Target, target_of
from binwright.analysis.results_api import Results
from binwright.scenarios.batch.backends import held
from binwright.scenarios.build.cluster import ratios_of
from binwright.scenarios.build.plan import named, plain, points
from binwright.scenarios.features.feature import way
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.load import folder_for
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.size import Size, metrics_of, place_of
from binwright.scenarios.schema.sweep import Sweep
from binwright.scenarios.size.evaluate import (
    BEST,
    ENDS,
    FAILED,
    Looked,
    Row,
    Runs,
    SizeFound,
    enough,
    measured,
    next_size,
    searched,
    to_come,
    told_apart,
)
from binwright.simcore.errors import UserError
from binwright.simcore.files import write_text

TABLE = "sizes.csv"


@dataclass(frozen=True, slots=True)
class Sized:
    """The answer. `frame` is sizes.csv, a row per agent; `results` are all runs, a sweep over the sizes looked at."""

    question: "Question"
    frame: pl.DataFrame
    results: Results


@dataclass(frozen=True, slots=True)
class Sizes:
    """The answers at the points of a sweep. `frame` is sizes.csv: those of all, with the swept keys in front."""

    folder: Path
    frame: pl.DataFrame
    answers: list[tuple[Row, Sized]]


def size(
    scenario: Scenario,
    *,
    until: str | None = None,
    kind: str | None = None,
    most: int | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    on_progress: Callable[[Row], None] = lambda row: None,
    finished: Callable[[Row], None] = lambda row: None,
) -> Sized | Sizes:
    """Find for every agent the smallest number of servers with which a metric meets a target.

    `until` is the target (default: the scenario's `size`, or `"acceptance >= 99 %"`), `kind` the group of servers where
    there are several, `most` how many servers it may come to. `out` (default `results/<name>/size`) gets the runs,
    which are ordinary results, and sizes.csv; the same call goes on there. `on_progress` is called with what an agent
    came to at a size, and about how many such looks are `left`; `finished` with the row of every run.

    Where the scenario has a sweep, every point has an answer in a folder of its own below `out`, and `on_progress` is
    called with rows that have the `point`, too: the values of the swept keys. A point at which no agent meets the
    target has empty answers, as an agent has that does not.
    """
    folder, swept = folder_for(scenario, out, "size"), {*scenario.sweep.product, *scenario.sweep.zip}
    found: list[tuple[Row, Question]] = [
        (point, Question.of(each, until, kind, most))
        for point, each in (points(scenario) if swept else [({}, scenario)])
    ]
    for _, question in found:
        if question.key in swept:
            remedy = f"Take {question.key} out of the sweep."
            raise UserError("the number that is looked for is swept", key="sweep", value=sorted(swept), remedy=remedy)
        check_scenario(question.at(question.several), folder)
    answers: list[tuple[Row, Sized]] = []
    for point, question in found:
        runs = Runs(question, folder / named(point) if swept else folder, jobs, finished)
        tell = partial(_at, on_progress, point) if swept else on_progress
        with held("local", jobs):
            searched(runs, partial(_steps, question), partial(_left, question), tell)
        if not swept and not any(answer["size"] for answer in _answers(question, runs).values()):
            raise _never(question, runs)
        answers.append((point, _written(question, runs)))
        if swept:
            frames = [sized.frame.select(*_columns(where), pl.all()) for where, sized in answers]
            write_text(folder / TABLE, (frame := pl.concat(frames, how="vertical_relaxed")).write_csv())
    return Sizes(folder, frame, answers) if swept else answers[0][1]


def _columns(point: Mapping[str, Any]) -> list[pl.Expr]:
    return [pl.lit(plain(value)).alias(key) for key, value in point.items()]


def _at(on_progress: Callable[[Row], None], point: Row, row: Row) -> None:
    on_progress({"point": point, **row})


def _answers(question: "Question", runs: Runs) -> dict[str, Row]:
    """Collect each agent's answer, of a search that has ended."""
    return {
        agent: {end: step.size for end, step in _steps(question, looked).items() if isinstance(step, SizeFound)}
        for agent, looked in runs.looked.items()
        if agent not in runs.failed
    }


def _written(question: "Question", runs: Runs) -> Sized:
    results = runs.all()
    frame = _frame(question, _answers(question, runs), runs, results)
    write_text(runs.folder / TABLE, frame.write_csv())
    return Sized(question, frame, results)


def _steps(question: "Question", looked: Mapping[int, Looked]) -> dict[str, int | SizeFound]:
    """Say for each end of an agent's answer which size to look at next, or what it is."""
    bounds = question.least, question.most, question.begin
    if any(not isfinite(one.half) for one in looked.values()):  # one seed tells nothing of an interval
        return {
            "size": next_size(enough(question.target, looked, 0), *bounds),
            "low": SizeFound(None),
            "high": SizeFound(None),
        }
    return {end: next_size(enough(question.target, looked, halves), *bounds) for end, halves in ENDS.items()}


def _left(question: "Question", looked: Mapping[int, Looked]) -> int:
    """Guess at how many sizes an agent is still looked at."""
    bounds = question.least, question.most, question.begin
    several = all(isfinite(one.half) for one in looked.values())
    ends = [halves for end, halves in ENDS.items() if several or end == "size"]
    return len(set().union(*(to_come(enough(question.target, looked, halves), *bounds) for halves in ends)))


def _never(question: "Question", runs: Runs) -> UserError:
    """Say that no agent has enough with as many servers as there may be."""
    if len(runs.failed) == len(runs.looked):
        agent, error = next(iter(runs.failed.items()))
        return UserError(f"no agent's runs finished: {error.strip()}", key=agent)
    most, targets = question.most, (question.target, *question.target.others)
    there = {agent: looked[most] for agent, looked in runs.looked.items() if most in looked}
    missed = (n for n, one in enumerate(targets) if not any(one.met(_means(looked)[n]) for looked in there.values()))
    number = next(missed, 0)
    target, means = targets[number], {agent: _means(looked)[number] for agent, looked in there.items()}
    agent = max(means, key=lambda one: target.sign * means[one])
    fewest = min(runs.looked[agent])
    before = _means(runs.looked[agent][fewest])[number]
    remedy = "Lower the target, or look further with `size: {most: N}`."
    if target.sign * (before - means[agent]) > 0:
        fewer = f"with {question.said(fewest)} it is {_value(target, before)}"
        remedy = f"More servers lead away from it: {fewer}. Turn the sign round."
    nearest = f"{agent} is nearest, with {f'{target.metric.name} ' * bool(target.others or number)}"
    problem = f"no agent meets this with {question.said(most)}; {nearest}{_value(target, means[agent])}"
    return UserError(problem, key="until", value=question.until, remedy=remedy)


def _means(looked: Looked) -> list[float]:
    """List the means of a target's metric and of its others'."""
    return [looked.mean, *(mean for mean, _ in looked.others)]


def _value(target: Target, mean: float) -> str:
    return f"{target.metric.exactly(mean)}{' %' if target.metric.unit == '%' else ''}"


def _frame(question: "Question", answers: Mapping[str, Row], runs: Runs, results: Results) -> pl.DataFrame:
    """Lay the answers out, a row per agent."""
    sizes = [answer["size"] for answer in answers.values() if answer["size"] is not None]
    told: dict[str, str | None] = {}
    if (best := min(sizes, default=None)) is not None:
        first = next(agent for agent, answer in answers.items() if answer["size"] == best)
        told = told_apart(question, results, best, list(answers), first)
    rows = []
    for agent, looked in runs.looked.items():
        answer = answers.get(agent, dict.fromkeys(ENDS))
        found = answer["size"]
        at = looked.get(question.most if found is None else found)
        rows.append(
            {
                "agent": agent,
                **answer,
                **measured(question.target.metric, at),
                **_binding(question, results, agent, question.most if found is None else found),
                "more": None if found is None or best is None else found - best,
                "verdict": FAILED
                if agent in runs.failed
                else None
                if best is None
                else BEST
                if found == best
                else told.get(agent),
                "until": question.until,
                "key": question.key,
                "metric": question.target.metric.name,
                "relation": question.target.relation,
                "target": question.target.value,
                "least": question.least,
                "most": question.most,
                "seeds": question.scenario.replications,
            }
        )
    schema = {"size": pl.Int64, "low": pl.Int64, "high": pl.Int64, "more": pl.Int64}
    floats = dict.fromkeys(("mean", "mean_low", "mean_high", "spent", "energy", "full", "target"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides={**schema, **floats, "binds": pl.String, "verdict": pl.String})


def _binding(question: "Question", results: Results, agent: str, size: int) -> Row:
    """Find the resource of which the largest share of what may be sold is allocated, with so many servers."""
    cluster, done = question.scenario.cluster, results.done
    there = done.filter((pl.col("agent") == agent) & (pl.col(question.key) == size))
    ratios = dict(zip(cluster.resources, ratios_of(cluster, 1).mean(axis=0).tolist(), strict=True))
    shares = {
        name: float(there[column].mean()) / ratio  # type: ignore[arg-type]  # a number
        for name, ratio in ratios.items()
        if (column := f"allocation_{name}") in there.columns and there[column].count()
    }
    binds = max(shares, key=lambda name: shares[name], default=None)
    return {"binds": binds, "full": None if binds is None else shares[binds]}


LARGEST = 100_000_000
TIMES = 100
"""So many times the servers that there are is the most that is looked at, unless it is said."""


@dataclass(frozen=True, slots=True)
class Question:
    """A scenario, and what is looked for in it: the smallest value of `key`, from `least` to `most`.

    `begin` is the first that is looked at, `until` the target as it was written.
    """

    scenario: Scenario
    until: str
    target: Target
    key: str
    least: int
    begin: int
    most: int

    @classmethod
    def of(cls, scenario: Scenario, until: str | None, kind: str | None, most: int | None) -> Self:
        """Read it from a scenario's `size`, of which what is not None takes the place; refuse what has no answer."""
        own = scenario.size or Size()
        until, kind = own.until if until is None else until, own.kind if kind is None else kind
        most = own.most if most is None else most
        key, there = place_of(scenario.cluster, kind)
        target = target_of(until, metrics_of(scenario.cluster, scenario.metrics, scenario.currency))
        _refuse(scenario, target)
        least = _least(scenario, there)
        most = min(LARGEST, max(TIMES * there, least)) if most is None else most
        if not least <= most <= LARGEST:
            why = f"; failures are scheduled of servers up to number {least - 1}" if least > 1 else ""
            remedy = f"Give {least} to {LARGEST:,}{why}."
            raise UserError("is no number of servers to look for", key="most", value=most, remedy=remedy)
        asked = Size(until=until, kind=kind, most=most)
        changed = scenario.model_copy(update={"record": (), "train": None, "size": asked})
        return cls(changed, until, target, key, least, min(there, most), most)

    @property
    def several(self) -> tuple[int, ...]:
        """Two sizes to check before anything runs, where there are two: an agent may be for the first one only."""
        near = (self.begin, self.begin + 1, self.begin - 1)
        return tuple(size for size in near if self.least <= size <= self.most)[:2]

    def size_at(self, point: Mapping[str, Any]) -> int:
        """Read the number of servers at a point, or in a run's row."""
        return int(point[self.key])

    def said(self, size: int) -> str:
        """Say a size in words."""
        return "1 server" if size == 1 else f"{size} servers"

    def at(self, sizes: tuple[int, ...]) -> Scenario:
        """Return the scenario as a sweep over these sizes."""
        update: dict[str, Any] = {"sweep": Sweep(product={self.key: sizes})}
        return self.scenario.model_copy(update=update)


def _least(scenario: Scenario, there: int) -> int:
    """Find the least number of servers that the scenario allows: those that are to fail must be there."""
    cluster = scenario.cluster
    failing = max((failure.server + 1 for failure in cluster.failures.scheduled), default=0)
    others = (cluster.size or 0) - there
    return 1 if cluster.expansion else max(1, failing - others)


def _refuse(scenario: Scenario, target: Target) -> None:
    """Refuse what changes while runs go on, and what ends at the first refusal if refusals are the target."""
    names = [each.metric.name for each in (target, *target.others)]
    if scenario.overflow == "stop" and (name := next((n for n in names if n in ("acceptance", "rejected")), None)):
        problem = f"a run ends at its first refusal, so that {name} says nothing about the servers"
        remedy = (
            "Count on through refusals (--set overflow=drop), or ask how many are placed: --until 'scheduled >= 1000'."
        )
        raise UserError(problem, key="overflow", value="stop", remedy=remedy)
    if way(scenario.overflow, "expand"):
        problem = "servers are added while runs go on, which leaves nothing to size"
        raise UserError(problem, key="overflow", remedy="Write drop or wait: --set overflow=drop.")
