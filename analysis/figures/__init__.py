"""Figures of results: a name maps to a kind; third parties add theirs by the entry point group `binwright.figures`."""

from collections.abc import Mapping
from typing import Literal

from binwright.simcore.registry import Registry

KINDS = (
    *("differences", "sweep", "gains", "pareto", "refusals", "servers", "timeline", "gantt", "topology", "spread"),
    *("size", "learning"),
)
BESIDE = {
    **{"refusals": "bars:refusals", "spread": "bars:spread", "gains": "differences:gains", "gantt": "servers:gantt"},
    **{"pareto": "sweep:pareto", "size": "sweep:size", "learning": "timeline:learning"},
}
FIGURES = Registry(
    "figure",
    "binwright.figures",
    {name: f"binwright.analysis.figures.kinds.{BESIDE.get(name, f'{name}:draw')}" for name in KINDS},
    "binwright list figures",
    functions=True,
)
FIRST = ("learning", "size", "sweep", "gains", "differences", "refusals", "servers", "pareto")
"""The kinds that answer a question, the first for what results were made for: of those that can be drawn, four are."""

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
