"""Read instances of the literature from their files, in the formats in which they are published.

- BPPLIB, one instance (`.txt`, `.bpp`): the number of balls, what a bin holds, then the size of every ball.
- OR-Library, several (`binpack1.txt`): how many; then for each its name, a line with what a bin holds, the number of
  balls and the fewest bins known, and the sizes.
- VPSolver (`.vbp`): the number of dimensions, what a bin holds of each, the number of kinds; then for each kind its
  sizes and how many balls there are of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np

from binwright.simcore.errors import WorkloadError, suggest, unread
from binwright.simcore.types import QUANTUM
from binwright.workloads.offline import Machines

SUFFIXES = (".txt", ".bpp", ".vbp")
MOST = 1_000_000
"""Balls, and the largest number of a file."""


def read_instance(file: Path, name: str | None = None) -> Machines:
    """Read an instance; of a file with several, the one with this name."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problem, remedy = unread(error, file, "Give a text file in UTF-8.")
        raise WorkloadError(problem, file=file, remedy=remedy) from None
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    words = ((word, number) for number, line in lines for word in line)
    several = file.suffix.lower() != ".vbp" and len(lines) > 1 and not _is_number(lines[1][1][0])
    if name is not None and not several:
        raise WorkloadError("has one instance", file=file, key="--instance", value=name, remedy="Leave it out.")
    reader = _Reader(file, words)
    if file.suffix.lower() == ".vbp":
        dims = reader.whole("dimensions", 1, 100)
        capacity = [reader.amount() for _ in range(dims)]
        rows: list[list[int]] = []
        for _ in range(reader.whole("kinds", 1)):
            size = [reader.amount() for _ in range(dims)]
            rows += [size] * reader.whole("balls", 0, MOST - len(rows))
        return reader.machines(file.name, rows, capacity)
    if several:
        found: dict[str, Machines] = {}
        for _ in range(reader.whole("instances", 1)):
            title = reader.word()[0]
            capacity, count = [reader.amount()], reader.whole("balls", 1)
            reader.amount()
            found[title] = reader.machines(title, [[reader.amount()] for _ in range(count)], capacity, ends=False)
        if name is None and len(found) == 1:
            return next(iter(found.values()))
        if name not in found:
            problem, remedy = "has several instances", f"Name one: --instance {next(iter(found))}."
            if name is not None:
                problem, remedy = "has no such instance", suggest(name, found)
            raise WorkloadError(problem, file=file, key="--instance", value=name, remedy=remedy)
        return found[name]
    count, capacity = reader.whole("balls", 1), [reader.amount()]
    return reader.machines(file.name, [[reader.amount()] for _ in range(count)], capacity)


def _is_number(word: str) -> bool:
    try:
        return Decimal(word).is_finite()
    except InvalidOperation:
        return False


class _Reader:
    """Takes one word of a file after another."""

    def __init__(self, file: Path, words: Iterator[tuple[str, int]]) -> None:
        self.file, self.words = file, words

    def word(self) -> tuple[str, int]:
        """Take a word, and say which line it is in."""
        found = next(self.words, None)
        if found is None:
            remedy = "Formats: page 'Offline placement'; a CSV file needs the suffix .csv."
            raise WorkloadError("ends before its last number", file=self.file, remedy=remedy)
        return found

    def whole(self, what: str, least: int, most: int = MOST) -> int:
        """Take a number of something."""
        word, line = self.word()
        if not word.isdecimal() or not least <= int(word) <= most:
            remedy = f"Give {least:,} to {most:,}."
            raise WorkloadError(f"is not a number of {what}", file=self.file, line=line, value=word, remedy=remedy)
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
        left = next(self.words, None) if ends else None
        if left is not None:
            remedy = "Formats: page 'Offline placement'."
            raise WorkloadError(
                "goes on after its last number", file=self.file, line=left[1], value=left[0], remedy=remedy
            )
        if not rows:
            raise WorkloadError("has no balls", file=self.file, remedy="Give one or more.")
        resources = ("size",) if len(capacity) == 1 else tuple(f"size{d + 1}" for d in range(len(capacity)))
        return Machines(name, resources, np.array(rows, np.int64), np.array(capacity, np.int64))
