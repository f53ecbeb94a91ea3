"""Rows of bars: where those of the points and agents stand, and what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from analysis.figures.chosen_style import points
from analysis.figures.figure_data import FigureData, Point

BARS = 48
"""More bars than that nobody reads."""


def named_rows(ax: Axes, chosen: FigureData, rows: Sequence[tuple[Point, str]], *, named: bool = True) -> list[float]:
    """Place the bars of these points and agents, top down; writes their names, and a point's above its bars."""
    places: list[float] = []
    at = 0.0
    for number, (point, _) in enumerate(rows):
        if chosen.swept and (number == 0 or rows[number - 1][0] != point):
            at += 1.3 if number else 0.0
            if named:
                said = ax.text(0.01, at - 1, chosen.name(point), va="center", fontsize=points())
                said.set_transform(ax.get_yaxis_transform())
                said.set_bbox({"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5})  # over other lines
        places.append(at)
        at += 1
    ax.set_yticks(places, [chosen.heading(agent) if named else "" for _, agent in rows])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(places) + 0.7, -1.7 if chosen.swept else -0.7)
    return places
