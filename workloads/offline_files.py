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
from binwright.simcore.units import amount, quanta, say
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
    reader, vbp = _Reader(file, text), file.suffix.lower() == ".vbp"
    lines = [line.split() for line in text.splitlines() if line.strip()]
    several = not vbp and len(lines) > 1 and not _is_number(lines[1][0])
    if name is not None and not several:
        raise WorkloadError("has one instance", file=file, key="--instance", value=name, remedy="Leave it out.")
    if vbp:
        dims = reader.whole("dimensions", 1, 100)
        capacity, rows = [reader.amount() for _ in range(dims)], list[list[int]]()
        for _ in range(reader.whole("kinds", 1)):
            size = [reader.amount() for _ in range(dims)]
            rows += [size] * reader.whole("balls", 0, MOST - len(rows))
        return reader.machines(file.name, rows, capacity)
    if not several:
        count, capacity = reader.whole("balls", 1), [reader.amount()]
        return reader.machines(file.name, [[reader.amount()] for _ in range(count)], capacity)
    found: dict[str, Machines] = {}
    for _ in range(reader.whole("instances", 1)):
        title, _line = reader.word()
        capacity, count = [reader.amount()], reader.whole("balls", 1)
        reader.amount()
        found[title] = reader.machines(title, [[reader.amount()] for _ in range(count)], capacity, ends=False)
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    if name is None:
        problem, remedy = "has several instances", f"Name one: --instance {next(iter(found))}."
        raise WorkloadError(problem, file=file, key="--instance", remedy=remedy)
    if name not in found:
        remedy = suggest(name, found)
        raise WorkloadError("has no such instance", file=file, key="--instance", value=name, remedy=remedy)
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
        return quanta(amount(resource, text or ""))
    except UserError as error:
        raise WorkloadError(error.problem, file=file, line=line, key=key, value=text, remedy=error.remedy) from None


def _is_number(word: str) -> bool:
    try:
        return Decimal(word).is_finite()
    except InvalidOperation:
        return False


class _Reader:
    """Takes one word of a file after another."""

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.words = ((word, number) for number, line in enumerate(text.splitlines(), 1) for word in line.split())

    def word(self) -> tuple[str, int]:
        """Take a word, and say which line it is in."""
        for found in self.words:
            return found
        remedy = f"{FORMATS}; a CSV file needs the suffix .csv."
        raise WorkloadError("ends before its last number", file=self.file, remedy=remedy)

    def whole(self, what: str, least: int, most: int = MOST) -> int:
        """Take a number of something."""
        word, line = self.word()
        if not word.isdecimal() or not least <= int(word) <= most:
            problem, remedy = f"is not a number of {what}", f"Give {least:,} to {most:,}."
            raise WorkloadError(problem, file=self.file, line=line, value=word, remedy=remedy)
        return int(word)

    def amount(self) -> int:
        """Take an amount, in millionths."""
        word, line = self.word()
        if not _is_number(word) or not 0 <= Decimal(word) <= MOST or Decimal(word) * QUANTUM % 1:
            remedy = f"Give 0 to {MOST:,}, with six decimals at most."
            raise WorkloadError("is not a size", file=self.file, line=line, value=word, remedy=remedy)
        return int(Decimal(word) * QUANTUM)

    def machines(self, name: str, rows: list[list[int]], capacity: list[int], *, ends: bool = True) -> Machines:
        """Make an instance; the file ends with it if it `ends`."""
        for word, line in self.words if ends else ():
            problem = "goes on after its last number"
            raise WorkloadError(problem, file=self.file, line=line, value=word, remedy=f"{FORMATS}.")
        if not rows:
            raise WorkloadError("has no balls", file=self.file, remedy="Give one or more.")
        resources = ("size",) if len(capacity) == 1 else tuple(f"size{d + 1}" for d in range(len(capacity)))
        return Machines(name, resources, np.array(rows, np.int64), np.array(capacity, np.int64))
