"""How large figures for a paper or for slides are, by name."""

from __future__ import annotations

import re

from binwright.simcore.errors import UserError

HOUSE = "house"
VENUES = {
    HOUSE: (3.5, 7.2),
    "report": (3.5, 6.1),
    "ieee": (3.5, 7.16),
    "acm": (3.33, 7.0),
    "lncs": (4.8, 4.8),
    "slides": (6.0, 12.0),
}
"""Inches of a column and of a page. Fonts, and the size of text, are in styles/NAME.mplstyle."""
INCHES = {"": 1.0, "in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
_SIZE = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*x\s*(\d+\.?\d*|\.\d+)\s*(in|cm|mm|)\s*")
SMALLEST, LARGEST = 0.5, 60.0


def inches(size: str) -> tuple[float, float]:
    """Read a width and a height, with or without a unit, as inches."""
    read = _SIZE.fullmatch(size)
    sides = [float(read[number]) * INCHES[read[3]] for number in (1, 2)] if read else []
    if not sides or not all(SMALLEST <= side <= LARGEST for side in sides):
        remedy = f"Write width x height, each from {SMALLEST} to {LARGEST:g} inches: 3.3x2.2 for inches, or 84x56 mm."
        raise UserError("is not the size of a figure", key="size", value=size, remedy=remedy)
    return sides[0], sides[1]
