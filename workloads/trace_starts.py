"""Starts of a trace from a file: which row a seed begins at, and how many requests it has."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

from simcore.errors import WorkloadError, unread

KEY = "workload.start.path"


def first_listed(file: Path) -> int:
    """Find the first row that any seed begins at."""
    return min((start for start, _ in _starts(file)), default=0)


def listed_start(file: Path, seed: int) -> tuple[int, int | None]:
    """Find the row of a seed (seed 0 has the first), and how many requests, if a CSV says it in a column `requests`."""
    starts = _starts(file)
    if seed >= len(starts):
        remedy = f"Seeds count from 0: take those below {len(starts)} by `seed:` and `replications:`, or list more."
        raise WorkloadError(f"has {len(starts)} starts, and none for seed {seed}", file=file, key=KEY, remedy=remedy)
    return starts[seed]


def _starts(file: Path) -> list[tuple[int, int | None]]:
    """Read the starts of all seeds."""
    try:
        stat = file.stat()
        return _listed(file, (stat.st_mtime_ns, stat.st_size))
    except OSError as error:
        problem, remedy = unread(error, file, "Give a CSV file.")
        raise WorkloadError(problem, file=file, key=KEY, remedy=remedy) from None


@lru_cache(maxsize=2)
def _listed(file: Path, version: tuple[int, int]) -> list[tuple[int, int | None]]:
    """Read the starts of all seeds; they are kept while `version` stays, since the run of every agent asks for its."""
    starts: list[tuple[int, int | None]] = []
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            rows = csv.DictReader(text)
            columns = rows.fieldnames or ()
            if "start" not in columns:
                raise WorkloadError("has no column 'start'", file=file, key=KEY, remedy="Its columns: start, requests.")
            for row in rows:
                start = _whole(row, "start", file, rows.line_num)
                starts.append((start, _whole(row, "requests", file, rows.line_num) if "requests" in columns else None))
    except (UnicodeDecodeError, csv.Error) as error:
        raise WorkloadError(f"is not CSV: {error}", file=file, key=KEY) from None
    return starts


def _whole(row: dict[str, str], name: str, file: Path, line: int) -> int:
    text = (row[name] or "").strip()
    least = 1 if name == "requests" else 0
    if not (text.isdecimal() and int(text) >= least):
        problem = f"the {name} is not a whole number from {least}"
        raise WorkloadError(problem, file=file, line=line, key=KEY, value=text, remedy="Write it in digits.")
    return int(text)
