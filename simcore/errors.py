"""One tree of errors. A `UserError` is answered in one message and exit code 2; anything else is a bug."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from traceback import FrameSummary, extract_tb

FEW, MANY = 12, 30
"""So many names are listed beside the nearest, and so many at most."""
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
        return "\n".join(mistake.in_words() for mistake in self.each())

    def each(self) -> list[UserError]:
        """List this mistake and the others."""
        return [self, *self.others]

    def in_words(self) -> str:
        """Put this mistake alone in words."""
        where = "" if self.file is None else str(self.file)
        if self.line is not None:
            where += f":{self.line}"
        text = ": ".join(short(part, LONGEST) for part in (where, self.key or "", self.problem) if part)
        if self.value is not None:
            value = self.value if isinstance(self.value, date) else short(repr(self.value), LONGEST)
            text += f", got {value}" if self.problem.startswith("expected ") else f" (got {value})"
        return f"{text}\n  {short(self.remedy, 10 * LONGEST)}" if self.remedy else text


def short(text: str, most: int = 80) -> str:
    """Cut a text that is too long to be read."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def from_working_folder(file: str | Path) -> Path:
    """Write a file as it is seen from the working folder, if it is below it."""
    path, current = Path(file), Path.cwd()
    return path.relative_to(current) if path.is_relative_to(current) else path


def combined(mistakes: Iterable[UserError]) -> UserError:
    """Join mistakes: the first of them says the others, too."""
    first, *first.others = dict.fromkeys(error for mistake in mistakes for error in mistake.each())
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


class KernelError(UserError):
    """A rule of the user's own cannot be compiled."""


class ExtraNeeded(UserError):
    """A package is needed that only an extra installs."""


class RunError(BinwrightError):
    """A run that cannot go on: it is recorded as failed and stops no other."""


class AgentError(RunError):
    """An agent raised, or answered something that is not a placement."""


class InfeasiblePlacement(AgentError):
    """A placement that breaks the rules or does not fit; the ledger is unchanged."""


class LedgerError(BinwrightError):
    """The ledger was asked for something impossible (a double release, say): a bug in the caller."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Find the known name that may have been meant: a third of the letters may differ, and case does not count."""
    if len(name) > LONGEST:
        return None
    near = []
    for candidate in known:
        most = max(len(name), len(candidate)) // 3
        if abs(len(name) - len(candidate)) <= most and (count := edits(name.lower(), candidate.lower())) <= most:
            near.append((count, candidate))
    return min(near)[1] if near else None


def edits(word: str, other: str) -> int:
    """Count the letters to add, take away, change, or swap with the next one, that make one text the other."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(word):
        line = [row + 1]
        for at, wanted in enumerate(other):
            line.append(min(last[at] + (letter != wanted), last[at + 1] + 1, line[at] + 1))
            if row and at and letter == other[at - 1] and wanted == word[row - 1]:
                line[-1] = min(line[-1], before[at - 1] + 1)
        before, last = last, line
    return last[-1]


def suggest(name: str, known: Iterable[str], listed: str = "") -> str:
    """Write a remedy for an unknown name: what may have been meant, and what is known; `listed` lists many."""
    names = sorted(set(known))
    near = nearest(name, names)
    text = f"Did you mean {near!r}? " if near else ""
    if len(names) > FEW and listed:
        return f"{text}{listed} lists all {len(names)}."
    if len(names) > MANY or (near and len(names) > FEW):
        return text.rstrip() or f"Known: {', '.join(names[:FEW])}, and {len(names) - FEW} more."
    return f"{text}Known: {', '.join(names) or 'none'}."


def meant(file: str | Path, ending: str = "") -> str:
    """Write a remedy for a file that is not there: the one beside it with the nearest name; empty if none is near.

    It is of the same kind: it ends in nearly the same way, or in this way where the name that was given has no ending.
    """
    wanted = Path(file)
    try:
        files = [Path(path.name) for path in sorted(wanted.parent.iterdir()) if path.is_file()]
    except (OSError, ValueError):
        return ""
    ending = wanted.suffix or ending
    same = {path.stem: path for path in files if not ending or nearest(ending, [path.suffix])}
    near = nearest(wanted.stem, same)
    return f"Did you mean {same[near].name!r}?" if near else ""


def unread(error: Exception, file: str | Path, remedy: str) -> tuple[str, str]:
    """Say why a file cannot be read, and the remedy: another one for a file that is not there."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file", meant(file) or "Check the path."
    return f"cannot be read: {(isinstance(error, OSError) and error.strerror) or error}", remedy


def place_of(error: BaseException, is_own: Callable[[FrameSummary], bool]) -> str:
    """Find the last line that an error came through and that `is_own` accepts, or else any: `file:line`."""
    frames = extract_tb(error.__traceback__)
    at = ([frame for frame in frames if is_own(frame)] or frames)[-1]
    return f"{at.filename}:{at.lineno}"


def place_in(module: str, error: BaseException) -> str:
    """Find the last line of this module that an error came through, or else the line that raised it: `file:line`."""
    own = getattr(sys.modules.get(module), "__file__", None)
    return place_of(error, lambda frame: frame.filename == own)
