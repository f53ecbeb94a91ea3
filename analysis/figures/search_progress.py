"""How good the answers of searches are over time: one line each, downward where a better answer was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from binwright.analysis.figures.style import GREY, heading, legend, looks, new, points, style, tidy

Course = Sequence[tuple[float, int]]
"""After how many seconds there was an answer of how many servers."""
FIRST = 1e-4
"""Seconds: what was there earlier is drawn here, since the axis is logarithmic."""


def draw(courses: Mapping[str, Sequence[Course]], bound: int, seconds: float, title: str) -> Figure:
    """Draw every course of every way to pack until `seconds`, or to its end if that is later, above the lower bound."""
    look = looks(courses)
    with style():
        figure = new("page", 3.2)
        ax = figure.add_subplot()
        end = max([seconds, *(one[-1][0] for some in courses.values() for one in some if one)])
        for name, some in courses.items():
            for one in filter(None, some):
                times = [*(max(FIRST, at) for at, _ in one), end]
                bins = [*(count for _, count in one), one[-1][1]]
                colour, marker = look[name]
                ax.plot(times, bins, drawstyle="steps-post", color=colour, linewidth=1, alpha=0.9)
                ax.plot(times[:-1], bins[:-1], marker, color=colour, markersize=3, linestyle="none")
        ax.axhline(bound, color=GREY, linewidth=0.8, linestyle=":")
        ax.annotate(
            "lower bound", (end, bound), (0, 2), textcoords="offset points", ha="right", color=GREY, fontsize=points()
        )
        ax.set_xscale("log")
        ax.set_xlabel("seconds")
        ax.set_ylabel("servers")
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        tidy(ax)
        heading(figure, title)
        legend(figure, courses, look)
    return figure
