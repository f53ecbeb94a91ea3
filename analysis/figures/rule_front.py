"""How good the rules of a search are, by their length: on the seeds that they were searched on, and on others."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.figures.chosen_style import style
from analysis.figures.style import BLUE, GREY, VERMILLION, heading, new, tidy


def draw(front: pl.DataFrame, what: str) -> Figure:
    """Draw `search` and `validation` of every rule above its `length`; the `chosen` one is filled."""
    with style():
        figure = new("page", 3.2)
        ax = figure.add_subplot()
        for column, colour, marker in (("search", GREY, "o"), ("validation", BLUE, "s")):
            ax.plot(front["length"], front[column], marker, linestyle="-", color=colour, markerfacecolor="white",
                    markersize=5, linewidth=1, label=f"{column} seeds")  # fmt: skip
        chosen = front.filter("chosen")
        ax.plot(chosen["length"], chosen["validation"], "s", color=VERMILLION, markersize=7, label="chosen")
        ax.set_xlabel("length of the rule, in steps")
        ax.set_ylabel(what)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(frameon=False)
        tidy(ax)
        heading(figure, "What longer rules gain")
    return figure
