"""What publications claim: published.csv, a value a row; ours beside each; and the verdict on it."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from math import isclose
from typing import Literal, NamedTuple

from binwright.simcore.extras import pl

Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class Published:
    """Holds one printed value and what it was measured on, `key=value;...`."""

    publication: str
    table: str
    """The number of the table as printed, or the name of the section."""
    condition: str
    agent: str
    metric: str
    printed: str
    """The value as it is printed; a few are words."""
    spread: float | None = None
    """What stands behind a plus-minus sign, or the standard deviation over seeds."""

    @property
    def value(self) -> float | None:
        """Read the printed value as a number; None where it is words."""
        try:
            return float(self.printed)
        except ValueError:
            return None


def keys_of(condition: str) -> dict[str, str]:
    """Split a condition into its keys and values."""
    return dict(pair.split("=", 1) for pair in condition.split(";") if "=" in pair)


def in_words(condition: str) -> str:
    """Write a condition for readers."""
    return ", ".join(condition.replace("=", " ").replace("_", " ").split(";")).strip()


@cache
def published(publication: str) -> tuple[Published, ...]:
    """Read the values of one publication, in their order, and last what follows from them, such as a ratio.

    One that is printed twice is there once.
    """
    with files("binwright.reproduction").joinpath("published.csv").open(encoding="utf-8") as text:
        rows = [row for row in csv.DictReader(text) if row["publication"] == publication]
    spreads = [float(spread) if (spread := row.pop("spread")) else None for row in rows]
    every = (Published(printed=row.pop("value"), spread=each, **row) for row, each in zip(rows, spreads, strict=True))
    return tuple(dict.fromkeys(every))


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


@dataclass(frozen=True)
class Row(Published):
    """Holds a published value, ours with the ends of its interval, and the verdict."""

    ours: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: int = 0
    verdict: str = Verdict.INCOMPARABLE
    why: str = ""
    deviates: str = ""
    explained: str = ""
    """Why a miss is one, in a sentence."""


def judge(
    value: float, spread: float | None, ours: Value, better: Better, tolerance: float = 0.0, *, own: bool = True
) -> tuple[Verdict, str]:
    """Compare our value with a published one; returns the verdict and the reason as a sentence.

    `own` says whether the agent is of our own making. Ours is within the published spread if the two differ by no more
    than that, or by no more than the share `tolerance` of the published value, where the publication states one, or if
    our interval meets the published value or its spread.
    """
    difference, around = ours.mean - value, spread or 0.0
    low, high = (ours.mean if end is None else end for end in (ours.low, ours.high))
    reasons = {
        "is the same number": isclose(ours.mean, value, rel_tol=1e-9),
        # printed decimals are no binary fractions
        "is within the published spread": spread is not None and abs(difference) <= spread * (1 + 1e-9),
        f"is within {tolerance:.0%}, to which values are stated": abs(difference) <= tolerance * abs(value),
        "has a 95 % interval that meets the published value or its spread": value - around <= high
        and low <= value + around,
    }
    if why := next((why for why, holds in reasons.items() if holds), ""):
        return Verdict.WITHIN, f"Ours {why}."
    opposite = not value or value * ours.mean < 0  # percent would say nothing
    apart = f"{abs(difference):.4g}" if opposite else f"{abs(100 * difference / value):.1f} %"
    way = "higher" if difference > 0 else "lower"
    if not own:
        return Verdict.FARTHER, f"Ours is {way} by {apart}."
    verdict = Verdict.BETTER if way == better else Verdict.WORSE
    return verdict, f"Ours is {way} by {apart}, and {better} is better."


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Make a table of rows: misses first, and what cannot be compared last."""
    verdicts = [*Verdict]
    ordered = sorted(rows, key=lambda row: verdicts.index(Verdict(row.verdict)))
    return pl.DataFrame([{**asdict(row), "published": row.value} for row in ordered], infer_schema_length=None)
