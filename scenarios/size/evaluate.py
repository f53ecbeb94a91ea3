"""Looks at sizes of a cluster: runs agents there on all seeds, and keeps what each came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import isfinite, isnan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from binwright.analysis.compare.comparison import EQUAL, SAME, UNTESTED, Comparison
from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.measure.condition import Target
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results_api import Results
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.plan import plan
from binwright.simcore.errors import UserError
from binwright.simcore.types import Floats

if TYPE_CHECKING:
    from binwright.scenarios.size.sizing import Question

AHEAD, SHARE = 3, 20
"""So many sizes above an answer are looked at, too; a twentieth of it where that is more."""


@dataclass(frozen=True, slots=True)
class SizeFound:
    """The answer of a search: the smallest size from which on all are enough, or None where not even the most is."""

    size: int | None


def next_size(known: Mapping[int, bool], least: int, most: int, begin: int, *, sure: bool = True) -> int | SizeFound:
    """Say which size to look at next, or the answer, where `known` says of sizes whether they are enough.

    The answer is one more than the largest size that is known not to be enough. Above it, the next `ahead` sizes are
    enough, too; if one is not, the search goes on above that one. So it is the answer of `exhaustive` wherever no more
    than that many sizes in a row are enough between two that are not. Unless `sure`, nothing above it is looked at.
    """
    low = max((size for size, enough in known.items() if not enough), default=least - 1)
    if low >= most:
        return SizeFound(None)
    above = [size for size, enough in known.items() if enough and size > low]
    if not above:
        return max(least, min(most, max(begin, 2 * low, low + 1) if known else begin))
    high = min(above)
    if high - low > 1:
        return (low + high) // 2
    if not sure:
        return SizeFound(high)
    unknown = [size for size in range(high + 1, min(most, high + ahead(high)) + 1) if size not in known]
    return unknown[0] if unknown else SizeFound(high)


def to_come(known: Mapping[int, bool], least: int, most: int, begin: int) -> set[int]:
    """Guess which sizes a search still looks at: the answer is taken to lie in the middle of where it may."""
    known, found = dict(known), set[int]()
    low = max((size for size, enough in known.items() if not enough), default=least - 1)
    high = min((size for size, enough in known.items() if enough and size > low), default=max(2 * low, begin))
    while isinstance(step := next_size(known, least, most, begin), int):
        known[step] = step > (low + high) / 2
        found.add(step)
    return found


def ahead(size: int) -> int:
    """How many sizes above this one are looked at before it is the answer."""
    return max(AHEAD, size // SHARE)


Row: TypeAlias = dict[str, Any]
Pairs: TypeAlias = dict[int, set[str]]
"""Sizes, and the agents that are looked at there."""
ENDS = {"size": 0, "low": 1, "high": -1}
"""Which of its interval a mean is taken at, in half widths towards the target, for each column of the answer."""
BEST, TOLD, NOT_TOLD, FAILED = "best", "significant", "not significant", "failed"


@dataclass(frozen=True, slots=True)
class Looked:
    """What an agent came to at a size: the mean of the metric over the seeds, and half of its 95 % interval's width.

    The half width is 0 where nothing was drawn, and infinite of one seed. `impossible` requests of all seeds together
    were larger than any server, and count for nothing; `lost` ran already at the start and got no place. `spent` is the
    money per month and `energy` the kWh of a run, on average, where the scenario has costs. `others` are the means and
    half widths of the metrics of a target's others.
    """

    mean: float
    half: float
    impossible: int = 0
    lost: int = 0
    spent: float | None = None
    energy: float | None = None
    others: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(cls, values: Floats, *, random: bool, **more: Any) -> Looked:
        """Average the values of the seeds; `more` are the other fields."""
        mean, half = mean_interval(values)
        return cls(float(mean), float(half) if random else 0.0, **more)

    def ends(self, metric: Metric) -> tuple[float | None, float | None]:
        """Return the ends of the mean's interval; None where one seed has none."""
        if not isfinite(self.half):
            return None, None
        low, high = metric.ends(self.mean, self.half)
        return float(low), float(high)


class Runs:
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
            rows.setdefault((row["agent"], self._question.size_at(row)), []).append(row)
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
        batch.runs = [run for run in batch.runs if run.agent.label in pairs[self._question.size_at(run.point)]]
        return batch

    def _note(self, agent: str, size: int, rows: Sequence[Row]) -> Row:
        """Average the rows of an agent at a size."""
        target = self._question.target
        said: Row = {"agent": agent, "size": size, "metric": target.metric.name}
        if failed := next((row for row in rows if row["status"] != "done"), None):
            self.failed.setdefault(agent, failed["error"])
            return said | {"failed": failed["error"]}
        random = any(row.get("random", True) for row in rows)
        others = [Looked.of(self._values(agent, size, rows, one), random=random) for one in target.others]
        looked = Looked.of(
            self._values(agent, size, rows, target),
            random=random,
            others=tuple((one.mean, one.half) for one in others),
            impossible=sum(row["impossible"] for row in rows),
            lost=sum(row["running_lost"] for row in rows),
            spent=_average(rows, "cost_month"),
            energy=_average(rows, "energy"),
        )
        self.looked[agent][size] = looked
        is_enough = enough(target, {size: looked}, 0)[size]
        return said | {"mean": looked.mean, "half": looked.half, "lost": looked.lost, "enough": is_enough}

    def _values(self, agent: str, size: int, rows: Sequence[Row], target: Target) -> Floats:
        """Return what the rows say of the metric of a target, float64 [rows]."""
        values = [row.get(target.metric.name) for row in rows]
        if any(value is None or isnan(value) for value in values):
            problem = f"{agent} has runs without {target.metric.name} at {self._question.said(size)}"
            remedy = "Take a metric that every run of this scenario has, such as acceptance."
            raise UserError(problem, key="until", value=self._question.until, remedy=remedy)
        return np.array(values, float)


def searched(
    runs: Runs,
    step: Callable[[Mapping[int, Looked]], dict[str, int | SizeFound]],
    left: Callable[[Mapping[int, Looked]], int],
    on_progress: Callable[[Row], None],
) -> None:
    """Look at sizes until all searches have ended.

    `step` says for each search of an agent which size to look at next, or what it found, and `left` about how many
    looks are left. Where the agent that needs the fewest has enough, all of them are looked at, to be compared.
    """
    while True:
        steps = {agent: step(looked) for agent, looked in runs.looked.items() if agent not in runs.failed}
        wanted: Pairs = {}
        for agent, each in steps.items():
            for size in each.values():
                if not isinstance(size, SizeFound):
                    wanted.setdefault(size, set()).add(agent)
        if not wanted and (sizes := answers_in(steps)):
            missing = {agent for agent in steps if min(sizes) not in runs.looked[agent]}
            wanted = {min(sizes): missing} if missing else {}
        if not wanted:
            return
        to_come = sum(left(runs.looked[agent]) for agent in steps)
        for number, row in enumerate(runs.look(wanted), 1):
            on_progress({**row, "left": max(0, to_come - number)})


def answers_in(steps: Mapping[str, Mapping[str, int | SizeFound]]) -> list[int]:
    """List the sizes that agents need, as far as they are found."""
    found = [step.size for each in steps.values() if isinstance(step := each["size"], SizeFound)]
    return [size for size in found if size is not None]


def measured(metric: Metric, at: Looked | None) -> Row:
    """Write what an agent came to as columns of a table; None where it was not looked at."""
    low, high = at.ends(metric) if at else (None, None)
    means = {"mean": at and at.mean, "mean_low": low, "mean_high": high}
    return {**means, "spent": at and at.spent, "energy": at and at.energy}


def told_apart(
    question: Question, results: Results, size: int, agents: Sequence[str], best: str
) -> dict[str, str | None]:
    """Tell which of these agents the seeds tell from the best one, all of them with the `size` that it needs."""
    there = copy(results)
    there.runs = results.runs.filter((pl.col(question.key) == size) & pl.col("agent").is_in(agents))
    frame = Comparison(there, best, [question.target.metric.name], all_pairs=True).frame
    words = {SAME: NOT_TOLD, EQUAL: NOT_TOLD, UNTESTED: None, None: None}
    return {agent: words.get(verdict, TOLD) for agent, verdict in frame.select("agent", "verdict").rows()}


def _average(rows: Sequence[Row], name: str) -> float | None:
    """Average a metric that only some scenarios have."""
    values = [float(row[name]) for row in rows if row.get(name) is not None]
    return fmean(values) if len(values) == len(rows) else None


def enough(target: Target, looked: Mapping[int, Looked], halves: int) -> dict[int, bool]:
    """Tell of the sizes that were looked at whether they are enough, with means moved towards the target.

    What runs already when the requests begin must find a place in any case.
    """
    targets = (target, *target.others)
    return {
        size: not one.lost
        and all(
            each.met(mean + each.sign * halves * half if halves else mean)
            for each, (mean, half) in zip(targets, ((one.mean, one.half), *one.others), strict=True)
        )
        for size, one in looked.items()
    }
