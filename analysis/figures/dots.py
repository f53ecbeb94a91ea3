"""Draws values as dots with intervals, a row for each name, in panels; published ones are rings beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from textwrap import wrap
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from binwright.analysis.figures.style import (
    GREY,
    VERMILLION,
    Look,
    Width,
    heading,
    looks,
    new,
    style,
    tidy,
)

APART = 5.0
"""Panels of one measure have one scale, unless it would be so many times as wide as their own ones are."""


class Dot(NamedTuple):
    """Holds a value, with the ends of its interval and the published value, each None where there is none."""

    name: str
    mean: float
    low: float | None = None
    high: float | None = None
    published: float | None = None
    spread: float | None = None
    missed: bool = False
    """Whether the published value is not reproduced: its row is shaded."""

    def ends(self) -> tuple[float, float]:
        """Find the least and the largest value that is drawn."""
        printed, spread = self.published, self.spread or 0.0
        around = () if printed is None else (printed - spread, printed + spread)
        drawn = [self.mean, *(end for end in (self.low, self.high) if end is not None), *around]
        return min(drawn), max(drawn)


@dataclass(frozen=True)
class Panel:
    """Holds the dots of one panel, and what is written around it."""

    dots: Sequence[Dot]
    x: str
    title: str = ""


def dots(panels: Sequence[Panel], title: str, *, caption: str = "", columns: int = 1, width: Width = "page") -> Figure:
    """Draw panels of dots, so many in a row; all have a row for each name that any of them has."""
    names = list(dict.fromkeys(dot.name for panel in panels for dot in panel.dots))
    look, rows = looks(names), -(-len(panels) // columns)
    first: dict[str, Axes] = {}
    with style():
        figure = new(width, 0.5 + rows * (0.55 + 0.15 * len(names)))
        for number, panel in enumerate(panels):
            shared = first.get(panel.x) if _is_one_scale([one for one in panels if one.x == panel.x]) else None
            ax = figure.add_subplot(rows, columns, number + 1, sharex=shared)
            first.setdefault(panel.x, ax)
            tidy(ax, grid="x")
            for dot in panel.dots:
                _draw(ax, dot, names.index(dot.name), look[dot.name])
            ax.set_ylim(len(names) - 0.5, -0.5)
            ax.set_yticks(range(len(names)), names if number % columns == 0 else [""] * len(names))
            ax.xaxis.set_major_locator(MaxNLocator(6 if columns < 3 else 4 if columns == 3 else 3))
            if number < columns or panels[number - columns].title != panel.title:
                ax.set_title(panel.title)
            row = panels[number - number % columns :][:columns]
            if any(one.x != panel.x for one in row):
                ax.set_xlabel("\n".join(wrap(panel.x, 30)))
            elif number % columns == 0:  # once for all of its row
                ax.set_xlabel(panel.x, loc="left")
        heading(figure, title, caption)
    return figure


def _is_one_scale(panels: Sequence[Panel]) -> bool:
    """Tell whether panels can be read on one scale."""
    ends = [[end for dot in panel.dots for end in dot.ends()] for panel in panels]
    widths = [max(own) - min(own) for own in ends]
    return max(map(max, ends)) - min(map(min, ends)) <= APART * median(widths)


def _draw(ax: Axes, dot: Dot, place: int, look: Look) -> None:
    colour, _ = look
    if dot.missed:
        ax.axhspan(place - 0.5, place + 0.5, color=VERMILLION, alpha=0.16, linewidth=0)
    if dot.published is not None:
        ax.plot((dot.published, dot.mean), (place, place), color=GREY, linewidth=0.6, zorder=1)
        if dot.spread:
            ax.errorbar(dot.published, place, xerr=dot.spread, fmt="none", ecolor=GREY, elinewidth=2.4, alpha=0.35)
        ax.plot(dot.published, place, marker="o", mfc="white", mec=colour, markersize=5.5, zorder=2)
    if dot.low is not None and dot.high is not None:
        arms = [[dot.mean - dot.low], [dot.high - dot.mean]]
        ax.errorbar(dot.mean, place, xerr=arms, fmt="none", ecolor=colour, elinewidth=0.9, capsize=1.8, zorder=3)
    ax.plot(dot.mean, place, marker="o", color=colour, markersize=3, zorder=4)
