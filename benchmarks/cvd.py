"""The tables of docs/experiments/cvd.md: python -m benchmarks.cvd table2 [--seeds N] [--set KEY=VALUE] ...

How much longer every agent's schedule is than that of Best-Fit and of `internal` in cvd/NAME, on the
same seeds, as Markdown: ratios of means. On months drawn anew the seeds are independent, and have 95 % intervals. On
the month itself they are not: nearly all runs end on few days, so its intervals come from drawing these days again,
and beside them are medians and what becomes of the means when any one day is left out. Two rows are not agents: the
longest of all agents of the table for every seed, and the bound by volume.

Lengths come from replays: all agents of a seed play the same requests, as `binwright run` would have them do, in a
tenth of the time. Allocation and income are those of full runs, of `--runs` seeds, which are kept in `--out`. So are
the lengths of clusters that grow.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import isfinite
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from binwright.agents.world import World
from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.measure.metrics.requests import scheduled_bound
from binwright.fabric.compiled.numa_replay import Replay
from binwright.fabric.compiled.numa_run import CompiledSimulation
from binwright.reproduction.measures import ends_of, of_blocks
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.altered import Altered
from binwright.scenarios.build.engines import agents_of
from binwright.scenarios.build.plan import Run, plan, points
from binwright.scenarios.build.trace import TraceRequests
from binwright.scenarios.build.world import build_agent, build_world
from binwright.scenarios.run.execute import cache_of, prepare_run
from binwright.scenarios.schema.load import load_scenario
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats, Ints
from binwright.workloads.resampling import DAY

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


def percent(value: float, half: float) -> str:
    """+1.23 ± 0.45 %, or +1.23 % where one seed gives no interval."""
    return f"{in_points(value, half)} %"


def in_points(value: float, half: float) -> str:
    """+1.23 ± 0.45, of percentage points."""
    return f"{100 * value:+.2f}" + (f" ± {100 * half:.2f}" if isfinite(half) else "")


def cells_of(found: dict[str, Floats], base: str, days: Ints | None) -> dict[str, str]:
    """Say of each agent by how much it is longer; all warm starts and seeds in `found` count, [warm starts, seeds].

    With `days`, on which the runs of Best-Fit ended, the interval is that of other days drawn from these.
    """
    if days is None:
        return {name: percent(*ratio(values.sum(axis=0), found[base].sum(axis=0))) for name, values in found.items()}
    return {
        name: "{:+.2f} [{:+.2f}, {:+.2f}] %".format(*(100 * part for part in of_blocks(values, found[base], days)[:3]))
        for name, values in found.items()
    }


def lengths(runs: pl.DataFrame) -> list[list[str]]:
    """Make the rows of the table of scheduled lengths."""
    found = table_of(runs, "scheduled")
    days = table_of(runs, "day")[BASES[0]].astype(np.int64) if "day" in runs.columns else None
    names = [*found, BEST]
    found[BEST] = np.max(list(found.values()), axis=0)
    if "scheduled_bound" in runs.columns:
        found[BOUND] = next(iter(table_of(runs, "scheduled_bound").values()))
        names.append(BOUND)
    points = sorted(runs[WARM].unique().to_list()) if WARM in runs.columns else [None]
    warm = ["over Best-Fit" if point is None else f"warm start {point:.0%}" for point in points]
    rows = [["agent", *warm, "all", "all, over internal"]]
    one = [
        cells_of({name: values[[i]] for name, values in found.items()}, BASES[0], None if days is None else days[[i]])
        for i in range(len(points))
    ]
    every, over = (cells_of(found, base, days) for base in BASES)
    for name in names:
        cells = [*(column[name] for column in one), every[name]]
        if name == BASES[0]:
            cells = [f"{mean:,.0f}" for mean in [*found[name].mean(axis=1), found[name].mean()]]
        rows.append([name, *cells, "" if name == BASES[1] else over[name]])
    return rows


def few_days(runs: pl.DataFrame) -> list[list[str]]:
    """Make the rows of the table that says how much of a gain comes from how little, all warm starts together."""
    found, days = table_of(runs, "scheduled"), table_of(runs, "day")[BASES[0]].astype(np.int64)
    head = ["agent", "mean, over Best-Fit", "median", "without any one day", "over internal", "median", "without a day"]
    rows = [head]
    for name, values in found.items():
        cells = [name]
        for base in BASES:
            if name == base:
                cells += ["", "", ""]
                continue
            mean, low, high, least, most = (100 * part for part in of_blocks(values, found[base], days))
            cells.append(f"{mean:+.2f} [{low:+.2f}, {high:+.2f}] %")
            cells.append(f"{np.median(values - found[base]):+.0f}")
            cells.append(f"{least:+.2f} to {most:+.2f} %")
        rows.append(cells)
    return rows


def others(runs: pl.DataFrame) -> list[list[str]]:
    """Make the rows of the table of allocation and both readings of income, all warm starts together."""
    over_time = "cpu allocated, over time"
    rows = [["agent", over_time, "over decisions", "at the end", "less internal's"]]
    for head in ("income, earned so far", "income, booked"):
        rows[0] += [head, "over internal's"]
    looks = ("allocation_cpu", "allocation_cpu_decisions", "allocation_cpu_end")
    over, decided, end = (table_of(runs, name) for name in looks)
    incomes = [table_of(runs, name) for name in ("income", "income_booked")]
    for name in over:
        less, half = mean_interval((end[name] - end[BASES[1]]).mean(axis=0))
        own = name == BASES[1]
        rows.append(
            [
                name,
                f"{100 * over[name].mean():.2f} %",
                f"{100 * decided[name].mean():.2f} %",
                f"{100 * end[name].mean():.2f} %",
                "" if own else in_points(less, half),
            ]
        )
        for income in incomes:
            rows[-1].append(f"{income[name].mean():,.1f}")
            rows[-1].append("" if own else percent(*ratio(income[name].sum(axis=0), income[BASES[1]].sum(axis=0))))
    return rows


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Write a table in Markdown; the first row is the head."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, f"|{'---|' * len(rows[0])}", *body])


def replayed(group: Sequence[Run], folder: Path) -> list[dict[str, Any]]:
    """Measure the lengths of all agents at one point with one seed, and the bound, as rows of `runs.parquet`."""
    world = build_world(group[0].scenario, cache_of(folder))
    start, own = world.warm_start, world.warm_start is not None and world.warm_start.agent is None
    warm = None if own else agents_of(group[0], world)[1]
    simulation, ledger, _ = prepare_run(group[0], world, warm, True)
    assert isinstance(simulation, CompiledSimulation)
    fills = (ledger.view.resources.index(start.resource), start.until) if start and own else None
    replay, rows = Replay(simulation, fills), []
    bound = None if own else scheduled_bound(simulation, simulation.offered)
    place = days_of(world, group[0].seed, len(simulation.workload))
    for run in group:
        rules = []
        for use in ("agent", "warm-start"):
            agent = build_agent(run.agent)
            agent.start(simulation.view, stream(run.seed, use))
            assert agent.compiled
            rules.append(agent.compiled)
        row = {"agent": run.agent.label, "seed": run.seed, **run.point, "status": "done"}
        row |= {"scheduled_bound": bound} if bound is not None else {}
        placed = replay.placed(*rules)
        rows.append({**row, "scheduled": placed, **({"day": place(replay.first + placed)} if place else {})})
    return rows


def days_of(world: World, seed: int, requests: int) -> Callable[[int], int] | None:
    """Return what says on which day of its trace a request arrives; None where every seed has a trace of its own."""
    rows = world.requests.windows(seed, requests)
    source: object = world.requests
    while isinstance(source, Altered):
        source = source.base
    if rows is None or len(rows) > 1 or not isinstance(source, TraceRequests):
        return None
    arrival = source.table["arrival"]
    return lambda request: int(arrival[min(rows[0][0] + request, len(arrival) - 1)] // DAY)


def replays(scenario: Scenario, folder: Path, jobs: int | None) -> pl.DataFrame:
    """Of all seeds and points."""
    groups: dict[tuple[int, str], list[Run]] = {}
    for run in plan(scenario):
        groups.setdefault((run.seed, str(run.point)), []).append(run)
    ordered = [groups[key] for key in sorted(groups)]  # those of a seed share their requests
    with ProcessPoolExecutor(jobs or usable_cpus(), get_context("spawn")) as pool:
        found = list(pool.map(partial(replayed, folder=folder), ordered, chunksize=20))
    return pl.DataFrame([row for rows in found for row in rows], infer_schema_length=None)


def asked_of(name: str, options: argparse.Namespace) -> Scenario:
    """Load the scenario, with those of its agents only that are asked for, and the bases."""
    scenario = load_scenario(f"cvd/{name}", options.set)
    known = [agent.label for agent in scenario.agents]
    wanted = known if options.agents is None else options.agents.split(",")
    for label in wanted:
        if label not in known:
            raise UserError(f"cvd/{name} has no such agent", key="--agents", value=label, remedy=suggest(label, known))
    for key, count, least in (("--seeds", options.seeds, 1), ("--runs", options.runs, 0)):
        if count is not None and count < least:
            raise UserError("is too few", key=key, value=count, remedy=f"Give {least} or more.")
    agents = tuple(agent for agent in scenario.agents if agent.label in {*wanted, *BASES})
    return scenario.model_copy(update={"agents": agents})


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay and run, and print the tables; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="table2 to table4, table2-drawn to table4-drawn, ablation")
    parser.add_argument("--seeds", type=int, help="for the lengths; the scenario's replications if not given")
    parser.add_argument("--runs", type=int, default=20, help="seeds for allocation and income; 0 leaves them out")
    parser.add_argument("--agents", help="only these of the scenario's, by label, with commas between")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as `binwright run` has it")
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
        lasting = replays(scenario.model_copy(update={"replications": seeds}), folder, options.jobs)
        print(f"\n{counted(seeds)}{said(lasting)}.\n\n{markdown(lengths(lasting))}", flush=True)
        if "day" in lasting.columns:
            print(f"\n{markdown(few_days(lasting))}", flush=True)
    if count := seeds if grows else min(seeds, options.runs):
        some = scenario.model_copy(update={"replications": count})
        runs = ended(Batch(some, folder).run(jobs=options.jobs).runs, some, folder)
        print(f"\n{counted(count)}{said(runs)}.\n")
        tables_of_lengths = [markdown(lengths(runs)), *([markdown(few_days(runs))] if "day" in runs.columns else [])]
        print(*(tables_of_lengths if grows else []), markdown(others(runs)), sep="\n\n", flush=True)


def ended(runs: pl.DataFrame, scenario: Scenario, folder: Path) -> pl.DataFrame:
    """Add on which day of the trace each run ended, where all seeds have the same trace."""
    if "windows" not in runs.columns or runs["windows"].null_count():
        return runs
    source: Any = build_world(points(scenario)[0][1], cache_of(folder)).requests
    table = getattr(source, "requests", source).table
    return runs.with_columns(day=pl.Series((table["arrival"][ends_of(runs["windows"])] // DAY).astype(np.int64)))


def said(runs: pl.DataFrame) -> str:
    """Say on how many days the runs of Best-Fit ended, where that is known."""
    if "day" not in runs.columns:
        return ""
    counts = np.unique(runs.filter(pl.col("agent") == BASES[0])["day"].to_numpy(), return_counts=True)[1]
    most = 100 * counts.max() / counts.sum()
    return f"; those of Best-Fit end on {len(counts)} days, {most:.0f} % on one of them"


def counted(seeds: int) -> str:
    """1 seed, 20 seeds."""
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


if __name__ == "__main__":
    sys.exit(main())
