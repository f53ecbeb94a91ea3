"""The tables of docs/experiments/cvd.md: python -m benchmarks.cvd table-2 [--seeds N] [--runs N] [--agents A,B] ...

How much longer every agent's schedule is than that of Best-Fit and of `internal` in scenarios/cvd/NAME.yaml, on the
same seeds, as Markdown: ratios of means with 95 % intervals. Two rows are not agents: the longest of all agents of the
table for every seed, and the bound by volume. So is what `--knowing AGENT` adds: an agent that errs about nothing to
come. It takes seconds of CPU a seed.

Lengths come from replays: all agents of a seed play on from one warm start, as `binwright run` would have them do, in
a tenth of the time. Allocation and income are those of full runs, of `--runs` seeds, which are kept in `--out`. So are
the lengths of clusters that grow.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import isfinite
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from agents.learned.hindsight.lessons import places_of
from analysis.compare.statistics import mean_interval
from analysis.measure.bounds import scheduled_bound
from fabric.compiled.numa_replay import Replay
from fabric.compiled.numa_run import CompiledSimulation
from scenarios.batch.batch import Batch
from scenarios.build.engines import agents_of
from scenarios.build.plan import Run, plan
from scenarios.build.world import build_agent, build_world
from scenarios.run.execute import cache_of, warmed_up
from scenarios.schema.load import load_scenario
from scenarios.schema.scenario import Scenario
from simcore.cores import usable_cpus
from simcore.errors import UserError, suggest
from simcore.rng import stream
from simcore.vocabulary import Compiled, Floats

BASES = ("best-fit", "internal")
WARM = "warm_start.until"
BEST, BOUND = "longest of these, by seed", "bound by volume"


def table_of(runs: pl.DataFrame, metric: str) -> dict[str, Floats]:
    """By agent, float64 [warm starts, seeds]; only seeds with which no run failed."""
    points = sorted(runs[WARM].unique().to_list()) if WARM in runs.columns else [None]
    done = runs.filter(pl.col("status") == "done")
    agents = runs["agent"].unique(maintain_order=True).to_list()
    counts = done.group_by("seed").len().filter(pl.col("len") == len(points) * len(agents))["seed"]
    kept = done.filter(pl.col("seed").is_in(counts.implode())).sort("seed", *([WARM] if WARM in runs.columns else []))
    return {
        agent: kept.filter(pl.col("agent") == agent)[metric].to_numpy().astype(np.float64).reshape(-1, len(points)).T
        for agent in agents
    }


def ratio(values: Floats, base: Floats) -> tuple[float, float]:
    """Of the means, less one, and half of its 95 % interval (delta method, Student's t, seeds paired); [seeds] each."""
    found = values.mean() / base.mean()
    return found - 1, mean_interval(values - found * base)[1] / base.mean()


def log_ratio(values: Floats, base: Floats) -> tuple[float, float]:
    """Average the logarithms of the ratios; returns half of the 95 % interval, too; [warm starts, seeds] each."""
    found: tuple[float, float] = mean_interval(
        (np.log(np.maximum(values, 1)) - np.log(np.maximum(base, 1))).mean(axis=0)
    )
    return found


def percent(value: float, half: float) -> str:
    """+1.23 ± 0.45 %, or +1.23 % where one seed gives no interval."""
    return f"{points(value, half)} %"


def points(value: float, half: float) -> str:
    """+1.23 ± 0.45, of percentage points."""
    return f"{100 * value:+.2f}" + (f" ± {100 * half:.2f}" if isfinite(half) else "")


def lengths(runs: pl.DataFrame) -> list[list[str]]:
    """Make the rows of the table of scheduled lengths."""
    found = table_of(runs, "scheduled")
    names = [*found, BEST]
    found[BEST] = np.max(list(found.values()), axis=0)
    if "scheduled_bound" in runs.columns:
        found[BOUND] = next(iter(table_of(runs, "scheduled_bound").values()))
        names.append(BOUND)
    base = [found[name] for name in BASES]
    points = sorted(runs[WARM].unique().to_list()) if WARM in runs.columns else [None]
    warm = ["over Best-Fit" if point is None else f"warm start {point:.0%}" for point in points]
    rows = [["agent", *warm, "all", "all, over internal", "mean log ratio to internal"]]
    for name in names:
        values = found[name]
        cells = [percent(*ratio(*pair)) for pair in zip(values, base[0], strict=True)]
        cells.append(percent(*ratio(values.sum(axis=0), base[0].sum(axis=0))))
        if name == BASES[0]:
            cells = [f"{mean:,.0f}" for mean in [*values.mean(axis=1), values.mean()]]
        own = name == BASES[1]
        cells.append("" if own else percent(*ratio(values.sum(axis=0), base[1].sum(axis=0))))
        cells.append("" if own else percent(*log_ratio(values, base[1])))
        rows.append([name, *cells])
    return rows


def others(runs: pl.DataFrame) -> list[list[str]]:
    """Make the rows of the table of allocation and both readings of income, all warm starts together."""
    rows = [["agent", "cpu allocated, over time", "at the end", "less internal's"]]
    for head in ("income, earned so far", "income, booked"):
        rows[0] += [head, "over internal's"]
    over, end = (table_of(runs, name) for name in ("allocation_cpu", "allocation_cpu_end"))
    incomes = [table_of(runs, name) for name in ("income", "income_booked")]
    for name in over:
        less, half = mean_interval((end[name] - end[BASES[1]]).mean(axis=0))
        own = name == BASES[1]
        rows.append(
            [
                name,
                f"{100 * over[name].mean():.2f} %",
                f"{100 * end[name].mean():.2f} %",
                "" if own else points(less, half),
            ]
        )
        for income in incomes:
            rows[-1].append(f"{income[name].mean():,.1f}")
            rows[-1].append("" if own else percent(*ratio(income[name].sum(axis=0), income[BASES[1]].sum(axis=0))))
    return rows


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Write a table in Markdown; the first row is the head."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, f"|{' --- |' * len(rows[0])}", *body])


def foreseen(replay: Replay, rule: Compiled) -> int:
    """Count the requests placed if every place is tried with all that follows, answered by a rule, and the best taken.

    Of equals the rule's own is taken. Each place tried is a whole run, of which the longest counts.
    """
    reached, offer = replay.placed(rule), replay.follow(rule, 0)
    while offer is not None:
        own = rule.scan(offer.free, replay.capacity, tuple(offer.demand.tolist()), offer.spread, *rule.weights)
        codes = [own, *(code for code in places_of(offer, replay.capacity)[0] if code != own)]
        led = replay.tried(codes, rule) if own >= 0 else np.zeros(1, np.int64)
        reached = max(reached, int(led.max()))
        offer = replay.answer(codes[int(led.argmax())])
    return reached


def replayed(group: Sequence[Run], folder: Path, knowing: str | None = None) -> list[dict[str, Any]]:
    """Measure the lengths of all agents at one point with one seed, and the bound, as rows of `runs.parquet`.

    Another row is the agent labelled `knowing` if it knew what comes.
    """
    world = build_world(group[0].scenario, cache_of(folder))
    warm = agents_of(group[0], world)[1]
    simulation, _, _ = warmed_up(group[0], world, warm, True)
    assert isinstance(simulation, CompiledSimulation)
    bound = scheduled_bound(simulation, simulation.offered)
    replay, rows = Replay(simulation), []
    for run in group:
        agent = build_agent(run.agent)
        agent.start(simulation.view, stream(run.seed, "agent"))
        assert agent.compiled
        row = {"agent": run.agent.label, "seed": run.seed, **run.point, "status": "done"}
        rows.append({**row, "scheduled": replay.placed(agent.compiled), "scheduled_bound": bound})
        if run.agent.label == knowing:
            row["agent"] = f"{knowing}, knowing what comes"
            rows.append({**row, "scheduled": foreseen(replay, agent.compiled), "scheduled_bound": bound})
    return rows


def replays(scenario: Scenario, folder: Path, jobs: int | None, knowing: str | None) -> pl.DataFrame:
    """Of all seeds and points."""
    groups: dict[tuple[int, str], list[Run]] = {}
    for run in plan(scenario):
        groups.setdefault((run.seed, str(run.point)), []).append(run)
    ordered = [groups[key] for key in sorted(groups)]  # those of a seed share their requests
    with ProcessPoolExecutor(jobs or usable_cpus(), get_context("spawn")) as pool:
        found = list(
            pool.map(partial(replayed, folder=folder, knowing=knowing), ordered, chunksize=1 if knowing else 20)
        )
    return pl.DataFrame([row for rows in found for row in rows], infer_schema_length=None)


def asked_of(name: str, options: argparse.Namespace) -> Scenario:
    """Load the scenario, with those of its agents only that are asked for, and the bases."""
    scenario = load_scenario(f"cvd/{name}")
    known = [agent.label for agent in scenario.agents]
    wanted = known if options.agents is None else options.agents.split(",")
    asked = [("--agents", label) for label in wanted] + [("--knowing", label) for label in [options.knowing] if label]
    for key, label in asked:
        if label not in known:
            raise UserError(f"cvd/{name} has no such agent", key=key, value=label, remedy=suggest(label, known))
    if options.knowing and scenario.overflow != "stop":
        remedy = "Name a scenario of a cluster that stays as it is."
        raise UserError(f"cvd/{name} grows", key="--knowing", value=options.knowing, remedy=remedy)
    for key, count, least in (("--seeds", options.seeds, 1), ("--runs", options.runs, 0)):
        if count is not None and count < least:
            raise UserError("is too few", key=key, value=count, remedy=f"Give {least} or more.")
    agents = tuple(agent for agent in scenario.agents if agent.label in {*wanted, *BASES, options.knowing})
    return scenario.model_copy(update={"agents": agents})


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay and run, and print the tables; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="protocol-10, protocol-20, table-2 to table-4, ablation, trainings")
    parser.add_argument("--seeds", type=int, help="for the lengths; the scenario's replications if not given")
    parser.add_argument("--runs", type=int, default=20, help="seeds for allocation and income; 0 leaves them out")
    parser.add_argument("--agents", help="only these of the scenario's, by label, with commas between")
    parser.add_argument(
        "--knowing", metavar="AGENT", help="also this agent, which remembers nothing, as if it knew what comes"
    )
    parser.add_argument("--jobs", type=int, help="processes (default: one per CPU)")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args(arguments)
    try:
        for name, scenario in [(name, asked_of(name, options)) for name in options.names]:
            tables(name, scenario, options)
    except UserError as error:
        print(f"binwright: {error}", file=sys.stderr)
        return 2
    return 0


def tables(name: str, scenario: Scenario, options: argparse.Namespace) -> None:
    """Print the tables of a scenario."""
    seeds, folder = options.seeds or scenario.replications, options.out / scenario.name
    grows = scenario.overflow != "stop"
    print(f"\n{name}: {scenario.description}", flush=True)
    if not grows:
        lasting = replays(scenario.model_copy(update={"replications": seeds}), folder, options.jobs, options.knowing)
        print(f"\n{counted(seeds)}.\n\n{markdown(lengths(lasting))}", flush=True)
    if count := seeds if grows else min(seeds, options.runs):
        some = scenario.model_copy(update={"replications": count})
        runs = Batch(some, folder).run(jobs=options.jobs).runs
        print(f"\n{counted(count)}.\n")
        print(*([markdown(lengths(runs))] if grows else []), markdown(others(runs)), sep="\n\n", flush=True)


def counted(seeds: int) -> str:
    """1 seed, 20 seeds."""
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


if __name__ == "__main__":
    sys.exit(main())
