"""Read machines from files: of one's own as CSV, or instances of the literature as they are published.

- BPPLIB (`.txt`, `.bpp`): the number of balls, what a bin holds, then the size of every ball.
- VPSolver (`.vbp`): the number of dimensions, what a bin holds of each, the number of kinds; then for each kind its
  sizes and how many balls there are of it.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np

from binwright.simcore.errors import UserError, WorkloadError
from binwright.simcore.types import QUANTUM
from binwright.simcore.units import amount, quanta
from binwright.workloads.offline import Machines
from binwright.workloads.traces.cells import amounts, report
from binwright.workloads.traces.text import contents, read_text

SUFFIXES = (".txt", ".bpp", ".vbp")
MOST = 1_000_000
"""Balls, and the largest number of a file."""
NAME = "name"
"""The column of a CSV file that says what machines are called."""


def read_instance(file: Path) -> Machines:
    """Read an instance of the literature."""
    lines = enumerate(contents(file).decode("utf-8-sig").splitlines(), 1)
    words = ((word, line) for line, text in lines for word in text.split())

    def number(what: str, least: int, parts: int = 1) -> int:
        """Take the next number, as a whole number of `parts`."""
        word, line = next(words, ("", None))
        plain = word.replace(".", "", 1).isdecimal()
        result = Decimal(word) * parts if plain else Decimal(-1)
        if not least <= result <= MOST * parts or result % 1:
            remedy = f"Give {least:,} to {MOST:,}. Formats: page 'Offline placement'."
            raise WorkloadError(f"is no {what}", file=file, line=line, value=word or None, remedy=remedy)
        return int(result)

    vbp = file.suffix.lower() == ".vbp"
    dims, rows = number("number of dimensions", 1) if vbp else 1, list[list[int]]()
    count = 0 if vbp else number("number of balls", 1)
    capacity = [number("capacity", 0, QUANTUM) for _ in range(dims)]
    for _ in range(number("number of kinds", 1) if vbp else count):
        sizes = [number("size", 0, QUANTUM) for _ in range(dims)]
        rows += [sizes] * (number("number of balls", 0) if vbp else 1)
        if len(rows) > MOST:
            raise WorkloadError("has too many balls", file=file, remedy=f"Give {MOST:,} at most.")
    if not rows:
        raise WorkloadError("has no balls", file=file, remedy="Give one or more.")
    for word, line in words:
        problem, remedy = "goes on after its last number", "Formats: page 'Offline placement'."
        raise WorkloadError(problem, file=file, line=line, value=word, remedy=remedy)
    resources = ("size",) if dims == 1 else tuple(f"size{d + 1}" for d in range(dims))
    return Machines(file.name, resources, np.array(rows, np.int64), np.array(capacity, np.int64))


def read_csv(file: Path, server: str) -> Machines:
    """Read a column per resource, a row per machine; `server` says what a server has of each: `cpu=8,mem=16 GB`.

    Other columns are not read, but for `name`. Numbers are in the resource's unit, or name their own.
    """
    room: dict[str, float] = {}
    for entry in server.split(","):
        name, equals, text = (part.strip() for part in entry.partition("="))
        if not equals or name in room:
            raise WorkloadError("is not a capacity", key="server", value=entry, remedy="Write cpu=8,mem=16, each once.")
        try:
            room[name] = amount(name, text)
        except UserError as error:
            raise WorkloadError(error.problem, key="server", value=text, remedy=error.remedy) from None
    table = read_text(file, frozenset(room))
    if table.is_empty():
        raise WorkloadError("has no machines", file=file, remedy="Give a row per machine, below the header.")
    demand = []
    for name, most in room.items():
        units = amounts(table, name, file, name, 1.0)
        for problem, wrong in (
            ("is no amount", ~(units >= 0).fill_null(value=False)),
            (f"this machine asks for more than a server has: {most:g}", units > most),
        ):
            if wrong.any():
                remedy = "Give an amount, and larger servers (--server) if they are, or take the machine out."
                report(table, wrong, file, name, problem, remedy, table[name].filter(wrong)[0])
        demand.append(np.rint(units.to_numpy() * QUANTUM).astype(np.int64))
    named = NAME in table.columns and NAME not in room
    names = tuple(table[NAME].fill_null("").to_list()) if named else None
    capacity = np.array([quanta(units) for units in room.values()], np.int64)
    return Machines(file.name, tuple(room), np.column_stack(demand), capacity, names)
