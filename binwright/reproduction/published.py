"""What publications print: published.csv, a value a row."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Published:
    """Holds one printed value and what it was measured on."""

    publication: str
    table: str
    """The number of the table as printed, or the name of the section."""
    condition: str
    """What it was measured on, as `key=value;...`"""
    agent: str
    metric: str
    printed: str
    """The value as it is printed; a few are words."""
    spread: float | None = None
    """What stands behind a plus-minus sign, or the standard deviation over seeds; None where nothing is said."""

    @property
    def conditions(self) -> dict[str, str]:
        """Split the condition into its keys and values."""
        pairs = (pair.partition("=") for pair in self.condition.split(";") if pair)
        return {key: value for key, _, value in pairs}

    @property
    def value(self) -> float | None:
        """Read the printed value as a number; None where it is words."""
        try:
            return float(self.printed)
        except ValueError:
            return None


def in_words(condition: str, stand_in: str = "") -> str:
    """Write a condition for readers, and mark the key, if any, whose data is a stand-in."""
    pairs = (pair.partition("=") for pair in condition.split(";"))
    marked = (f"{key} {value}{' (stand-in)' if key and key == stand_in else ''}" for key, _, value in pairs)
    return ", ".join(marked).replace("_", " ").strip()


@cache
def everything() -> tuple[Published, ...]:
    """Read all published values, in the order of the file; one that is printed twice is there once."""
    return tuple(dict.fromkeys(_read()))


def published(publication: str) -> tuple[Published, ...]:
    """Select what one publication prints."""
    return tuple(one for one in everything() if one.publication == publication)


def _read() -> Iterator[Published]:
    with files("binwright.reproduction").joinpath("published.csv").open(encoding="utf-8") as text:
        for row in csv.DictReader(text):
            spread = float(row["spread"]) if row["spread"] else None
            where = (row["publication"], row["table"], row["condition"], row["agent"], row["metric"])
            yield Published(*where, row["value"], spread)
