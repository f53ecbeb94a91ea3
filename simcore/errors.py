"""One tree of errors. A `UserError` is answered in one message and exit code 2; anything else is a bug."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from difflib import get_close_matches
from pathlib import Path

LONGEST = 600
"""Letters of a part of a message: what users give us may be of any length."""


class BinwrightError(Exception):
    """The root: catches everything that Binwright raises on purpose."""


class UserError(BinwrightError):
    """A mistake in what the user gave us: names file, line, key, value and remedy, as far as they apply."""

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        key: str | None = None,
        value: object = None,
        remedy: str = "",
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.file = file
        self.line = line
        self.key = key
        self.value = value
        self.remedy = remedy
        self.others: list[UserError] = []
        """Further mistakes, where several were found at once."""

    def __str__(self) -> str:
        return "\n".join(mistake.said() for mistake in self.each())

    def each(self) -> list[UserError]:
        """List this mistake and the others."""
        return [self, *self.others]

    def said(self) -> str:
        """Put this mistake alone in words."""
        where = "" if self.file is None else str(self.file)
        if self.line is not None:
            where += f":{self.line}"
        text = ": ".join(short(part, LONGEST) for part in (where, self.key or "", self.problem) if part)
        if self.value is not None:
            text += f" (got {self.value if isinstance(self.value, date) else short(repr(self.value), LONGEST)})"
        return f"{text}\n  {short(self.remedy, 10 * LONGEST)}" if self.remedy else text


def short(text: str, most: int = 80) -> str:
    """Cut a text that is too long to be read."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def as_one(mistakes: Iterable[UserError]) -> UserError:
    """Join mistakes: the first of them says the others, too."""
    first, *others = dict.fromkeys(one for mistake in mistakes for one in mistake.each())
    first.others = others
    return first


class ScenarioError(UserError):
    """The scenario, or an override of it, is wrong."""


class WorkloadError(UserError):
    """A trace or a generator cannot give requests."""


class FileNeeded(WorkloadError):
    """A file of a trace, which is not on this machine."""


class ResultsError(UserError):
    """Results cannot be written or read."""


class UnknownName(UserError):
    """A name that no registry entry has; suggests the nearest."""


class RunError(BinwrightError):
    """A run that cannot go on: it is recorded as failed and stops no other."""


class AgentError(RunError):
    """An agent raised, or answered something that is not a placement."""


class InfeasiblePlacement(AgentError):
    """A placement that breaks the rules or does not fit; the ledger is unchanged."""


class LedgerError(BinwrightError):
    """The ledger was asked for something impossible (a double release, say): a bug in the caller."""


def suggest(name: str, known: Iterable[str]) -> str:
    """Write a remedy for an unknown name: the nearest known one, and the list."""
    names = sorted(set(known))
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    if not near and len(longer := [one for one in names if one.startswith(name)]) == 1:
        near = longer
    text = f"Did you mean {near[0]!r}? " if near else ""
    return f"{text}Known: {', '.join(names) or 'none'}."


def meant(file: str | Path) -> str:
    """Write a remedy for a file that is not there: the one beside it with the nearest name; empty if none is near."""
    try:
        there = {one.stem: one.name for one in sorted(Path(file).parent.iterdir()) if one.is_file()}
    except (OSError, ValueError):
        return ""
    near = get_close_matches(Path(file).stem, there, n=1, cutoff=0.6)
    return f"Did you mean {there[near[0]]!r}?" if near else ""


def unread(error: Exception, file: str | Path, remedy: str) -> tuple[str, str]:
    """Say why a file cannot be read, and the remedy: another one for a file that is not there."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file", meant(file) or "Check the path."
    return f"cannot be read: {(isinstance(error, OSError) and error.strerror) or error}", remedy
