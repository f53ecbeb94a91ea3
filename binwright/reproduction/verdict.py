"""The verdict on our value beside a published one."""

from __future__ import annotations

from enum import StrEnum
from math import isclose
from typing import Literal, NamedTuple

Better = Literal["higher", "lower"]
WIDE = 0.2
"""Intervals that are longer than this share of the published value say little, and the reason says so."""


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


class Value(NamedTuple):
    """Holds a value of ours with the ends of its 95 % interval, which are None where there is none."""

    mean: float
    low: float | None
    high: float | None
    seeds: int


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
        said = (
            f"They differ by {_percent(difference, value)}, and the publication states its values to {tolerance:.0%}."
        )
        return Verdict.WITHIN, said.replace("%", " %")
    around = spread or 0.0
    if ours.low is not None and ours.high is not None and ours.low <= value + around and ours.high >= value - around:
        met = "the published spread" if spread else "the published value"
        wide = ", which is wide," if ours.high - ours.low > WIDE * abs(value) else ""
        return Verdict.WITHIN, f"Our 95 % interval{wide} meets {met}."
    way = "higher" if difference > 0 else "lower"
    opposite = not value or value * ours.mean < 0  # percent would say nothing
    apart = shown(abs(difference)) if opposite else _percent(difference, value).replace("%", " %")
    if not own:
        return Verdict.FARTHER, f"Ours is {way} by {apart}."
    verdict = Verdict.BETTER if way == better else Verdict.WORSE
    return verdict, f"Ours is {way} by {apart}, and {better} is better."


def shown(value: float | None, decimals: int = 1) -> str:
    """Write a number with four significant digits; from a thousand on with so many decimals, if it is not whole."""
    if value is None:
        return ""
    if value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.{decimals}f}" if abs(value) >= 1000 else f"{value:.4g}"


def _percent(difference: float, value: float) -> str:
    return f"{abs(difference / value):.1%}"
