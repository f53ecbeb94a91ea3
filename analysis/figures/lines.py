"""Draws lines with intervals over a number, in panels: of values that are no column of runs.parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from binwright.analysis.figures.chosen_style import style
from binwright.analysis.figures.style import grid, heading, legend, looks, new, tidy

FEW = 8
"""Lines with fewer points have marks and whiskers, the others bands."""
End = float | None


@dataclass(frozen=True)
class Line:
    """Holds one line: `points` (x, mean, low, high) in the order of x; of a published one crosses are drawn."""

    name: str
    points: Sequence[tuple[float, float, End, End]]
    """`low` and `high`, the ends of the interval, are None where there is none."""
    published: bool = False


@dataclass(frozen=True)
class Panel:
    """Holds the lines of one panel, and what is written around it."""

    lines: Sequence[Line]
    x: str
    y: str
    title: str = ""


def lines(panels: Sequence[Panel], title: str, *, caption: str = "", logarithmic: bool = False) -> Figure:
    """Draw panels of lines. Those of one name look the same in all panels; `logarithmic` is said of x.

    Panels with the same `y` have one scale.
    """
    drawn = [line for panel in panels for line in panel.lines]
    names = list(dict.fromkeys(line.name for line in drawn))
    look = looks(names)
    marked = {line.name for line in drawn if not line.published and len(line.points) < FEW}
    crosses = {line.name for line in drawn if line.published} - {line.name for line in drawn if not line.published}
    first = dict[str, Axes]()
    rows, columns = grid(len(panels), 3)
    with style():
        figure = new("page", 0.9 + 2.0 * rows)
        for number, panel in enumerate(panels):
            ax = figure.add_subplot(rows, columns, number + 1, sharey=first.get(panel.y))
            first.setdefault(panel.y, ax)
            tidy(ax)
            for line in panel.lines:
                _draw(ax, line, *look[line.name])
            if logarithmic:
                ax.set_xscale("log")
            ax.set_xlabel(panel.x)
            ax.set_ylabel(panel.y)
            ax.set_title(panel.title)
        shown = {name: (colour, marker if name in marked else "") for name, (colour, marker) in look.items()}
        legend(figure, names, shown, crosses=crosses)
        published = any(line.published for line in drawn)
        heading(figure, title, "; ".join(filter(None, (caption, "crosses: published" if published else ""))))
    return figure


def _draw(ax: Axes, line: Line, colour: str, marker: str) -> None:
    ends = [
        (x, mean, mean if low is None else low, mean if high is None else high) for x, mean, low, high in line.points
    ]
    x, mean, low, high = np.array(ends, np.float64).reshape(-1, 4).T
    if line.published:
        ax.plot(x, mean, linestyle="none", marker="x", color=colour, markersize=5)
        return
    few = len(x) < FEW
    ax.plot(x, mean, color=colour, marker=marker if few else "", markersize=3.5, linewidth=1.2)
    if few and (high > low).any():
        ax.errorbar(x, mean, (mean - low, high - mean), fmt="none", ecolor=colour, elinewidth=0.8, capsize=1.5)
    elif (high > low).any():
        ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
