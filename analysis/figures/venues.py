"""How wide figures for a paper or for slides are, by name."""

from collections.abc import Mapping
from typing import Literal

Venue = Literal["house", "report", "ieee", "acm", "lncs", "slides"]
VENUES: Mapping[Venue, tuple[float, float]] = {
    "house": (3.5, 7.2),
    "report": (3.5, 6.1),
    "ieee": (3.5, 7.16),
    "acm": (3.33, 7.0),
    "lncs": (4.8, 4.8),
    "slides": (6.0, 12.0),
}
"""Inches of a column and of a page. Fonts, and the size of text, are in styles/NAME.mplstyle."""
