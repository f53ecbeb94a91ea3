"""What figures for a paper or for slides are like, by name: sizes and fonts."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from binwright.simcore.errors import UserError


class Venue(NamedTuple):
    """Says how wide a column and a page are, in inches, the size of the text in points, and the fonts, best first."""

    meaning: str
    column: float
    page: float
    points: float = 8
    fonts: tuple[str, ...] = ("DejaVu Sans", "Verdana")
    rc: dict[str, Any] = {}  # noqa: RUF012 (nobody changes it)


_TIMES = ("Times New Roman", "Times", "Nimbus Roman", "TeX Gyre Termes", "Liberation Serif", "STIXGeneral")
_LIBERTINE = ("Linux Libertine O", "Linux Libertine", "Libertinus Serif", *_TIMES)
_HELVETICA = ("Helvetica", "Arial", "Nimbus Sans", "TeX Gyre Heros", "Liberation Sans", "DejaVu Sans")
HOUSE = "house"
VENUES: dict[str, Venue] = {
    HOUSE: Venue("Binwright's own: for a screen, and for most papers", 3.5, 7.2),
    "report": Venue("half of a browser's window of 1280 pixels, as in the report", 3.5, 6.1, 9),
    "ieee": Venue("IEEE journals and conferences", 3.5, 7.16, 8, _TIMES, {"mathtext.fontset": "stix"}),
    "acm": Venue("ACM's acmart, two columns", 3.33, 7.0, 8, _LIBERTINE, {"mathtext.fontset": "stix"}),
    "lncs": Venue("Springer's LNCS: one column of 122 mm", 4.8, 4.8, 8, _HELVETICA),
    "slides": Venue("a slide of 13.3 inches: half of it, or all", 6.0, 12.0, 16, _HELVETICA),
}
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
