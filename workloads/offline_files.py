"""Read instances of the literature from their files, in the formats in which they are published.

- BPPLIB, one instance (`.txt`, `.bpp`): the number of balls, what a bin holds, then the size of every ball.
- OR-Library, several (`binpack1.txt`): how many; then for each its name, a line with what a bin holds, the number of
  balls and the fewest bins known, and the sizes.
- VPSolver (`.vbp`): the number of dimensions, what a bin holds of each, the number of kinds; then for each kind its
  sizes and how many balls there are of it.

Machines of one's own come from a CSV file.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np

from binwright.simcore.errors import UserError, WorkloadError, suggest, unread
from binwright.simcore.types import QUANTUM
from binwright.simcore.units import amount as amount_of
from binwright.simcore.units import quanta, say
from binwright.workloads.offline import Machines
from binwright.workloads.traces.text import read_text

SUFFIXES = (".txt", ".bpp", ".vbp")
MOST = 1_000_000
"""Balls, and the largest number of a file."""
NAME = "name"
"""The column of a CSV file that says what machines are called."""
FORMATS = "Formats: page 'Offline placement'"


def read_instance(file: Path, name: str | None = None) -> Machines:
    """Read an instance; of a file with several, the one with this name."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problem, remedy = unread(error, file, "Give a text file in UTF-8.")
        raise WorkloadError(problem, file=file, remedy=remedy) from None
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    words, vbp = ((word, number) for number, line in lines for word in line), file.suffix.lower() == ".vbp"
    several = not vbp and len(lines) > 1 and not _is_number(lines[1][1][0])
    if name is not None and not several:
        raise WorkloadError("has one instance", file=file, key="--instance", value=name, remedy="Leave it out.")

    def word() -> tuple[str, int]:
        for found in words:
            return found
        remedy = f"{FORMATS}; a CSV file needs the suffix .csv."
        raise WorkloadError("ends before its last number", file=file, remedy=remedy)

    def whole(what: str, least: int, most: int = MOST) -> int:
        text, line = word()
        if not text.isdecimal() or not least <= int(text) <= most:
            problem, remedy = f"is not a number of {what}", f"Give {least:,} to {most:,}."
            raise WorkloadError(problem, file=file, line=line, value=text, remedy=remedy)
        return int(text)

    def amount() -> int:
        """Take an amount, in millionths."""
        text, line = word()
        if not _is_number(text) or not 0 <= Decimal(text) <= MOST or Decimal(text) * QUANTUM % 1:
            remedy = f"Give 0 to {MOST:,}, with six decimals at most."
            raise WorkloadError("is not a size", file=file, line=line, value=text, remedy=remedy)
        return int(Decimal(text) * QUANTUM)

    found: dict[str, Machines] = {}
    for _ in range(whole("instances", 1) if several else 1):
        title = word()[0] if several else file.name
        dims = whole("dimensions", 1, 100) if vbp else 1
        if several:
            capacity, count = [amount()], whole("balls", 1)
            amount()
        elif vbp:
            capacity, count = [amount() for _ in range(dims)], whole("kinds", 1)
        else:
            count, capacity = whole("balls", 1), [amount()]
        rows = list[list[int]]()
        for _ in range(count):
            size = [amount() for _ in range(dims)]
            rows += [size] * (whole("balls", 0, MOST - len(rows)) if vbp else 1)
        if not rows:
            raise WorkloadError("has no balls", file=file, remedy="Give one or more.")
        resources = ("size",) if dims == 1 else tuple(f"size{d + 1}" for d in range(dims))
        found[title] = Machines(title, resources, np.array(rows, np.int64), np.array(capacity, np.int64))
    for text, line in () if several else words:
        problem = "goes on after its last number"
        raise WorkloadError(problem, file=file, line=line, value=text, remedy=f"{FORMATS}.")
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    if name is None or name not in found:
        problem = "has several instances" if name is None else "has no such instance"
        remedy = f"Name one: --instance {next(iter(found))}." if name is None else suggest(name, found)
        raise WorkloadError(problem, file=file, key="--instance", value=name, remedy=remedy)
    return found[name]


def read_csv(file: Path, server: str) -> Machines:
    """Read a column per resource, a row per machine; `server` says what a server has of each: `cpu=8,mem=16 GB`.

    Other columns are not read, but for `name`. Numbers are in the resource's unit, or name their own.
    """
    room: dict[str, int] = {}
    for entry in server.split(","):
        name, equals, text = (part.strip() for part in entry.partition("="))
        if not equals or name in room:
            raise WorkloadError("is not a capacity", key="server", value=entry, remedy="Write cpu=8,mem=16, each once.")
        room[name] = _quanta(name, text, None, None, "server")
    table, resources = read_text(file), tuple(room)
    columns = [name for name in table.columns if name != "line"]
    if missing := [name for name in resources if name not in columns]:
        problem, remedy = f"has no column {missing[0]}, which --server names", f"Its columns: {', '.join(columns)}."
        raise WorkloadError(problem, file=file, line=1, remedy=remedy)
    if table.is_empty():
        raise WorkloadError("has no machines", file=file, remedy="Give a row per machine, below the header.")
    demand = []
    for row in table.iter_rows(named=True):
        demand.append([_quanta(name, row[name], file, row["line"], name) for name in resources])
        for name, units in zip(resources, demand[-1], strict=True):
            if units > room[name]:
                machine = f"machine {row[NAME]}" if row.get(NAME) else "this machine"
                remedy = f"Give servers of {say([units], (name,))} or more (--server), or take the machine out."
                problem = f"{machine} asks for more than a server has"
                raise WorkloadError(problem, file=file, line=row["line"], key=name, value=row[name], remedy=remedy)
    named = NAME in columns and NAME not in resources
    names = tuple(table[NAME].fill_null("").to_list()) if named else None
    return Machines(file.name, resources, np.array(demand, np.int64), np.array([*room.values()], np.int64), names)


def _quanta(resource: str, text: str | None, file: Path | None, line: int | None, key: str) -> int:
    try:
        return quanta(amount_of(resource, text or ""))
    except UserError as error:
        raise WorkloadError(error.problem, file=file, line=line, key=key, value=text, remedy=error.remedy) from None


def _is_number(word: str) -> bool:
    try:
        return Decimal(word).is_finite()
    except InvalidOperation:
        return False
