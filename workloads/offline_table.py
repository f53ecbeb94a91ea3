"""Machines of an offline placement from a CSV file."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from simcore.errors import UserError, WorkloadError, unread
from simcore.units import amount, quanta, say
from workloads.offline import Machines

NAME = "name"
"""The column that says what machines are called."""


def read_csv(file: Path, server: str) -> Machines:
    """Read a column per resource, a row per machine; `server` says what a server has of each: `cpu=8,mem=16 GB`.

    Other columns are not read, but for `name`. Numbers are in the resource's unit, or name their own.
    """
    room: dict[str, int] = {}
    demand: list[list[int]] = []
    names: list[str] = []
    for entry in server.split(","):
        name, equals, text = entry.partition("=")
        if not equals or name.strip() in room:
            raise WorkloadError("is not a capacity", key="server", value=entry, remedy="Write cpu=8,mem=16, each once.")
        room[name.strip()] = _quanta(name.strip(), text, None, None, "server")
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.DictReader(opened)
            columns = list(reader.fieldnames or ())
            for name in room:
                if name not in columns:
                    remedy = f"Its columns: {', '.join(columns) or 'none'}."
                    raise WorkloadError(f"has no column {name}", file=file, line=1, key="server", remedy=remedy)
            named = NAME in columns and NAME not in room
            for row in reader:
                demand.append([_asked(name, row, file, reader.line_num, room[name]) for name in room])
                if named:
                    names.append(row[NAME] or "")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problem, remedy = unread(error, file, "Give a CSV file in UTF-8.")
        raise WorkloadError(problem, file=file, remedy=remedy) from None
    if not demand:
        raise WorkloadError("has no machines", file=file, remedy="Give a row per machine, below the header.")
    room_of_each = np.array(list(room.values()), np.int64)
    return Machines(file.name, tuple(room), np.array(demand, np.int64), room_of_each, tuple(names) if named else None)


def _asked(resource: str, row: dict[str, str], file: Path, line: int, room: int) -> int:
    """Read what a machine asks for of a resource of which a server has so much `room`."""
    asked = _quanta(resource, row[resource], file, line, resource)
    if asked > room:
        machine = f"machine {row[NAME]}" if row.get(NAME) else "this machine"
        remedy = f"Give servers of {say([asked], (resource,))} or more (--server), or take the machine out."
        problem = f"{machine} asks for more than a server has"
        raise WorkloadError(problem, file=file, line=line, key=resource, value=row[resource], remedy=remedy)
    return asked


def _quanta(resource: str, text: str | None, file: Path | None, line: int | None, key: str) -> int:
    try:
        return quanta(amount(resource, text or ""))
    except UserError as error:
        raise WorkloadError(error.problem, file=file, line=line, key=key, value=text, remedy=error.remedy) from None
