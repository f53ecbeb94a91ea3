"""How wide figures for a paper or for slides are, by name."""

from collections.abc import Mapping
from typing import Literal

Venue = Literal["house", "report", "ieee", "acm", "lncs", "slides"]
VENUES: Mapping[Venue, Mapping[Literal["column", "page"], float]] = {
    "house": {"column": 3.5, "page": 7.2},
    "report": {"column": 3.5, "page": 6.1},
    "ieee": {"column": 3.5, "page": 7.16},
    "acm": {"column": 3.33, "page": 7.0},
    "lncs": {"column": 4.8, "page": 4.8},
    "slides": {"column": 6.0, "page": 12.0},
}
"""Inches. Fonts, and the size of text and of lines, are in styles/NAME.mplstyle."""
