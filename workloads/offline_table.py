"""Machines of an offline placement from a CSV file."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from simcore.errors import UserError, WorkloadError
from simcore.units import amount, quanta
from workloads.offline import Machines


def read_csv(file: Path, server: str) -> Machines:
    """Read a column per resource, a row per machine; `server` says what a server has of each: `cpu=8,mem=16 GB`.

    Columns that the server does not have are not read. Numbers are in the resource's unit, or name their own.
    """
    room: dict[str, int] = {}
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
            demand = [[_quanta(name, row[name], file, reader.line_num, name) for name in room] for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WorkloadError(f"cannot be read: {error}", file=file, remedy="Give a CSV file in UTF-8.") from None
    if not demand:
        raise WorkloadError("has no machines", file=file, remedy="Give a row per machine, below the header.")
    return Machines(file.name, tuple(room), np.array(demand, np.int64), np.array(list(room.values()), np.int64))


def _quanta(resource: str, text: str | None, file: Path | None, line: int | None, key: str) -> int:
    try:
        return quanta(amount(resource, text or ""))
    except UserError as error:
        raise WorkloadError(error.problem, file=file, line=line, key=key, value=text, remedy=error.remedy) from None
