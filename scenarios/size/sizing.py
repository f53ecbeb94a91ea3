"""Finding for every agent the smallest cluster with which a metric meets a target, with an interval.

A size is enough for an agent when the mean of the metric over the seeds meets the target. All agents and all sizes meet
the same seeds. The ends of the interval are the sizes that are enough when each mean is taken at the one or the other
end of its own 95 % interval: three searches that share their runs.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import isfinite, isnan
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import polars as pl

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.compare.groups import EQUAL, SAME, UNTESTED
from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.measure.metric import Target, targets_of
from binwright.analysis.results_api import Results
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.cluster import ratios_of
from binwright.scenarios.build.plan import plan
from binwright.scenarios.features.feature import way
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.load import Override, folder_for, load_to_run, loaded
from binwright.scenarios.schema.scenario import Scenario, Size, Sweep, place_of
from binwright.simcore.errors import UserError
from binwright.simcore.files import write_text
from binwright.simcore.units import many_of

TABLE = "sizes.csv"
LARGEST = 100_000_000
TIMES = 100
"""So many times the servers that there are is the most that is looked at, unless it is said."""
AHEAD, SHARE = 3, 20
"""So many sizes above an answer are looked at, too; a twentieth of it where that is more."""
ENDS = {"size": 0, "low": 1, "high": -1}
"""Which of its interval a mean is taken at, in half widths towards the target, for each column of the answer."""
BEST, SIGNIFICANT, NOT_SIGNIFICANT, FAILED = "best", "significant", "not significant", "failed"
Row: TypeAlias = dict[str, Any]
Pairs: TypeAlias = dict[int, set[str]]
"""Sizes, and the agents that are looked at there."""


def next_size(known: Mapping[int, bool], least: int, most: int, begin: int) -> int | None:
    """Return which size to look at next, None at the end, where `known` says of sizes whether they are enough.

    The answer is then one more than the largest size that is known not to be enough. Above it, the next `ahead` sizes
    are enough, too; if one is not, the search goes on above that one. So it is the exhaustive answer wherever no more
    than that many sizes in a row are enough between two that are not.
    """
    low = max((size for size, enough in known.items() if not enough), default=least - 1)
    if low >= most:
        return None
    high = answer_of(known, least)
    if high is None:
        return max(least, min(most, max(begin, 2 * low, low + 1) if known else begin))
    if high - low > 1:
        return (low + high) // 2
    return next((size for size in range(high + 1, min(most, high + ahead(high)) + 1) if size not in known), None)


def answer_of(known: Mapping[int, bool], least: int) -> int | None:
    """Return the smallest size from which on all that are known are enough, None where not even the largest is."""
    low = max((size for size, enough in known.items() if not enough), default=least - 1)
    return min((size for size, enough in known.items() if enough and size > low), default=None)


def ahead(size: int) -> int:
    """Count the sizes above this one that are looked at before it is the answer."""
    return max(AHEAD, size // SHARE)


@dataclass(frozen=True, slots=True)
class Sized:
    """The answer. `frame` is sizes.csv, a row per agent; `results` are all runs, a sweep over the sizes looked at."""

    question: "Question"
    frame: pl.DataFrame
    results: Results


def size(
    scenario: str | Path | Scenario,
    *overrides: Override,
    until: str | None = None,
    most: int | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    finished: Callable[[Row], None] = lambda row: None,
) -> Sized:
    """Find for every agent the smallest number of servers with which a metric meets a target.

    `until` is the target (default: the scenario's `size`, or `"acceptance >= 99 %"`), or several with ` and ` between,
    `most` how many servers it may come to. The scenario has no sweep. `out` (default `results/<name>/size`) gets the
    runs, which are ordinary results, and sizes.csv; the same call goes on there. `finished` is called with the row of
    every run.
    """
    scenario = loaded(scenario, overrides, load_to_run)
    folder, question = folder_for(scenario, out, "size"), Question.of(scenario, until, most)
    if scenario.sweep.product or scenario.sweep.zip:
        remedy = "Size one point: sweep=null, and set what was swept."
        raise UserError("the scenario has several points", key="sweep", remedy=remedy)
    near = (question.begin, question.begin + 1, question.begin - 1)
    # two sizes, where there are two: an agent may be for the first one only
    check_scenario(question.at([each for each in near if question.least <= each <= question.most][:2]))
    runs = Runs(question, folder, jobs, finished)
    runs.search()
    if not any(runs.sizes.values()):
        raise runs.never()
    return runs.answer()


@dataclass(frozen=True, slots=True)
class Looked:
    """What an agent came to at a size: of the metric of each target the mean over the seeds, and half its interval.

    The half width is 0 where nothing was drawn, and infinite of one seed. `lost` requests ran already at the start and
    got no place.
    """

    means: tuple[tuple[float, float], ...]
    lost: int

    def enough(self, targets: Sequence[Target], halves: int) -> bool:
        """Tell whether it meets all targets with means moved so many half widths; nothing may be lost in any case."""
        return not self.lost and all(
            target.met(mean + target.sign * halves * half if halves else mean)
            for target, (mean, half) in zip(targets, self.means, strict=True)
        )


class Runs:
    """Runs agents at sizes. `looked` has what each came to at each size, `failed` the first error of those that fail.

    An agent of which a run fails is looked at no further. `impossible` is the share of requests larger than any server.
    """

    def __init__(self, question: "Question", folder: Path, jobs: int | None, finished: Callable[[Row], None]) -> None:
        self.folder, self.failed, self.impossible = folder, dict[str, str](), 0.0
        self._question, self._jobs, self._finished = question, jobs, finished
        self._pairs: Pairs = {}
        # Agents that are the same under two labels are run, and answered for, once.
        labels = dict.fromkeys(run.agent.label for run in plan(question.at([question.begin])))
        self.looked: dict[str, dict[int, Looked]] = {agent: {} for agent in labels}

    def search(self) -> None:
        """Look at sizes until all searches have ended.

        Where the agent that needs the fewest has enough, all of them are looked at, to be compared.
        """
        question = self._question
        while True:
            wanted: Pairs = {}
            for agent in self.looked:
                for known in self._known(agent).values() if agent not in self.failed else ():
                    if (step := next_size(known, question.least, question.most, question.begin)) is not None:
                        wanted.setdefault(step, set()).add(agent)
            if not wanted and (sizes := [size for size in self.sizes.values() if size is not None]):
                best = min(sizes)
                if missing := {agent for agent in self.sizes if best not in self.looked[agent]}:
                    wanted[best] = missing
            if not wanted:
                return
            self.look(wanted)

    def _known(self, agent: str) -> dict[str, dict[int, bool]]:
        """Tell for each end of an agent's answer which sizes are enough; one seed has no interval."""
        looked, targets = self.looked[agent], self._question.targets
        single = any(not isfinite(half) for each in looked.values() for _, half in each.means)
        return {
            end: {size: each.enough(targets, halves) for size, each in looked.items()}
            for end, halves in ENDS.items()
            if not (single and halves)
        }

    @property
    def sizes(self) -> dict[str, int | None]:
        """The answer of each agent that has not failed, as far as it was found."""
        return {agent: self._ends(agent)["size"] for agent in self.looked if agent not in self.failed}

    def _ends(self, agent: str) -> dict[str, int | None]:
        """Return an agent's answer and its ends, as far as they were found."""
        known = self._known(agent)
        return {end: answer_of(known[end], self._question.least) if end in known else None for end in ENDS}

    def look(self, pairs: Pairs) -> None:
        """Run these pairs on all seeds, and note what each came to."""
        for size, agents in pairs.items():
            self._pairs.setdefault(size, set()).update(agents)
        rows: dict[tuple[str, int], list[Row]] = {}

        def note(row: Row) -> None:
            rows.setdefault((row["agent"], int(row[self._question.key])), []).append(row)
            self._finished(row)

        self._batch(pairs).run(jobs=self._jobs, finished=note)
        for (agent, size), each in rows.items():
            self._note(agent, size, each)

    def _batch(self, pairs: Pairs) -> Batch:
        batch = Batch(self._question.at(sorted(pairs)), self.folder)
        batch.runs = [run for run in batch.runs if run.agent.label in pairs[int(run.point[self._question.key])]]
        return batch

    def _note(self, agent: str, size: int, rows: Sequence[Row]) -> None:
        """Average the rows of an agent at a size."""
        if failed := next((row for row in rows if row["status"] != "done"), None):
            self.failed.setdefault(agent, failed["error"])
            return
        self.impossible = max(row["impossible"] / max(row["offered"], 1) for row in rows)
        random, means = any(row.get("random", True) for row in rows), []
        for name in (target.metric.name for target in self._question.targets):
            values = [row.get(name) for row in rows]
            if any(value is None or isnan(value) for value in values):
                problem = f"{agent} has runs without {name} at {many_of(size, 'server')}"
                remedy = "Take a metric that every run of this scenario has, such as acceptance."
                raise UserError(problem, key="until", value=self._question.until, remedy=remedy)
            mean, half = mean_interval(np.array(values, float))
            means.append((float(mean), float(half) if random else 0.0))
        self.looked[agent][size] = Looked(tuple(means), sum(row["running_lost"] for row in rows))

    def answer(self) -> Sized:
        """Lay the answers out, a row per agent, and write them beside the table of all that was run."""
        question, results = self._question, self._batch(self._pairs).run()
        sizes = {agent: size for agent, size in self.sizes.items() if size is not None}
        best = min(sizes.values())
        verdicts = _significance(question, results, best, list(self.sizes), min(sizes, key=sizes.__getitem__))
        verdicts |= {agent: BEST for agent, size in sizes.items() if size == best}
        rows, target = [], question.target
        about: Row = {"until": question.until, "key": question.key, "metric": target.metric.name}
        about |= {"relation": target.relation, "target": target.value}
        about |= {"least": question.least, "most": question.most, "seeds": question.scenario.replications}
        for agent, looked in self.looked.items():
            each = dict.fromkeys(ENDS) if agent in self.failed else self._ends(agent)
            size = question.most if each["size"] is None else each["size"]
            row: Row = {"agent": agent, **each, **dict.fromkeys(("mean", "mean_low", "mean_high"))}
            if at := looked.get(size):
                mean, half = at.means[0]
                low, high = target.metric.ends(mean, half) if isfinite(half) else (None, None)
                row |= {"mean": mean, "mean_low": low, "mean_high": high}
            row |= _binding(question, results, agent, size)
            row["more"] = None if each["size"] is None else size - best
            row["verdict"] = FAILED if agent in self.failed else verdicts.get(agent)
            rows.append(row | about)
        schema: dict[str, Any] = dict.fromkeys(("size", "low", "high", "more"), pl.Int64)
        schema |= dict.fromkeys(("mean", "mean_low", "mean_high", "full", "target"), pl.Float64)
        frame = pl.DataFrame(rows, schema_overrides={**schema, "binds": pl.String, "verdict": pl.String})
        write_text(self.folder / TABLE, frame.write_csv())
        return Sized(question, frame, results)

    def never(self) -> UserError:
        """Say that no agent has enough with as many servers as there may be."""
        if len(self.failed) == len(self.looked):
            agent, error = next(iter(self.failed.items()))
            return UserError(f"no agent's runs finished: {error.strip()}", key=agent)
        remedy = "Lower the target, look further with `size: {most: N}`, or turn its sign round."
        if self.impossible:
            share = f"{100 * self.impossible:.2g} %"
            remedy += f" {share} of the requests are larger than any server: give larger ones for these."
        problem = f"no agent meets this with {many_of(self._question.most, 'server')}"
        return UserError(problem, key="until", value=self._question.until, remedy=remedy)


def _significance(
    question: "Question", results: Results, size: int, agents: Sequence[str], best: str
) -> dict[str, str | None]:
    """Tell which of these agents the seeds tell from the best one, all of them with the `size` that it needs."""
    of_sizes = copy(results)
    of_sizes.runs = results.runs.filter((pl.col(question.key) == size) & pl.col("agent").is_in(agents))
    frame = Comparison(of_sizes, best, [question.target.metric.name], all_pairs=True).frame
    words = {SAME: NOT_SIGNIFICANT, EQUAL: NOT_SIGNIFICANT, UNTESTED: None, None: None}
    return {agent: words.get(verdict, SIGNIFICANT) for agent, verdict in frame.select("agent", "verdict").rows()}


def _binding(question: "Question", results: Results, agent: str, size: int) -> Row:
    """Find the resource of which the largest share of what may be sold is allocated, with so many servers."""
    cluster = question.scenario.cluster
    runs = results.done.filter((pl.col("agent") == agent) & (pl.col(question.key) == size))
    shares = {}
    for name, ratio in zip(cluster.resources, ratios_of(cluster).tolist(), strict=True):
        if (column := f"allocation_{name}") in runs.columns and runs[column].count():
            shares[name] = float(runs[column].mean()) / ratio  # type: ignore[arg-type]  # a number
    binds = max(shares, key=lambda name: shares[name], default=None)
    return {"binds": binds, "full": None if binds is None else shares[binds]}


@dataclass(frozen=True, slots=True)
class Question:
    """A scenario, and what is looked for in it: the smallest value of `key`, from `least` to `most`.

    `begin` is the first that is looked at, `until` the targets as they were written.
    """

    scenario: Scenario
    until: str
    targets: tuple[Target, ...]
    key: str
    least: int
    begin: int
    most: int

    @classmethod
    def of(cls, scenario: Scenario, until: str | None, most: int | None) -> Self:
        """Read it from a scenario's `size`, of which what is not None takes the place; refuse what has no answer."""
        own = scenario.size or Size()
        until, most = own.until if until is None else until, own.most if most is None else most
        key, count = place_of(scenario.cluster, own.kind)
        targets = targets_of(until, scenario.described_metrics)
        _refuse(scenario, [each.metric.name for each in targets])
        least = _least(scenario, count)
        most = min(LARGEST, max(TIMES * count, least)) if most is None else most
        if not least <= most <= LARGEST:
            why = "; failures are scheduled of what fewer servers do not have" if least > 1 else ""
            remedy = f"Give {least} to {LARGEST:,}{why}."
            raise UserError("is no number of servers to look for", key="size.most", value=most, remedy=remedy)
        section = Size(until=until, kind=own.kind, most=most)
        changed = scenario.model_copy(update={"record": (), "train": None, "size": section})
        return cls(changed, until, targets, key, least, min(count, most), most)

    @property
    def target(self) -> Target:
        """The first of the targets."""
        return self.targets[0]

    def at(self, sizes: Sequence[int]) -> Scenario:
        """Return the scenario as a sweep over these sizes."""
        return self.scenario.model_copy(update={"sweep": Sweep(product={self.key: tuple(sizes)})})


def _least(scenario: Scenario, count: int) -> int:
    """Find the least number of servers: those and those domains that are to fail must be there."""
    cluster, failures = scenario.cluster, scenario.cluster.failures
    failing = [1, *(failure.server + 1 for failure in failures.scheduled)]
    for label, each in failures.domains.items():
        numbers = [int(planned.domain) for planned in each.scheduled if planned.domain.isdigit()]
        failing += [number * cluster.domains[label] + 1 for number in numbers if label in cluster.domains]
    return 1 if cluster.expansion else max(1, max(failing) - ((cluster.size or 0) - count))


def _refuse(scenario: Scenario, names: Sequence[str]) -> None:
    """Refuse what changes while runs go on, and what ends at the first refusal if refusals are the target."""
    if scenario.overflow == "stop" and (name := next((n for n in names if n in ("acceptance", "rejected")), None)):
        problem = f"a run ends at its first refusal, so that {name} says nothing about the servers"
        remedy = "Count on through refusals, overflow: drop, or ask how many are placed, until: scheduled >= 1000."
        raise UserError(problem, key="overflow", value="stop", remedy=remedy)
    if way(scenario.overflow, "expand"):
        problem = "servers are added while runs go on, which leaves nothing to size"
        raise UserError(problem, key="overflow", remedy="Write drop or wait, like overflow: drop.")
