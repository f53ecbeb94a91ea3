"""Where which rule wins: python -m benchmarks.regimes [REGIME...] [--seeds N] [--page docs/experiments/regimes.md].

How many requests every agent of regimes/* places before the first that fits nowhere, on the same seeds:
ratios of means with 95 % intervals, and p-values as `binwright compare` has them, corrected for all comparisons of two
agents in a regime. All agents of a seed are replayed on the same requests, as `binwright run` would have them do.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.cvd import in_points, markdown, ratio
from binwright.agents.learned.common.tensors import SHIPPED
from binwright.agents.world import World
from binwright.analysis.compare.family import Family
from binwright.analysis.compare.statistics import ALPHA, by_count, differences
from binwright.analysis.measure.measuring import describe
from binwright.analysis.results.columns import Groups
from binwright.fabric.compiled.numa_replay import Replay
from binwright.fabric.compiled.numa_run import CompiledSimulation
from binwright.scenarios.build.world import build_agent, build_world
from binwright.scenarios.schema.load import load_scenario
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.workload import Generated
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import suggest
from binwright.simcore.record import PLACED
from binwright.simcore.rng import stream
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Floats

REGIMES = (
    *("large", "large-light", "large-short", "large-light-short", "few", "few-light", "few-short", "few-light-short"),
    *("bursts", "shapes", "shapes-light", "shapes-short", "filling", "mixed"),
)
HEURISTICS = ("first-fit", "best-fit", "best-fit-loose", "worst-fit", "balance-fit", "dot-product", "internal")
TRAINED = ("value-es", "hindsight", "cvd-rl", "padrl")
"""Agents with weights learned on the requests of a regime."""
LENGTH, FEW_SEEDS, DROPPED = "scheduled", 100, 2000
"""What agents are judged by; seeds and requests with which other metrics are tried."""


class Found(NamedTuple):
    """Holds what one regime came to: `runs` as runs.parquet has them, and `tried`, the same with other metrics."""

    scenario: Scenario
    runs: pl.DataFrame
    tried: pl.DataFrame


def replayed(scenario: Scenario, seed: int) -> list[dict[str, Any]]:
    """Measure all agents with one seed, as rows of runs.parquet: until the first refusal."""
    world = build_world(scenario)
    simulation = CompiledSimulation(world.draw(seed), world.ledger(0), world.overflow)
    replay, rows = Replay(simulation), []
    for spec in scenario.agents:
        agent = build_agent(spec)
        agent.start(simulation.view, stream(seed, "agent"))
        assert agent.compiled
        placed, free = replay.placed(agent.compiled), simulation.state.free
        ended = placed < replay.requests
        used = 1 - free.sum(axis=(0, 1)) / simulation.state.capacity.sum(axis=(0, 1))
        row = {"agent": spec.label, "seed": seed, "status": "done", LENGTH: placed, "ended": ended}
        rows.append(row | dict(zip(("cpu", "mem"), used.tolist(), strict=True)))
    return rows


def dropping(scenario: Scenario, seed: int) -> list[dict[str, Any]]:
    """Measure the same agents where what fits nowhere is dropped: which share of the requests, and of their cpu."""
    world: World = build_world(scenario)
    simulation = CompiledSimulation(world.draw(seed), world.ledger(0), Overflow("drop"))
    replay, rows = Replay(simulation), []
    demand = simulation.workload.demand[:, 0]
    for spec in scenario.agents:
        agent = build_agent(spec)
        agent.start(simulation.view, stream(seed, "agent"))
        assert agent.compiled
        replay.placed(agent.compiled)
        there = simulation.record.outcome == PLACED
        shares = {"acceptance": there.mean(), "accepted cpu": demand[there].sum() / demand.sum()}
        rows.append({"agent": spec.label, "seed": seed, "status": "done", **shares})
    return rows


def measured(name: str, seeds: int | None, pool: ProcessPoolExecutor) -> Found:
    """Measure a regime, with the seeds of its scenario if no number is given."""
    scenario = load_scenario(f"regimes/{name}")
    first, count = scenario.seed, seeds or scenario.replications
    rows = pool.map(partial(replayed, scenario), range(first, first + count), chunksize=5)
    runs = pl.DataFrame([row for part in rows for row in part])
    few = [agent for agent in scenario.agents if agent.label in HEURISTICS or agent.label == "value-es"]
    assert isinstance(scenario.workload, Generated)
    workload = scenario.workload.model_copy(update={"requests": min(DROPPED, scenario.workload.requests)})
    shorter = scenario.model_copy(update={"agents": tuple(few), "workload": workload})
    tries = pool.map(partial(dropping, shorter), range(first, first + min(FEW_SEEDS, count)), chunksize=5)
    tried = pl.DataFrame([row for part in tries for row in part])
    return Found(scenario, runs, tried)


class Standing:
    """Says how agents stand in one regime: `lengths` float64 [agents, seeds], by label, and p-values of their pairs."""

    def __init__(self, runs: pl.DataFrame) -> None:
        groups = Groups(runs, [])
        [metric] = [one for one in describe(("cpu", "mem"), ()) if one.name == LENGTH]
        self._family = Family(groups, metric)
        self.labels: list[str] = groups.heads["agent"].to_list()
        self.lengths = groups.matrix(LENGTH)
        self.size = self._family.size
        self.best = max((one for one in HEURISTICS if one in self.labels), key=lambda one: self.of(one).mean())
        """The heuristic that places most."""

    def of(self, label: str) -> Floats:
        """Return the lengths of an agent."""
        found: Floats = self.lengths[self.labels.index(label)]
        return found

    def over(self, label: str, other: str) -> tuple[str, float]:
        """Write by how many % an agent lasts longer than another one, and return p, corrected for all comparisons."""
        at, base = self.labels.index(label), self.labels.index(other)
        p = float(self._family.beside(np.full(len(self.labels), base)).p[at])
        return in_points(*ratio(self.of(label), self.of(other))), p

    def largest(self, label: str) -> float:
        """Return the largest p of an agent beside every heuristic."""
        return max(self.over(label, one)[1] for one in HEURISTICS if one in self.labels)


def own(name: str, labels: Sequence[str], agent: str = TRAINED[0]) -> str | None:
    """Name the agent whose weights were learned on the requests of a regime, whatever the load and the lifetimes."""
    known = (f"{agent} of {name}", f"{agent} of {name.partition('-')[0]}")
    return next((one for one in known if one in labels), None)


def untrained(label: str | None, labels: Sequence[str]) -> str | None:
    """Name the agent with which that training began: on the same requests, whatever the load and the lifetimes."""
    return None if label is None else next(one for one in labels if one == f"{label}, untrained")


def said(p: float) -> str:
    """Write a p-value."""
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0") if p < 1 else "1"


def overview(found: dict[str, Found]) -> list[list[str]]:
    """Make the rows of the table of regimes: who wins among heuristics, and what learning adds."""
    rows = [["regime", "best-fit places", "cpu, mem in use then", "best heuristic"]]
    for agent in TRAINED:
        rows[0].append(f"`{agent}` of it; largest p")
    rows[0] += ["untrained", "shipped `value-es`"]
    for name, one in found.items():
        standing = Standing(one.runs)
        base = one.runs.filter(pl.col("agent") == "best-fit").select(LENGTH, "cpu", "mem").to_numpy().mean(axis=0)
        row = [f"`{name}`", f"{base[0]:,.0f}", f"{base[1]:.0%}, {base[2]:.0%}", standing.best]
        for agent in TRAINED:
            label = own(name, standing.labels, agent)
            beside = f"{standing.over(label, standing.best)[0]}; {said(standing.largest(label))}" if label else ""
            row.append(beside)
        others = untrained(own(name, standing.labels), standing.labels), "value-es"
        row += [standing.over(label, standing.best)[0] if label else "" for label in others]
        rows.append(row)
    return rows


def all_agents(found: dict[str, Found]) -> list[list[str]]:
    """Make the rows of a table of agents: over the best heuristic of each regime, with = where none can tell.

    Agents that learned in another regime are left out unless they are above that heuristic somewhere.
    """
    standings = {name: Standing(one.runs) for name, one in found.items()}
    labels = next(iter(standings.values())).labels
    rows = [["agent", *(f"`{name}`, over {one.best}" for name, one in standings.items())]]
    for label in labels:
        row = [label]
        for one in standings.values():
            if label == one.best:
                row.append(f"{one.of(label).mean():,.0f}")
                continue
            text, p = one.over(label, one.best)
            row.append(f"**{text}**" if p <= ALPHA and text.startswith("+") else text if p <= ALPHA else f"{text} =")
        here = [own(name, labels, agent) for name in found for agent in TRAINED]
        told = " of " not in label or label in here or any("**" in cell for cell in row)
        if told:
            rows.append(row)
    return rows


def needed(values: Floats) -> float:
    """Return the median over all pairs of agents of the seeds that tell them apart with a power of 80 %, p < .05."""
    pairs = [differences(values[a], values[b]) for a, b in combinations(range(len(values)), 2)]
    mean, deviation = by_count(np.array(pairs), lambda some: (some.mean(axis=1), some.std(axis=1, ddof=1)), 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        seeds = np.where(mean == 0, np.inf, 7.85 * (deviation / mean) ** 2)
    return float(np.median(seeds))


def metrics(found: dict[str, Found]) -> list[list[str]]:
    """Make the rows of the table of metrics: the fewer seeds one needs, the better it tells agents apart."""
    rows = [["regime", "requests until the first refusal", "accepted requests", "accepted cpu"]]
    for name, one in found.items():
        labels = one.tried["agent"].unique().to_list()
        parts = [
            (one.runs.filter(pl.col("agent").is_in(labels), pl.col("seed").is_in(one.tried["seed"].implode())), LENGTH)
        ]
        parts += [(one.tried, metric) for metric in ("acceptance", "accepted cpu")]
        rows.append([f"`{name}`", *(f"{needed(Groups(runs, []).matrix(metric)):,.0f}" for runs, metric in parts)])
    return rows


def trainings() -> list[list[str]]:
    """Make the rows of the table of what was learned in regimes, from the notes beside the weights."""
    rows = [["weights", "learned in", "iterations to what is kept", "CPU to there", "validation", "over"]]
    for file in sorted(SHIPPED.glob("*.json")):
        notes = json.loads(file.read_text())
        agent, _, name = file.stem.rpartition("-")
        if agent in TRAINED and name in REGIMES:
            [settings] = notes["terms"]["train"]["agent"].values()
            trained = notes["trained"]
            cells = [f"{trained['step']}", f"{trained['cpu_seconds']:.0f} s", f"{100 * trained['gain']:+.1f} %"]
            rows.append([f"`{agent}`: `{name}`", f"`regimes/{name}`", *cells, settings.get("against", "best-fit")])
    return rows


def page(found: dict[str, Found], seeds: int, *, whole: bool) -> str:
    """Write the page: what was measured, and all tables, if `whole` with every agent and training."""
    first = next(iter(found.values()))
    size = Standing(first.runs).size
    names = list(found)
    fours = [{name: found[name] for name in names[at : at + 4]} for at in range(0, len(names), 4)]
    tables = [all_agents(four) for four in fours]
    told = metrics(found)
    columns = [sorted(float(cell.replace(",", "")) for cell in column) for column in [*zip(*told[1:], strict=True)][1:]]
    spans = [f"{column[0]:,.0f} to {column[-1]:,.0f}" for column in columns]
    parts = [
        HEAD.format(agents=len(first.scenario.agents), seeds=f"{seeds:,}", family=f"{size:,}"),
        "## Where which rule wins",
        OVERVIEW,
        markdown(overview(found)),
        *(
            ["## All agents", ALL, *map(markdown, tables), "## What was learned", LEARNED, markdown(trainings())]
            if whole
            else []
        ),
        "## Which metric tells agents apart",
        METRICS.format(seeds=FEW_SEEDS, requests=f"{DROPPED:,}", spans=", ".join(spans)),
        *([markdown(told)] if whole else []),
    ]
    cut = {name: int((~one.runs["ended"]).sum()) for name, one in found.items()}
    if any(cut.values()):
        said = ", ".join(f"{count} in `{name}`" for name, count in cut.items() if count)
        parts.append(f"Runs that met no refusal within their requests, and count as they are: {said}.")
    return "\n\n".join(parts) + "\n"


HEAD = """# Regimes: where learning has something to learn

Which agent places most, under which load? {agents} agents meet fourteen loads on ten servers of two NUMA nodes, empty
at the start, until the first request that fits nowhere ([the
regimes](../guides/numa-learning.md#regimes)). The {seeds} seeds are new to every training and validation.

    python -m benchmarks.regimes --page docs/experiments/regimes.md

Values are ratios of means less one, in %, paired by seed, with 95 % intervals; p-values are Holm's for all {family}
comparisons in a regime."""
OVERVIEW = """`value-es`, `hindsight`, `cvd-rl` and `padrl` learned on the requests of the regime; those of `large` and
`shapes` also play other loads and lifetimes. *Untrained* is `value-es` where its training begins; *shipped* has the
weights `huawei-10`. Differences are to the best heuristic; behind the semicolon is the largest p beside any. Without
`--page` the command prints all agents and their trainings."""
ALL = """Differences to the heuristic that places most in the regime; its row has the number of requests. **Bold** is
above it; = is not significantly different from it (signed-rank test, p > .05). *random* takes any place that fits,
*random-in-top-5* and *-10* a candidate of `cvd-rl`."""
LEARNED = """The best validation was kept, so its gains are slightly too good
([trainings](numa-learning.md#regimes))."""
METRICS = """Seeds that tell two agents apart (median over all pairs of heuristics and `value-es`, power 80 %, p < .05,
from {seeds} seeds): by requests until the first refusal, or, of {requests} requests with refused ones dropped, by the
share of requests and of cpu accepted: {spans} in the regimes."""


def options_of(description: str | None, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read regimes, by default all, and how many seeds and processes; ends the program at mistakes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="REGIME", help="all if none is named")
    parser.add_argument("--seeds", type=int, help="by default as many as a published page has")
    parser.add_argument("--jobs", type=int, default=usable_cpus(), help="processes (default: one per CPU)")
    parser.add_argument("--page", type=Path, help="a file for the page, which is printed without it")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in REGIMES:
            parser.error(f"there is no regime {name!r}. {suggest(name, REGIMES)}")
    if options.seeds is not None and options.seeds < 2:
        parser.error(f"--seeds {options.seeds} is too few. Give 2 or more.")
    options.names = options.names or REGIMES
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Replay, and print or write the page; what is printed has all agents."""
    options, found = options_of(__doc__, arguments), {}
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        for name in options.names:
            found[name] = measured(name, options.seeds, pool)
            print(f"{name}: {len(found[name].runs):,} runs", file=sys.stderr, flush=True)
    text = page(found, options.seeds or next(iter(found.values())).scenario.replications, whole=not options.page)
    if options.page:
        options.page.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
