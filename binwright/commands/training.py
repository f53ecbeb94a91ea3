"""`train`: an agent learns in a scenario."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection
from inspect import signature
from math import isfinite, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binwright.commands.console import many_of, new_table, note, out, print_line, print_location
from binwright.commands.progress import Iterations, duration
from binwright.simcore.extras import pl

if TYPE_CHECKING:
    from binwright.scenarios.schema.scenario import Scenario
    from binwright.scenarios.schema.train import Train


def train(args: Namespace) -> int:
    """`binwright train FILE`."""
    from binwright.agents.learned.common.training import WELL_BELOW
    from binwright.api import train as teach
    from binwright.scenarios.schema.load import folder_for, load_scenario

    scenario = load_scenario(args.file, args.sets)
    folder = folder_for(scenario, args.out, "training")
    spec = scenario.train
    if args.dry_run:
        return _dry_run(scenario, folder, args.fresh)
    each = spec.iterations * spec.seeds if spec else 0
    total = each * prod(map(len, spec.sweep.values())) if spec else 0
    settings = _settings(spec) if spec else set[str]()
    against, said = _against(spec) if spec else None, list[str]()
    steps: dict[tuple[int, int], int] = _steps(scenario, folder) if spec and not args.fresh else {}
    with Iterations(total, sum(steps.values())) as line:

        def watch(row: dict[str, Any]) -> None:
            steps[row.get("point", 0), row["seed"]] = row["step"]
            line.reached(sum(steps.values()), f"seed {row['seed']}")
            if row["split"] == "validation":
                if against and not said:
                    said.append(f"Gains are how much more is placed than by {against}.")
                    note(said[0])
                note(_said(row))
                if row["below_best"] > WELL_BELOW:
                    note(_fallen(row, settings))

        log = teach(scenario, out=folder, fresh=args.fresh, jobs=args.jobs, on_progress=watch, say=note)
    if spec and spec.sweep:
        _report_sweep(folder)
    else:
        _report(log, folder)
    return 0


def _dry_run(scenario: Scenario, folder: Path, fresh: bool) -> int:
    from binwright.scenarios.learn.cost import cost
    from binwright.scenarios.learn.training import spec_of

    spec = spec_of(scenario)
    found = cost(scenario, None if fresh else folder)
    if not found.iterations:
        said = f"All {spec.iterations} iterations are done in {folder}."
    else:
        trainings = spec.seeds * prod(map(len, spec.sweep.values()))
        whole = f"{trainings * spec.iterations:,}"
        if trainings > 1:
            whole += f" ({trainings} trainings of {spec.iterations:,})"
        said = (
            f"{found.iterations:,} of {whole} iterations are left. They will take about "
            f"{duration(found.seconds)} of CPU: {found.each:.2g} s an iteration, going by {found.tried}"
        )
        said += f", and {found.validation:.2g} s a validation." if found.validation else ", validations included."
    print_line(said)
    return 0


def _steps(scenario: Scenario, folder: Path) -> dict[tuple[int, int], int]:
    """Count the iterations that every point and seed has done already."""
    from binwright.scenarios.learn.cost import log_of
    from binwright.scenarios.learn.sweeping import points
    from binwright.scenarios.learn.training import spec_of

    spec = spec_of(scenario)
    seeds = range(spec.seed, spec.seed + spec.seeds)
    return {
        (number, seed): len(log_of(folder, point, seed))
        for number, (point, _) in enumerate(points(scenario))
        for seed in seeds
    }


def _against(spec: Train) -> str | None:
    """Find the agent that validations compare with, where the trainer has one."""
    name, options = spec.agent.chosen
    found: str | None = (options or {}).get("against", getattr(spec.agent.registry.load(name), "against", None))
    return found


def _said(row: dict[str, Any]) -> str:
    left_out = ("step", "seconds", "cpu_seconds", "split", "seed", "point", "below_best")
    numbers = ", ".join(_number(key, value) for key, value in row.items() if key not in left_out)
    return f"seed {row['seed']}, iteration {row['step']}, {row['seconds']:.0f} s: {numbers}"


def _settings(spec: Train) -> set[str]:
    """Name the settings of the trainer."""
    return set(signature(spec.agent.registry.load(spec.agent.chosen[0])).parameters)


def _fallen(row: dict[str, Any], settings: Collection[str]) -> str:
    """Warn of a validation well below the best one; only `settings` that the trainer has are advised."""
    advice = [f"a lower `{name}`" for name in ("rate",) if name in settings]
    advice += [f"a smaller `{name}`" for name in ("averaged", "tau") if name in settings]
    said = (
        f"warning: this validation of seed {row['seed']} is {100 * row['below_best']:.1f} points below its best one, "
        "whose weights are kept"
    )
    return f"{said}; {' or '.join(advice)} may keep it from falling" if advice else said


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
    from binwright.scenarios.learn.sweeping import SETTING, TABLE

    found = pl.read_parquet(folder / TABLE)
    *keys, _, score, _, _ = found.columns
    settings = [key.removeprefix(SETTING) for key in keys]
    table = new_table(*settings, ">seeds", f">best {score}", "after iterations", ">CPU")
    for point, rows in found.group_by(keys, maintain_order=True):
        mean, half = mean_interval(rows[score].to_numpy())
        best = _value(score, mean) + (f" ±{_value(score, half).removeprefix('+')}" if isfinite(half) else "")
        steps = ", ".join(map(str, rows["step"]))
        table.add_row(*map(str, point), str(len(rows)), best, steps, f"{rows['cpu_seconds'].sum():.0f} s")
    out.print(table)
    print_location(f"Table: {folder / TABLE}")


def _report(log: pl.DataFrame, folder: Path) -> None:
    for seed in log["seed"].unique(maintain_order=True):
        rows = log.filter(pl.col("seed") == seed)
        cpu, steps = rows.select(pl.col("cpu_seconds").max(), pl.col("step").max()).row(0)
        said = f"seed {seed}: {many_of(steps, 'iteration')}, {cpu:.0f} s of CPU"
        print_line(f"{said}; weights: {folder}/seed-{seed}/best.safetensors")
    print_location(f"Log: {folder}/log.parquet")
