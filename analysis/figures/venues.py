"""What figures for a paper or for slides are like, by name: sizes, fonts, and whether print may be without colour."""

from __future__ import annotations

from typing import Any, NamedTuple


class Venue(NamedTuple):
    """Says how wide a column and a page are, in inches, the size of the text in points, and the fonts, best first.

    With `greyscale` colours differ in how light they are, so that they are told apart in print without colour.
    """

    meaning: str
    column: float
    page: float
    points: float = 8
    fonts: tuple[str, ...] = ("DejaVu Sans", "Verdana")
    greyscale: bool = False
    rc: dict[str, Any] = {}  # noqa: RUF012 (nobody changes it)


_TIMES = ("Times New Roman", "Times", "Nimbus Roman", "TeX Gyre Termes", "Liberation Serif", "STIXGeneral")
_LIBERTINE = ("Linux Libertine O", "Linux Libertine", "Libertinus Serif", *_TIMES)
_HELVETICA = ("Helvetica", "Arial", "Nimbus Sans", "TeX Gyre Heros", "Liberation Sans", "DejaVu Sans")
HOUSE = "house"
VENUES: dict[str, Venue] = {
    HOUSE: Venue("Binwright's own: for a screen, and for most papers", 3.5, 7.2),
    "report": Venue("half of a browser's window of 1280 pixels, as in the report", 3.5, 6.1, 9),
    "ieee": Venue("IEEE journals and conferences", 3.5, 7.16, 8, _TIMES, True, {"mathtext.fontset": "stix"}),
    "acm": Venue("ACM's acmart, two columns", 3.33, 7.0, 8, _LIBERTINE, True, {"mathtext.fontset": "stix"}),
    "lncs": Venue("Springer's LNCS: one column of 122 mm", 4.8, 4.8, 8, _HELVETICA, True),
    "slides": Venue("a slide of 13.3 inches: half of it, or all", 6.0, 12.0, 16, _HELVETICA),
}
