"""`train`: an agent learns in a scenario."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from binwright.commands.console import out

if TYPE_CHECKING:
    import polars as pl

    from scenarios.schema.train import Train


def train(asked: Namespace) -> int:
    """`binwright train FILE`."""
    from binwright.api import train as teach
    from scenarios.schema.load import folder_for, load_scenario

    scenario = load_scenario(asked.file, asked.sets)
    folder = folder_for(scenario, asked.out, "training")
    spec = scenario.train
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(scenario.name, total=spec.iterations * spec.seeds if spec else None, said="")

        def watch(row: dict[str, Any]) -> None:
            if spec:
                done = (row["seed"] - spec.seed) * spec.iterations + row["step"]
                progress.update(task, completed=done, said=f"seed {row['seed']}")
            if row["split"] == "validation":
                say(_said(row))

        def say(text: str) -> None:
            progress.console.print(text, highlight=False, markup=False, soft_wrap=True)

        if spec and (against := _against(spec)):
            say(f"Gains are how much more is placed than by {against}.")
        log = teach(scenario, out=folder, fresh=asked.fresh, watch=watch, say=say)
    _report(log, folder)
    return 0


def _against(spec: Train) -> str | None:
    """Find the agent that validations compare with, where the trainer has one."""
    name, options = spec.agent.chosen
    found: str | None = (options or {}).get("against", getattr(spec.agent.registry.load(name), "against", None))
    return found


def _said(row: dict[str, Any]) -> str:
    left_out = ("step", "seconds", "cpu_seconds", "split", "seed")
    numbers = ", ".join(_number(key, value) for key, value in row.items() if key not in left_out)
    return f"seed {row['seed']}, iteration {row['step']}, {row['seconds']:.0f} s: {numbers}"


def _number(key: str, value: float) -> str:
    """Gain are shares of what another agent places; those from a warm start have its share in the name."""
    name, _, warm = key.partition("_")
    if name == "gain":
        return f"gain{warm and f' from {warm}'} {value:+.2%}"
    return f"{key} {value:.3f}"


def _report(log: pl.DataFrame, folder: Path) -> None:
    import polars as pl

    for seed in log["seed"].unique(maintain_order=True):
        rows = log.filter(pl.col("seed") == seed)
        cpu, steps = rows.select(pl.col("cpu_seconds").max(), pl.col("step").max()).row(0)
        out.print(
            f"seed {seed}: {steps} iterations, {cpu:.0f} s of CPU; weights: {folder}/seed-{seed}/best.safetensors",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    out.print(f"Log: {folder}/log.parquet", markup=False, highlight=False, soft_wrap=True)
