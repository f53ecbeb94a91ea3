"""What a reproduction came to, and how it was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binwright.reproduction.experiment import Publication
from binwright.reproduction.figures import Picture
from binwright.reproduction.rows import Row, frame_of
from binwright.reproduction.verdict import Verdict

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Made:
    """Holds what pages say of how a reproduction was made."""

    command: str
    date: str
    machine: str
    minutes: Mapping[str, float]
    """How long the runs of each publication took, one after the other."""


@dataclass(frozen=True)
class Outcome:
    """Holds what publications print beside what came of our runs."""

    publications: tuple[Publication, ...]
    listed: tuple[Row, ...]
    made: Made
    pictures: tuple[Picture, ...] = ()

    @property
    def rows(self) -> pl.DataFrame:
        """Make a table with a row for every published value, misses first."""
        return frame_of(self.listed)

    def of(self, publication: Publication) -> list[Row]:
        """Select the rows of one publication."""
        return [one for one in self.listed if one.publication == publication.name]

    def figures(self, publication: Publication) -> dict[str, list[Picture]]:
        """Select the figures of one publication, by what is printed above them."""
        found: dict[str, list[Picture]] = {}
        for one in self.pictures:
            if one.publication == publication.name:
                found.setdefault(one.heading, []).append(one)
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(self.listed)})"


def counted(rows: Sequence[Row]) -> str:
    """Count the verdicts, such as `3 worse, 12 within, 40 cannot be compared`."""
    found = Counter(one.verdict for one in rows)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in Verdict if found[verdict]) or "nothing"
