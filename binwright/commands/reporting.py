"""`report`: results as one HTML file; runs that recorded no states are played again for its replay."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from binwright.commands.console import say, show, where
from binwright.commands.headings import head
from binwright.commands.progress import Line
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl

SECONDS = 5.0
"""Runs that took longer, all together, are not played again."""
_CODE = re.compile(r"[^:]:[A-Za-z_]")
"""A name of somebody's own class: `mine.py:Mine`, `package.module:Class`."""


def played(folder: Path) -> dict[str, pl.DataFrame]:
    """Return the states of the first seed of every agent at the first point, by run.

    None of runs that were recorded with them, or that took long, or whose code or files have changed since; and none
    where the scenario names code from outside: results may be somebody else's, and are no programs.
    """
    if any((folder / "details").glob("*.states.parquet")) or _names_code(folder / "scenario.yaml"):
        return {}
    with suppress(UserError, OSError):
        return _played(folder)
    return {}


def _played(folder: Path) -> dict[str, pl.DataFrame]:
    from binwright.scenarios.batch.attempt import Task, attempt, detail
    from binwright.scenarios.batch.batch import Batch
    from binwright.scenarios.build.code import ours
    from binwright.scenarios.schema.load import load_to_run

    batch = Batch(load_to_run(str(folder / "scenario.yaml"), []), folder)
    known, first = batch.known(), batch.runs[0]
    runs = [run for run in batch.runs if (run.point, run.seed) == (first.point, first.seed) and run.name in known]
    if sum(known[run.name]["seconds"] for run in runs) > SECONDS:
        return {}
    found = {}
    with TemporaryDirectory(
        dir=folder.absolute().parent, prefix=".replay."
    ) as scratch:  # beside what is kept of traces
        there = Path(scratch)
        for run in runs:
            again = replace(run, scenario=run.scenario.model_copy(update={"record": ("states",)}))
            row = attempt(Task(0, again, there, batch.version, ours()))
            if row["status"] == "done" and row["acceptance"] == known[run.name]["acceptance"]:
                found[run.name] = pl.read_parquet(detail(there, run, "states"))
    return found


def _names_code(file: Path) -> bool:
    """Tell whether a scenario names code of somebody's own, or files that may, or cannot be read.

    Results have every key written out, and extend nothing.
    """
    import yaml

    try:
        data = yaml.safe_load(file.read_text("utf-8"))
        return "extends" in data or any(_CODE.search(text) for text in _texts(data))
    except (OSError, TypeError, ValueError, yaml.YAMLError):
        return True


def _texts(value: Any) -> Iterator[str]:
    """Yield all keys and values that are text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (*_texts(key), *_texts(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def report(asked: Namespace) -> int:
    """`binwright report RESULTS`."""
    from binwright.analysis.report import write
    from binwright.analysis.results_api import Results

    results = Results(asked.results)
    head([results], asked.headings)
    with Line("report"):
        again = played(results.folder)
    path = write(results, asked.out, say, again)
    where(f"Report:  {path}")
    if asked.open:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            show("No browser was found: open that file in one.")
    return 0
