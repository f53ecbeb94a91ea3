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


def train(asked: Namespace) -> int:
    """`binwright train FILE`."""
    from binwright.api import train as teach
    from scenarios.load import default_folder, load_scenario

    scenario = load_scenario(asked.file, asked.sets)
    folder = Path(asked.out or default_folder(scenario) / "training")
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

        log = teach(scenario, out=folder, fresh=asked.fresh, watch=watch, say=say)
    _report(log, folder)
    return 0


def _said(row: dict[str, Any]) -> str:
    left_out = ("step", "seconds", "cpu_seconds", "split", "seed")
    numbers = ", ".join(f"{key} {value:.3f}" for key, value in row.items() if key not in left_out)
    return f"seed {row['seed']}, iteration {row['step']}, {row['seconds']:.0f} s: {numbers}"


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
