"""Finding for every agent the cheapest mix of kinds of servers with which a metric meets a target, with an interval.

A mix is enough for an agent when the mean of the metric over the seeds meets the target, and no request is larger than
all of its servers that is not larger than all servers where every kind is there: what nobody is asked for would
otherwise count as served.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from math import isfinite
from operator import and_
from pathlib import Path
from typing import Any, Self

import polars as pl

from binwright.analysis.measure.condition import Target, target_of
from binwright.analysis.results_api import Results
from binwright.scenarios.batch.backends import held
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.load import folder_for
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.size import Size, groups_of, metrics_of, prices_of
from binwright.scenarios.schema.sweep import Sweep
from binwright.scenarios.size.evaluate import (
    BEST,
    ENDS,
    FAILED,
    Looked,
    Row,
    Runs,
    SizeFound,
    answers_in,
    enough,
    measured,
    next_size,
    searched,
    told_apart,
)
from binwright.scenarios.size.mixes import Market, Mix, next_mix, to_come
from binwright.scenarios.size.sizing import LARGEST, TIMES, never, refuse
from binwright.simcore.errors import UserError
from binwright.simcore.files import write_text

TABLE = "mixes.csv"


@dataclass(frozen=True, slots=True)
class MixQuestion:
    """A scenario, and what is looked for in it: how many servers of each of `kinds`, which `keys` say, are cheapest.

    `until` is the target as it was written.
    """

    scenario: Scenario
    until: str
    target: Target
    kinds: tuple[str, ...]
    keys: tuple[str, ...]
    market: Market

    @classmethod
    def of(cls, scenario: Scenario, until: str | None, mix: str | Mapping[str, float] | None, most: int | None) -> Self:
        """Read it from a scenario's `size`, of which what is not None takes the place; refuse what has no answer."""
        own = scenario.size or Size()
        until, mix, most = (
            own.until if until is None else until,
            own.mix if mix is None else mix,
            own.most if most is None else most,
        )
        assert mix is not None
        groups = groups_of(scenario.cluster)
        prices = prices_of(scenario.costs, groups, mix)
        target = target_of(until, metrics_of(scenario.cluster, scenario.metrics, scenario.currency))
        refuse(scenario, target)
        if scenario.cluster.failures.scheduled:
            remedy = "Take `scheduled` out, or size one kind with --kind."
            raise UserError(
                "servers fail by number, and a mix may not have them", key="cluster.failures", remedy=remedy
            )
        there = [groups[kind][1] for kind in prices]
        if most is not None and not 1 <= most <= LARGEST:
            raise UserError("is no number of servers to look for", key="most", value=most, remedy="Give 1 or more.")
        limits = tuple(most or min(LARGEST, TIMES * max(1, count)) for count in there)
        begin = tuple(min(max(1, count), limit) for count, limit in zip(there, limits, strict=True))
        asked = Size(until=until, mix=dict(prices), most=most)
        changed = scenario.model_copy(update={"record": (), "train": None, "size": asked})
        market = Market(tuple(Fraction(repr(price)) for price in prices.values()), limits, begin)
        keys = tuple(groups[kind][0] for kind in prices)
        return cls(changed, until, target, tuple(prices), keys, market)

    @property
    def begin(self) -> Mix:
        """The mix that is looked at first, in which every kind is there."""
        return self.market.begin

    @property
    def key(self) -> str:
        """What is looked for, in words."""
        return " + ".join(self.kinds)

    @property
    def most(self) -> Mix:
        return self.market.most

    def mix(self, number: int, count: int) -> Mix:
        """So many servers of one kind, and none of the others."""
        return tuple(count if one == number else 0 for one in range(len(self.kinds)))

    def at(self, sizes: tuple[Mix, ...]) -> Scenario:
        """Return the scenario as a sweep over these mixes."""
        columns = dict(zip(self.keys, zip(*sizes, strict=True), strict=True))
        return self.scenario.model_copy(update={"sweep": Sweep(zip=columns)})

    def size_at(self, point: Mapping[str, Any]) -> Mix:
        """Read the mix at a point, or in a run's row."""
        return tuple(point[key] for key in self.keys)

    def said(self, size: Mix) -> str:
        """Say a mix in words."""
        return ", ".join(f"{count} {kind}" for count, kind in zip(size, self.kinds, strict=True))


@dataclass(frozen=True, slots=True)
class Mixed:
    """The answer. `frame` is mixes.csv, a row per agent; `results` are all runs, a sweep over the mixes looked at."""

    question: MixQuestion
    frame: pl.DataFrame
    results: Results


def size_mix(
    scenario: Scenario,
    *,
    mix: str | Mapping[str, float],
    until: str | None = None,
    most: int | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    on_progress: Callable[[Row], None] = lambda row: None,
    finished: Callable[[Row], None] = lambda row: None,
) -> Mixed:
    """Find for every agent the cheapest mix of groups of servers with which a metric meets a target.

    `mix` is the price of a server of each kind, `{"small": 0.3, "large": 1}`, or `"costs"` for those of the scenario's
    `costs` (default: what its `size` says); groups that are not named stay as they are. `most` is how many servers of
    a kind it may come to. The rest is as in `size`; `out` gets mixes.csv.
    """
    question = MixQuestion.of(scenario, until, mix, most)
    folder = folder_for(question.scenario, out, "size")
    check_scenario(question.at((question.begin,)), folder)
    runs = Runs(question, folder, jobs, finished)
    with held("local", jobs):
        say = partial(_in_words, question, on_progress)
        find = partial(_best, question)
        steps = searched(runs, partial(_steps, question), find, partial(_left, question), say)
        best = find(steps)
        if best is None:
            runs.look({question.most: set(steps)})
            raise never(question, runs)
    results = runs.all()
    frame = _frame(question, steps, runs, results, best)
    write_text(runs.folder / TABLE, frame.write_csv())
    return Mixed(question, frame, results)


def _in_words(question: MixQuestion, on_progress: Callable[[Row], None], row: Row) -> None:
    on_progress({**row, "size": question.said(row["size"])})


def _steps(question: MixQuestion, looked: Mapping[Mix, Looked]) -> dict[str, Mix | SizeFound[Mix]]:
    """Say for each end of an agent's answer, and for each kind alone, which mix to look at next, or what it is."""
    market = question.market
    known = _enough(question, looked, 0)
    steps: dict[str, Mix | SizeFound[Mix]] = {"size": next_mix(known, market)}
    if any(not isfinite(one.half) for one in looked.values()):  # one seed tells nothing of an interval
        steps |= {"low": SizeFound(None), "high": SizeFound(None)}
    elif isinstance(found := steps["size"], SizeFound):  # what is known from that search spares the others most looks
        steps |= {end: next_mix(_enough(question, looked, ENDS[end]), market, found.size) for end in ("low", "high")}
    for number, kind in enumerate(question.kinds):
        steps[f"only {kind}"] = _alone(question, looked, known, number)
    return steps


def _left(question: MixQuestion, looked: Mapping[Mix, Looked], steps: Mapping[str, Mix | SizeFound[Mix]]) -> int:
    """Guess at how many mixes an agent is looked at yet; an interval is searched when the answer is known."""
    ends = ["size"] if not isinstance(steps["size"], SizeFound) else ["low", "high"]
    open_ends = [ENDS[end] for end in ends if not isinstance(steps.get(end), SizeFound)]
    found = [to_come(_enough(question, looked, halves), question.market) for halves in open_ends]
    return max(sum(found), sum(not isinstance(step, SizeFound) for step in steps.values()))


def _alone(
    question: MixQuestion, looked: Mapping[Mix, Looked], known: Mapping[Mix, bool], number: int
) -> Mix | SizeFound[Mix]:
    """Say the same for a cluster of one kind, which may have no room for some requests however large it is."""
    if question.begin not in looked:  # what is impossible anyway is not known yet
        return question.begin
    found = {mix[number]: enough for mix, enough in known.items() if not any(mix[:number] + mix[number + 1 :])}
    lost = looked[question.begin].impossible
    if any(looked[question.mix(number, count)].impossible > lost for count in found):
        return SizeFound(None)
    step = next_size(found, 1, question.most[number], question.begin[number])
    if isinstance(step, SizeFound):
        return SizeFound(None if step.size is None else question.mix(number, step.size))
    return question.mix(number, step)


def _enough(question: MixQuestion, looked: Mapping[Mix, Looked], halves: int) -> dict[Mix, bool]:
    """Tell which mixes are enough: they meet the target, and have room for all that some server could hold."""
    least = looked[question.begin].impossible if question.begin in looked else 0
    found = enough(question.target, looked, halves)
    return {mix: met and looked[mix].impossible <= least for mix, met in found.items()}


def _best(question: MixQuestion, steps: Mapping[str, Mapping[str, Mix | SizeFound[Mix]]]) -> Mix | None:
    """Find the cheapest answer of all agents."""
    return min(answers_in(steps), key=question.market.rank, default=None)


def _frame(
    question: MixQuestion,
    steps: Mapping[str, Mapping[str, Mix | SizeFound[Mix]]],
    runs: Runs,
    results: Results,
    best: Mix,
) -> pl.DataFrame:
    """Lay the answers out, a row per agent."""
    cost = question.market.cost
    here = reduce(and_, (pl.col(key) == count for key, count in zip(question.keys, best, strict=True)))
    first = next(agent for agent, each in steps.items() if each["size"] == SizeFound(best))
    told = told_apart(question, results, here, list(steps), first)
    rows = []
    for agent, looked in runs.looked.items():
        found = {end: step.size for end, step in steps.get(agent, {}).items() if isinstance(step, SizeFound)}
        mix = found.get("size")
        at = looked[mix] if mix else None
        rows.append(
            {
                "agent": agent,
                **dict(zip(question.kinds, mix or [None] * len(question.kinds), strict=True)),
                "cost": float(cost(mix)) if mix else None,
                **{f"cost_{end}": float(cost(one)) if (one := found.get(end)) else None for end in ("low", "high")},
                "more": float(cost(mix) - cost(best)) if mix else None,
                **{
                    f"cost_only_{kind}": float(cost(one)) if (one := found.get(f"only {kind}")) else None
                    for kind in question.kinds
                },
                **measured(question.target.metric, at),
                "verdict": FAILED if agent in runs.failed else BEST if mix == best else told.get(agent),
                "until": question.until,
                "metric": question.target.metric.name,
                "relation": question.target.relation,
                "target": question.target.value,
                "prices": ", ".join(
                    f"{k} {float(p):g}" for k, p in zip(question.kinds, question.market.prices, strict=True)
                )
                + (f" {question.scenario.currency}" if question.scenario.currency else ""),
                "seeds": question.scenario.replications,
            }
        )
    counts = dict.fromkeys(question.kinds, pl.Int64)
    floats = [name for name in rows[0] if name.startswith(("cost", "mean"))] + ["more", "spent", "energy", "target"]
    return pl.DataFrame(rows, schema_overrides={**counts, **dict.fromkeys(floats, pl.Float64), "verdict": pl.String})
