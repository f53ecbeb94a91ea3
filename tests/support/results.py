"""Made-up rows of results."""

from pathlib import Path
from typing import Any

import polars as pl

from binwright.analysis.measure.definition import describe
from binwright.analysis.results.columns import Columns, write_runs
from binwright.analysis.results_api import Results

ALWAYS = {
    "version": "0", "status": "done", "error": "", "seconds": 1.0, "stopped": 0,
    "offered": 10, "scheduled": 9, "acceptance": 0.9,
    "rejected": 1, "impossible": 0, "interrupted": 0, "lost": 0, "hours": 1.0, "servers": 3, "servers_used": 2.0,
    "wait_total": 0.0, "wait_mean": 0.0, "wait_p95": 0.0, "allocation_cpu": 0.5,
    "allocation_cpu_decisions": 0.5, "allocation_cpu_end": 0.5, "fragmentation_cpu": 0.1, "decision_us": 3.0,
}  # fmt: skip
"""What the row of a run that is done says, where a test says nothing else."""
FAILED = dict.fromkeys(ALWAYS, None) | {"version": "0", "status": "failed", "error": "no", "seconds": 1.0}
"""What the row of a failed run says."""


def row(agent: str, seed: int, *, point: dict[str, Any] | None = None, **metrics: Any) -> dict[str, Any]:
    """Make up the row of a run that is done, at a point of a sweep and with some metrics of its own."""
    return {"run": f"{agent}{seed}", "agent": agent, "seed": seed, **(point or {}), **ALWAYS, **metrics}


def failed(agent: str, seed: int, *, point: dict[str, Any] | None = None) -> dict[str, Any]:
    """Make up the row of a failed run."""
    return {"run": f"{agent}{seed}", "agent": agent, "seed": seed, **(point or {}), **FAILED}


def write_results(folder: Path, rows: list[dict[str, Any]] | pl.DataFrame) -> None:
    """Write made-up rows as a folder of results has them, with what their columns are."""
    frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, infer_schema_length=None, strict=False)
    names = frame.columns
    resources = [name.removeprefix("fragmentation_") for name in names if name.startswith("fragmentation_")]
    swept = names[names.index("seed") + 1 : names.index("version")] if {"seed", "version"} <= {*names} else ()
    folder.mkdir(parents=True, exist_ok=True)
    columns = Columns(tuple(resources), tuple(swept), tuple(describe(resources, ())))
    write_runs(folder, frame, columns)


def made(folder: Path, rows: list[dict[str, Any]], message: str = "name: made\n") -> Results:
    """Write made-up rows beside what a scenario says, and read them."""
    write_results(folder, rows)
    (folder / "scenario.yaml").write_text(message)
    return Results(folder)
