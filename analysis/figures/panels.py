"""What several kinds of figures draw: curves over a number, and rows of a panel for points and agents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from binwright.analysis.figures.figure_data import Average, FigureData, Point
from binwright.analysis.figures.style import Look, points

BARS = 48
"""More bars than that nobody reads."""


def curve(ax: Axes, line: Sequence[tuple[float, Average]], scale: float, look: Look) -> None:
    """Draw a curve with the 95 % interval of every value."""
    ax.errorbar(
        [x for x, _ in line],
        [scale * average.mean for _, average in line],
        yerr=np.transpose([average.arms(scale) for _, average in line]),
        color=look[0],
        marker=look[1],
        markersize=3.5,
        linewidth=1.0,
        elinewidth=0.8,
        capsize=1.5,
    )


def named_rows(ax: Axes, chosen: FigureData, rows: Sequence[tuple[Point, str]], *, named: bool = True) -> list[float]:
    """Place the bars of these points and agents, top down; writes their names, and a point's above its bars."""
    places: list[float] = []
    at = 0.0
    for number, (point, _) in enumerate(rows):
        if chosen.swept and (number == 0 or rows[number - 1][0] != point):
            at += 1.3 if number else 0.0
            if named:
                label = ax.text(0.01, at - 1, chosen.name(point), va="center", fontsize=points(), zorder=9)
                label.set_transform(ax.get_yaxis_transform())
                label.set_in_layout(False)  # it goes on over the next panels, and takes no room from them
                label.set_bbox({"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5})  # over other lines
        places.append(at)
        at += 1
    ax.set_yticks(places, [chosen.heading(agent) if named else "" for _, agent in rows])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(places) + 0.7, -1.7 if chosen.swept else -0.7)
    return places
