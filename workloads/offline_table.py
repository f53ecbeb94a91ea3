"""Machines of an offline placement from a CSV file."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from binwright.simcore.errors import UserError, WorkloadError, unread
from binwright.simcore.types import Ints
from binwright.simcore.units import amount, quanta, say
from binwright.workloads.offline import Machines

NAME = "name"
"""The column that says what machines are called."""


def read_csv(file: Path, server: str) -> Machines:
    """Read a column per resource, a row per machine; `server` says what a server has of each: `cpu=8,mem=16 GB`.

    Other columns are not read, but for `name`. Numbers are in the resource's unit, or name their own.
    """
    room: dict[str, int] = {}
    for entry in server.split(","):
        name, equals, text = entry.partition("=")
        if not equals or name.strip() in room:
            raise WorkloadError("is not a capacity", key="server", value=entry, remedy="Write cpu=8,mem=16, each once.")
        room[name.strip()] = _quanta(name.strip(), text, None, None, "server")
    capacity = np.array(list(room.values()), np.int64)
    demand, names = _machines(file, tuple(room), capacity)
    return Machines(file.name, tuple(room), demand, capacity, names)


def _table(file: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Read the columns' names, and the rows with the lines that they end in."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.DictReader(opened)
            columns = [name.strip() for name in reader.fieldnames or ()]
            reader.fieldnames = columns
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problem, remedy = unread(error, file, "Give a CSV file in UTF-8.")
        raise WorkloadError(problem, file=file, remedy=remedy) from None
    for at, name in enumerate(columns):
        if name and name in columns[:at]:
            raise WorkloadError(f"has two columns {name}", file=file, line=1, remedy="Take one of them out.")
    return columns, rows


def _machines(file: Path, resources: tuple[str, ...], capacity: Ints) -> tuple[Ints, tuple[str, ...] | None]:
    """Read what machines ask for, int64 [machines, resources], and names; each fits a server [resources]."""
    columns, rows = _table(file)
    for name in resources:
        if name not in columns:
            remedy = f"Its columns: {', '.join(columns) or 'none'}."
            raise WorkloadError(f"has no column {name}, which --server names", file=file, line=1, remedy=remedy)
    if not rows:
        raise WorkloadError("has no machines", file=file, remedy="Give a row per machine, below the header.")
    demand = np.array([[_quanta(name, row[name], file, at, name) for name in resources] for at, row in rows], np.int64)
    for (at, row), asked in zip(rows, demand, strict=True):
        if (asked <= capacity).all():
            continue
        machine = f"machine {row[NAME]}" if row.get(NAME) else "this machine"
        larger = int((asked > capacity).argmax())
        first = resources[larger]
        remedy = f"Give servers of {say([asked[larger]], (first,))} or more (--server), or take the machine out."
        problem = f"{machine} asks for more than a server has"
        raise WorkloadError(problem, file=file, line=at, key=first, value=row[first], remedy=remedy)
    named = NAME in columns and NAME not in resources
    return demand, tuple(row[NAME] or "" for _, row in rows) if named else None


def _quanta(resource: str, text: str | None, file: Path | None, line: int | None, key: str) -> int:
    try:
        return quanta(amount(resource, text or ""))
    except UserError as error:
        raise WorkloadError(error.problem, file=file, line=line, key=key, value=text, remedy=error.remedy) from None
