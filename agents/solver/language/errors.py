"""Report mistakes in a specification: the place, the line with a caret, and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from binwright.simcore.errors import LONGEST, UserError, short


class At(NamedTuple):
    """A place in the text; line and column count from 1."""

    line: int
    column: int


def indices_beside(wanted: int, given: int) -> str:
    """Say how many indices there should be, and how many there are."""
    return f"{wanted} {'index' if wanted == 1 else 'indices'}, here {'is' if given == 1 else 'are'} {given}"


class SpecError(UserError):
    """Raised if the specification is wrong, or too much for the solver."""

    def __init__(
        self, problem: str, remedy: str, at: At | None = None, text: str = "", file: str | Path | None = None
    ) -> None:
        super().__init__(problem, file=file, line=None if at is None else at.line, remedy=remedy)
        self.at = at
        self.text = text

    def located(self, text: str, file: str | Path | None) -> SpecError:
        """Return the same error with the text around it, for code that raises without knowing it."""
        return SpecError(self.problem, self.remedy, self.at, self.text or text, self.file or file)

    def __str__(self) -> str:
        lines = self.text.split("\n")
        if self.at is None or self.at.line > len(lines):
            return super().__str__()
        line = lines[self.at.line - 1].rstrip("\r")
        start = max(0, min(self.at.column - 60, len(line) - 100))  # a long line: the part around the caret
        shown = "".join(letter if letter.isprintable() else " " for letter in line[start : start + 100])
        where = f"{self.file or 'specification'}:{self.at.line}:{self.at.column}: {short(self.problem, LONGEST)}"
        return f"{where}\n    {shown}\n    {' ' * (self.at.column - 1 - start)}^\n  {short(self.remedy, 10 * LONGEST)}"
