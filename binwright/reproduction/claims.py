"""What publications claim: published.csv and derived.csv, a value a row; ours beside each; and the verdict on it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from math import isclose
from typing import Any, Literal, NamedTuple, TypeVar

from binwright.simcore.extras import pl

K = TypeVar("K")
T = TypeVar("T")
Better = Literal["higher", "lower"]
WIDE = 0.2
"""Intervals that are longer than this share of the published value say little, and the reason says so."""


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
    def value(self) -> float | None:
        """Read the printed value as a number; None where it is words."""
        try:
            return float(self.printed)
        except ValueError:
            return None


def keys_of(condition: str) -> dict[str, str]:
    """Split a condition into its keys and values."""
    pairs = (pair.partition("=") for pair in condition.split(";") if pair)
    return {key: value for key, _, value in pairs}


def in_words(condition: str, stand_in: str = "") -> str:
    """Write a condition for readers, and mark the key, if any, whose data is a stand-in."""
    pairs = (pair.partition("=") for pair in condition.split(";"))
    marked = (f"{key} {value}{' (stand-in)' if key and key == stand_in else ''}" for key, _, value in pairs)
    return ", ".join(marked).replace("_", " ").strip()


@cache
def everything(file: str = "published.csv") -> tuple[Published, ...]:
    """Read all values of a file, in its order; one that is printed twice is there once."""
    with files("binwright.reproduction").joinpath(file).open(encoding="utf-8") as text:
        rows = [*csv.DictReader(text)]
    spreads = [float(spread) if (spread := row.pop("spread")) else None for row in rows]
    found = [Published(printed=row.pop("value"), spread=each, **row) for row, each in zip(rows, spreads, strict=True)]
    return tuple(dict.fromkeys(found))


def published(publication: str, file: str = "published.csv") -> tuple[Published, ...]:
    """Select the values of one publication in a file.

    derived.csv has what follows from printed values, such as a ratio, and can be compared where those cannot.
    """
    return tuple(one for one in everything(file) if one.publication == publication)


class Value(NamedTuple):
    """Holds a value of ours with the ends of its 95 % interval, which are None where there is none."""

    mean: float
    low: float | None
    high: float | None
    seeds: int


class Verdict(StrEnum):
    """Says how our value stands to the published one; a miss comes first wherever verdicts are listed.

    `worse` and `better` are said of agents of our own making. Of all others, which are to behave as published, what is
    higher is no better: their values are `farther` from the published ones than they may be.
    """

    WORSE = "worse"
    FARTHER = "farther"
    BETTER = "better"
    WITHIN = "within"
    INCOMPARABLE = "cannot be compared"


MISSES = (Verdict.WORSE, Verdict.FARTHER)
"""What was not reproduced."""


@dataclass(frozen=True, slots=True)
class Row:
    """Holds a published value, ours, and the verdict."""

    publication: str
    table: str
    condition: str
    agent: str
    metric: str
    published: float | None
    """None where words are printed."""
    spread: float | None
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: int = 0
    printed: str = ""
    verdict: str = Verdict.INCOMPARABLE
    why: str = ""
    quick: bool = False
    """Whether ours is of fewer seeds, or of less time, than the whole experiment has."""
    experiment: str = ""
    deviates: str = ""
    stand_in: str = ""
    """The key of the condition whose data is not here, so that a stand-in was taken; empty where there is none."""
    explained: str = ""
    """Why a miss is one, in a sentence; empty where that is not known."""

    @classmethod
    def of(cls, one: Published, ours: Value | None = None, **more: Any) -> Row:
        """Make the row of a published value, with the verdict and what else is known of it."""
        where = (one.publication, one.table, one.condition, one.agent, one.metric, one.value, one.spread)
        mean, low, high, seeds = ours or (None, None, None, 0)
        return cls(*where, mean, low, high, seeds, one.printed, **more)

    @property
    def difference(self) -> float | None:
        """Subtract the published value from ours."""
        return None if self.ours is None or self.published is None else self.ours - self.published


def judge(
    value: float, spread: float | None, ours: Value, better: Better, tolerance: float = 0.0, *, own: bool = True
) -> tuple[Verdict, str]:
    """Compare our value with a published one; returns the verdict and the reason as a sentence.

    `own` says whether the agent is of our own making.

    Ours is within the published spread if the two differ by no more than that, or by no more than the share
    `tolerance` of the published value, where the publication states one, or if our interval meets the published value
    or its spread.
    """
    difference = ours.mean - value
    if isclose(ours.mean, value, rel_tol=1e-9):
        return Verdict.WITHIN, "The two are the same number."
    if spread is not None and abs(difference) <= spread * (1 + 1e-9):  # printed decimals are no binary fractions
        return Verdict.WITHIN, f"They differ by {shown(abs(difference))}, and the published spread is {shown(spread)}."
    if abs(difference) <= tolerance * abs(value):
        stated = f"{tolerance:.0%}".replace("%", " %")
        said = f"They differ by {_percent(difference, value)}, and the publication states its values to {stated}."
        return Verdict.WITHIN, said
    around = spread or 0.0
    if ours.low is not None and ours.high is not None and ours.low <= value + around and ours.high >= value - around:
        met = "the published spread" if spread else "the published value"
        wide = ", which is wide," if ours.high - ours.low > WIDE * abs(value) else ""
        return Verdict.WITHIN, f"Our 95 % interval{wide} meets {met}."
    way = "higher" if difference > 0 else "lower"
    opposite = not value or value * ours.mean < 0  # percent would say nothing
    apart = shown(abs(difference)) if opposite else _percent(difference, value)
    if not own:
        return Verdict.FARTHER, f"Ours is {way} by {apart}."
    verdict = Verdict.BETTER if way == better else Verdict.WORSE
    return verdict, f"Ours is {way} by {apart}, and {better} is better."


def ordered(rows: Sequence[Row]) -> list[Row]:
    """Sort rows: misses first, the largest of them at the top, and what cannot be compared last."""
    places = {str(verdict): place for place, verdict in enumerate(Verdict)}

    def key(one: Row) -> tuple[int, float]:
        share = abs(one.difference / one.published) if one.difference is not None and one.published else 0.0
        return places[one.verdict], -share if one.verdict != Verdict.INCOMPARABLE else 0.0

    return sorted(rows, key=key)


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Make a table of rows, misses first."""
    return pl.DataFrame([asdict(one) for one in ordered(rows)], infer_schema_length=None)


def comparable(rows: Sequence[Row]) -> list[Row]:
    """Select the rows that can be compared, in the order of metrics and conditions."""
    metrics, conditions = (list(dict.fromkeys(getattr(one, key) for one in rows)) for key in ("metric", "condition"))
    found = [one for one in rows if one.verdict != Verdict.INCOMPARABLE]
    return sorted(found, key=lambda one: (metrics.index(one.metric), conditions.index(one.condition)))


def apart(rows: Sequence[Row]) -> tuple[list[str], str]:
    """Write the conditions of rows without what all have in common, and what that is."""
    parts = [in_words(one.condition, one.stand_in).split(", ") for one in rows]
    shared = set(parts[0]).intersection(*parts)
    names = [", ".join(part for part in each if part not in shared) for each in parts]
    return names, ", ".join(part for part in parts[0] if part in shared)


def by(those: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Group what has one key, in the order of the keys."""
    found: dict[K, list[T]] = {}
    for one in those:
        found.setdefault(key(one), []).append(one)
    return found


def shown(value: float | None, decimals: int = 1) -> str:
    """Write a number with four significant digits; from a thousand on with so many decimals, if it is not whole."""
    if value is None:
        return ""
    if value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.{decimals}f}" if abs(value) >= 1000 else f"{value:.4g}"


def _percent(difference: float, value: float) -> str:
    return f"{abs(difference / value):.1%}".replace("%", " %")
