"""Says which requests are gangs: several equal parts that get their places at once or not at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class PartRules(NamedTuple):
    """Says where the parts of one gang may lie: all in one domain of a label, and at most so many in each of others."""

    together: str = ""
    at_most: tuple[tuple[str, int], ...] = ()
    """Labels, each with how many parts a domain of it takes; `server` is a label that every server has."""

    @property
    def restricts(self) -> bool:
        """Whether there is any place that a part may not take."""
        return bool(self.together or self.at_most)

    def __str__(self) -> str:
        rules = [f"together in one {self.together}"] if self.together else []
        return ", ".join([*rules, *(f"at most {most} per {label}" for label, most in self.at_most)])


NO_RULES = PartRules()


class Gang(NamedTuple):
    """Is what a request of several parts knows: the row of its first part, how many there are, and their rules."""

    first: int
    parts: int
    rules: PartRules


@dataclass(frozen=True, eq=False)
class Gangs:
    """Says of every request how many parts it has, int64 [n], and which of `rules` they keep, int64 [n].

    Where `first` int64 [n] is given, every row is a part, and that is the row of the first part of its gang. Parts of
    a gang are neighbours, alike in everything.
    """

    parts: Ints
    of: Ints
    rules: tuple[PartRules, ...] = (NO_RULES,)
    first: Ints | None = None

    @classmethod
    def of_parts(cls, parts: npt.ArrayLike, rules: PartRules = NO_RULES) -> Gangs:
        """Make gangs of so many parts, int64 [n]."""
        count = np.asarray(parts, np.int64)
        return cls(count, np.zeros(len(count), np.int64), (rules,))

    def take(self, rows: Any) -> Gangs:
        """Return those of these requests, in this order."""
        return replace(self, parts=self.parts[rows], of=self.of[rows])

    @property
    def ruled(self) -> bool:
        """Whether any of the rules restricts anything."""
        return any(rule.restricts for rule in self.rules)

    @property
    def leads(self) -> npt.NDArray[np.bool_]:
        """Tell which rows are the first part of a gang, or a request of one part, bool [n]."""
        assert self.first is not None
        leads: npt.NDArray[np.bool_] = self.first == np.arange(len(self.first))
        return leads

    def at(self, row: int) -> Gang | None:
        """Return the gang of a row; None for a request of one part."""
        assert self.first is not None
        if self.parts[row] == 1:
            return None
        return Gang(int(self.first[row]), int(self.parts[row]), self.rules[self.of[row]])

    def expanded(self) -> tuple[Ints, Gangs]:
        """Return for every part the row of its request, int64 [parts], and the same gangs with a row for every part."""
        rows = np.repeat(np.arange(len(self.parts)), self.parts)
        first = np.cumsum(self.parts) - self.parts
        return rows, replace(self.take(rows), first=first[rows])
