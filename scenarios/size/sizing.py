"""Finding for every agent the smallest cluster with which a metric meets a target, with an interval.

A size is enough for an agent when the mean of the metric over the seeds meets the target. All agents and all sizes meet
the same seeds. The ends of the interval are the sizes that are enough when each mean is taken at the one or the other
end of its own 95 % interval: three searches that share their runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import isfinite, isnan
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from analysis.compare.differences import EQUAL, SAME, UNTESTED, Differences
from analysis.compare.statistics import mean_interval
from analysis.front import Results
from analysis.measure.condition import Target
from scenarios.batch.batch import Batch
from scenarios.build.plan import plan
from scenarios.run.check import check_scenario
from scenarios.schema.load import folder_for, load_to_run, loaded
from scenarios.schema.scenario import Scenario
from scenarios.size.question import Question
from scenarios.size.search import Found, next_size
from simcore.errors import UserError
from simcore.files import write_text
from simcore.vocabulary import Floats

Row: TypeAlias = dict[str, Any]
Pairs: TypeAlias = dict[int, set[str]]
"""Sizes, and the agents that are looked at there."""
TABLE = "sizes.csv"
ENDS = {"size": 0, "low": 1, "high": -1}
"""Which of its interval a mean is taken at, in half widths towards the target, for each column of the answer."""
BEST, TOLD, NOT_TOLD, FAILED = "best", "told apart", "not told apart", "failed"


@dataclass(frozen=True, slots=True)
class Looked:
    """What an agent came to at a size: the mean of the metric over the seeds, and half of its 95 % interval's width.

    The half width is 0 where nothing was drawn, and infinite of one seed.
    """

    mean: float
    half: float

    @classmethod
    def of(cls, values: Floats, *, random: bool) -> Looked:
        """Average the values of the seeds."""
        mean, half = mean_interval(values)
        return cls(float(mean), float(half) if random else 0.0)


@dataclass(frozen=True, slots=True)
class Sized:
    """The answer. `frame` is sizes.csv, a row per agent; `results` are all runs, a sweep over the sizes looked at."""

    question: Question
    frame: pl.DataFrame
    results: Results


def size(
    scenario: str | Path | Scenario,
    *overrides: str,
    until: str | None = None,
    kind: str | None = None,
    most: int | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    watch: Callable[[Row], None] = lambda row: None,
    finished: Callable[[Row], None] = lambda row: None,
) -> Sized:
    """Find for every agent the smallest number of servers with which a metric meets a target.

    `until` is the target (default: the scenario's `size`, or `"acceptance >= 99 %"`), `kind` the group of servers where
    there are several, `most` how many servers it may come to. `out` (default `results/<name>/size`) gets the runs,
    which are ordinary results, and sizes.csv; the same call goes on there. `watch` is called with what an agent came to
    at a size, `finished` with the row of every run.
    """
    question = Question.of(loaded(scenario, overrides, load_to_run), until, kind, most)
    folder = folder_for(question.scenario, out, "size")
    check_scenario(question.at(question.several), folder)
    runs = _Runs(question, folder, jobs, finished)
    while True:
        steps = {agent: _steps(question, looked) for agent, looked in runs.looked.items() if agent not in runs.failed}
        wanted = _wanted(steps) or _beside(question, steps, runs.looked)
        if not wanted:
            break
        for row in runs.look(wanted):
            watch(row)
    answers = {
        agent: {end: step.size for end, step in each.items() if isinstance(step, Found)}
        for agent, each in steps.items()
    }
    results = runs.all()
    if all(answer["size"] is None for answer in answers.values()):
        raise _never(question, runs)
    frame = _frame(question, answers, runs, results)
    write_text(runs.folder / TABLE, frame.write_csv())
    return Sized(question, frame, results)


def _steps(question: Question, looked: Mapping[int, Looked]) -> dict[str, int | Found]:
    """Say for each end of an agent's answer which size to look at next, or what it is."""
    bounds = question.least, question.most, question.begin
    if any(not isfinite(one.half) for one in looked.values()):  # one seed tells nothing of an interval
        return {"size": next_size(_enough(question, looked, 0), *bounds), "low": Found(None), "high": Found(None)}
    return {end: next_size(_enough(question, looked, halves), *bounds) for end, halves in ENDS.items()}


def _enough(question: Question, looked: Mapping[int, Looked], halves: int) -> dict[int, bool]:
    """Tell of the sizes that were looked at whether they are enough, with means moved towards the target."""
    target = question.target
    return {
        size: target.met(one.mean + target.sign * halves * one.half if halves else one.mean)
        for size, one in looked.items()
    }


def _wanted(steps: Mapping[str, Mapping[str, int | Found]]) -> Pairs:
    """Collect the sizes that the searches ask for."""
    wanted: Pairs = {}
    for agent, each in steps.items():
        for step in each.values():
            if isinstance(step, int):
                wanted.setdefault(step, set()).add(agent)
    return wanted


def _beside(
    question: Question, steps: Mapping[str, Mapping[str, int | Found]], looked: Mapping[str, Mapping[int, Looked]]
) -> Pairs:
    """Choose who is still to be looked at where the best agent has enough: there all of them are compared."""
    best = _best(step.size for each in steps.values() if isinstance(step := each["size"], Found))
    missing = {agent for agent in steps if best is not None and best not in looked[agent]}
    return {best: missing} if best is not None and missing else {}


def _best(sizes: Iterable[int | None]) -> int | None:
    return min((size for size in sizes if size is not None), default=None)


class _Runs:
    """Runs agents at sizes. `looked` has what each came to at each size, `failed` the first error of those that fail.

    An agent of which a run fails is looked at no further.
    """

    def __init__(self, question: Question, folder: Path, jobs: int | None, finished: Callable[[Row], None]) -> None:
        self.folder, self.failed = folder, dict[str, str]()
        self._question, self._jobs, self._finished = question, jobs, finished
        self._pairs: Pairs = {}
        # Agents that are the same under two labels are run, and answered for, once.
        labels = dict.fromkeys(run.agent.label for run in plan(question.at((question.begin,))))
        self.looked: dict[str, dict[int, Looked]] = {agent: {} for agent in labels}

    def look(self, pairs: Pairs) -> list[Row]:
        """Run these pairs on all seeds; returns what each came to."""
        for size, agents in pairs.items():
            self._pairs.setdefault(size, set()).update(agents)
        rows: dict[tuple[str, int], list[Row]] = {}

        def note(row: Row) -> None:
            rows.setdefault((row["agent"], row[self._question.key]), []).append(row)
            self._finished(row)

        self._batch(pairs).run(jobs=self._jobs, finished=note)
        return [
            self._note(agent, size, rows[agent, size])
            for size in sorted(pairs)
            for agent in self.looked
            if agent in pairs[size]
        ]

    def all(self) -> Results:
        """Write the table of all that was run, and return it."""
        return self._batch(self._pairs).run(jobs=self._jobs)

    def _batch(self, pairs: Pairs) -> Batch:
        batch = Batch(self._question.at(tuple(sorted(pairs))), self.folder, alone=True)
        batch.runs = [run for run in batch.runs if run.agent.label in pairs[run.point[self._question.key]]]
        return batch

    def _note(self, agent: str, size: int, rows: Sequence[Row]) -> Row:
        """Average the rows of an agent at a size."""
        target = self._question.target
        said: Row = {"agent": agent, "size": size, "metric": target.metric.name}
        if failed := next((row for row in rows if row["status"] != "done"), None):
            self.failed.setdefault(agent, failed["error"])
            return said | {"failed": failed["error"]}
        values = [row.get(target.metric.name) for row in rows]
        if any(value is None or isnan(value) for value in values):
            problem = f"{agent} has runs without {target.metric.name} at {size} servers"
            remedy = "Take a metric that every run of this scenario has, such as acceptance."
            raise UserError(problem, key="until", value=self._question.until, remedy=remedy)
        looked = Looked.of(np.array(values, float), random=any(row.get("random", True) for row in rows))
        self.looked[agent][size] = looked
        return said | {"mean": looked.mean, "half": looked.half, "enough": target.met(looked.mean)}


def _never(question: Question, runs: _Runs) -> UserError:
    """Say that no agent has enough with as many servers as there may be."""
    if len(runs.failed) == len(runs.looked):
        agent, error = next(iter(runs.failed.items()))
        return UserError(f"no agent's runs finished: {error.strip()}", key=agent)
    target, most = question.target, question.most
    means = {agent: looked[most].mean for agent, looked in runs.looked.items() if most in looked}
    agent = max(means, key=lambda one: target.sign * means[one])
    fewest = min(runs.looked[agent])
    before = runs.looked[agent][fewest].mean
    remedy = "Lower the target, or look further with --most."
    if target.sign * (before - means[agent]) > 0:
        remedy = f"More servers lead away from it: with {fewest} it is {_value(target, before)}. Turn the sign round."
    problem = f"no agent meets this with {most} servers; {agent} is nearest, with {_value(target, means[agent])}"
    return UserError(problem, key="until", value=question.until, remedy=remedy)


def _value(target: Target, mean: float) -> str:
    return f"{target.metric.exactly(mean)}{' %' if target.metric.unit == '%' else ''}"


def _frame(question: Question, answers: Mapping[str, Row], runs: _Runs, results: Results) -> pl.DataFrame:
    """Lay the answers out, a row per agent."""
    best = _best(answer["size"] for answer in answers.values())
    assert best is not None
    told = _told(question, answers, best, results)
    rows = []
    for agent, looked in runs.looked.items():
        answer = answers.get(agent, dict.fromkeys(ENDS))
        found = answer["size"]
        at = looked.get(question.most if found is None else found)
        half = at.half if at and isfinite(at.half) else None
        rows.append(
            {
                "agent": agent,
                **answer,
                "mean": at and at.mean,
                "mean_low": None if at is None or half is None else at.mean - half,
                "mean_high": None if at is None or half is None else at.mean + half,
                "more": None if found is None else found - best,
                "verdict": FAILED if agent in runs.failed else BEST if found == best else told.get(agent),
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
    floats = dict.fromkeys(("mean", "mean_low", "mean_high", "target"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides={**schema, **floats, "verdict": pl.String})


def _told(question: Question, answers: Mapping[str, Row], best: int, results: Results) -> dict[str, str | None]:
    """Tell which agents the seeds tell from the best one, all of them with as many servers as it needs."""
    there = copy(results)
    there.runs = results.runs.filter((pl.col(question.key) == best) & pl.col("agent").is_in(list(answers)))
    first = next(agent for agent, answer in answers.items() if answer["size"] == best)
    frame = Differences(there, first, [question.target.metric.name]).frame
    words = {SAME: NOT_TOLD, EQUAL: NOT_TOLD, UNTESTED: None, None: None}
    return {agent: words.get(verdict, TOLD) for agent, verdict in frame.select("agent", "verdict").rows()}
