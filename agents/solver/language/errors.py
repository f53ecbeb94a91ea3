"""Report mistakes in a specification, the place, the line with a caret, and the remedy; and what goes beyond limits."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from binwright.simcore.errors import LONGEST, UserError, short, suggest

T = TypeVar("T")
TEXT_LIMIT, DEPTH_LIMIT, NEST_LIMIT = 100_000, 80, 8
"""Letters of a text; how deep expressions and blocks nest, a chain of operators counting as nested; loops and sums in
one another (Python takes 20), and indices."""
COUNT_LIMIT, ENTRY_LIMIT = 1_000_000, 20_000_000
"""Balls, bins, and nodes evaluated for all constants, with members of sets, or by one call of UTILFN; entries of a
table, of which dimensions have a quarter."""
LARGEST = 10**9
"""No number that is written, and no entry of a table, is larger."""


class At(NamedTuple):
    """A place in the text; line and column count from 1, and line 0 is outside of it."""

    line: int
    column: int


OUTSIDE, NOW_OUTSIDE = At(0, 0), At(0, 1)
"""The place of what comes from outside, and of a NOW that does."""


class SpecError(UserError):
    """Raised if the specification is wrong, or too much for the solver."""

    def __init__(self, problem: str, remedy: str, at: At | None = None, *, file: Path | None = None) -> None:
        super().__init__(problem, file=file, line=None if at is None else at.line or None, remedy=remedy)
        self.at, self.text = at, ""

    def __str__(self) -> str:
        lines = self.text.split("\n")
        if self.at is None or not 0 < self.at.line <= len(lines):
            return super().__str__()
        line = lines[self.at.line - 1].rstrip("\r")
        start = max(0, min(self.at.column - 60, len(line) - 100))  # a long line: the part around the caret
        shown = "".join(letter if letter.isprintable() else " " for letter in line[start : start + 100])
        where = f"{self.file or 'specification'}:{self.at.line}:{self.at.column}: {short(self.problem, LONGEST)}"
        return f"{where}\n    {shown}\n    {' ' * (self.at.column - 1 - start)}^\n  {short(self.remedy, 10 * LONGEST)}"


def refuse(wrong: object, problem: str, remedy: str, at: At | None) -> None:
    """Raise a `SpecError` if something is wrong."""
    if wrong:
        raise SpecError(problem, remedy, at)


def look_up(what: str, name: str, known: Mapping[str, T], at: At) -> T:
    """Return what is known by a name."""
    if name not in known:
        raise SpecError(f"unknown {what} {name}", suggest(name, known), at)
    return known[name]


def check_indices(of: str, wanted: int, count: int, at: At) -> None:
    """Refuse another number of indices than a table or a resource has."""
    problem = f"{of} takes {wanted} {'index' if wanted == 1 else 'indices'}, not {count}"
    refuse(wanted != count, problem, "Write one for each, with commas between: T[row, column].", at)


def existing(number: int, what: str, count: int, at: At) -> int:
    """Return the number of a ball or a bin, which must be there."""
    refuse(not 0 <= number < count, f"there is no {what} {number}", f"They go from 0 to {count - 1}.", at)
    return number
