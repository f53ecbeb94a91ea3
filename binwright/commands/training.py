"""`train`: an agent learns in a scenario."""

from argparse import Namespace
from typing import Any

from binwright.commands.console import note, print_line, print_location
from binwright.commands.progress import StatusLine
from binwright.simcore.extras import pl
from binwright.simcore.units import many_of

LEFT_OUT = ("step", "seconds", "cpu_seconds", "split", "seed")
"""Columns of the log that are no metrics."""


def train(args: Namespace) -> int:
    """Answer `binwright train FILE`."""
    from binwright.api import train as teach
    from binwright.scenarios.learn.training import log_in, spec_of
    from binwright.scenarios.schema.load import folder_for, load_scenario

    scenario = load_scenario(args.file, args.sets)
    folder = folder_for(scenario, args.out, "training")
    spec = spec_of(scenario)
    name, options = spec.agent.chosen
    against = (options or {}).get("against", getattr(spec.agent.registry.load(name), "against", None))
    log = pl.DataFrame() if args.fresh else log_in(folder)
    before = dict(log.group_by("seed").agg(pl.col("step").max()).rows()) if len(log) else {}
    steps = {seed: before.get(seed, 0) for seed in range(spec.seed, spec.seed + spec.seeds)}
    total, done = spec.iterations * spec.seeds, sum(steps.values())
    if against:
        note(f"Gains are how much more is placed than by {against}.")
    with StatusLine("iterations", total, f"{done:,} of {total:,}") as line:

        def watch(row: dict[str, Any]) -> None:
            steps[row["seed"]] = row["step"]
            line.reached(sum(steps.values()), f"seed {row['seed']}")
            if row["split"] == "validation":
                numbers = ", ".join(_number(key, value) for key, value in row.items() if key not in LEFT_OUT)
                note(f"seed {row['seed']}, iteration {row['step']}, {row['seconds']:.0f} s: {numbers}")

        log = teach(scenario, out=folder, fresh=args.fresh, jobs=args.jobs, on_progress=watch, say=note)
    for (seed,), rows in log.group_by("seed", maintain_order=True):
        cpu, iterations = rows.select(pl.col("cpu_seconds").max(), pl.col("step").max()).row(0)
        took = f"{many_of(iterations, 'iteration')}, {cpu:.0f} s of CPU"
        print_line(f"seed {seed}: {took}; weights: {folder}/seed-{seed}/best.safetensors")
    print_location(f"Log: {folder}/log.parquet")
    return 0


def _number(key: str, value: float) -> str:
    """Write a metric with its value; gains, shares of what another agent places, have a warm start in the name."""
    name, _, warm = key.partition("_")
    if name == "gain":
        return f"gain from {warm} {value:+.2%}" if warm else f"gain {value:+.2%}"
    return f"{key} {value:.3f}"
