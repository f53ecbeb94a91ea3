"""`train`: an agent learns in a scenario."""

from argparse import Namespace
from math import isfinite, prod
from pathlib import Path
from typing import Any

from binwright.commands.console import new_table, note, out, print_line, print_location
from binwright.commands.progress import StatusLine
from binwright.simcore.extras import pl
from binwright.simcore.units import many_of

LEFT_OUT = ("step", "seconds", "cpu_seconds", "split", "seed", "point")
"""Columns of the log that are no metrics."""


def train(args: Namespace) -> int:
    """Answer `binwright train FILE`."""
    from binwright.api import train as teach
    from binwright.scenarios.learn.training import log_of, points, spec_of
    from binwright.scenarios.schema.load import folder_for, load_scenario

    scenario = load_scenario(args.file, args.sets)
    folder = folder_for(scenario, args.out, "training")
    spec = spec_of(scenario)
    name, options = spec.agent.chosen
    against = (options or {}).get("against", getattr(spec.agent.registry.load(name), "against", None))
    steps = {
        (number, seed): 0 if args.fresh else len(log_of(folder, point, seed))
        for number, (point, _) in enumerate(points(scenario))
        for seed in range(spec.seed, spec.seed + spec.seeds)
    }
    total, done = spec.iterations * spec.seeds * prod(map(len, spec.sweep.values())), sum(steps.values())
    if against:
        note(f"Gains are how much more is placed than by {against}.")
    with StatusLine("iterations", total, f"{done:,} of {total:,}") as line:

        def watch(row: dict[str, Any]) -> None:
            steps[row.get("point", 0), row["seed"]] = row["step"]
            line.reached(sum(steps.values()), f"seed {row['seed']}")
            if row["split"] == "validation":
                numbers = ", ".join(_number(key, value) for key, value in row.items() if key not in LEFT_OUT)
                note(f"seed {row['seed']}, iteration {row['step']}, {row['seconds']:.0f} s: {numbers}")

        log = teach(scenario, out=folder, fresh=args.fresh, jobs=args.jobs, on_progress=watch, say=note)
    if spec.sweep:
        _report_sweep(folder)
        return 0
    for (seed,), rows in log.group_by("seed", maintain_order=True):
        cpu, iterations = rows.select(pl.col("cpu_seconds").max(), pl.col("step").max()).row(0)
        took = f"{many_of(iterations, 'iteration')}, {cpu:.0f} s of CPU"
        print_line(f"seed {seed}: {took}; weights: {folder}/seed-{seed}/best.safetensors")
    print_location(f"Log: {folder}/log.parquet")
    return 0


def _number(key: str, value: float) -> str:
    """Write a metric with its value; gains from a warm start have its share in the name."""
    name, _, warm = key.partition("_")
    if name == "gain":
        key = f"gain from {warm}" if warm else "gain"
    return f"{key} {_value(name, value)}"


def _value(key: str, value: float) -> str:
    """Write the value of a metric: gains are shares of what another agent places."""
    return f"{value:+.2%}" if key == "gain" else f"{value:.3f}"


def _report_sweep(folder: Path) -> None:
    """Print the table of a sweep: a row per point, the mean over its seeds of the best validations."""
    from binwright.analysis.compare.statistics import mean_interval
    from binwright.scenarios.learn.training import SETTING, TABLE

    result = pl.read_parquet(folder / TABLE)
    *keys, _, score, _, _ = result.columns
    settings = [key.removeprefix(SETTING) for key in keys]
    table = new_table(*settings, ">seeds", f">best {score}", "after iterations", ">CPU")
    for point, rows in result.group_by(keys, maintain_order=True):
        mean, half = mean_interval(rows[score].to_numpy())
        best = _value(score, mean) + (f" ±{_value(score, half).removeprefix('+')}" if isfinite(half) else "")
        steps = ", ".join(map(str, rows["step"]))
        table.add_row(*map(str, point), str(len(rows)), best, steps, f"{rows['cpu_seconds'].sum():.0f} s")
    out.print(table)
    print_location(f"Table: {folder / TABLE}")
