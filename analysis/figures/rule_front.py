"""How good the rules of a search are, by their length: on the seeds that they were searched on, and on others."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from binwright.analysis.figures.chosen_style import style
from binwright.analysis.figures.style import BLUE, GREY, VERMILLION, heading, new, tidy


def draw(front: pl.DataFrame, what: str) -> Figure:
    """Draw `search` and `validation` of every rule above its `length`; the `chosen` one is filled."""
    with style():
        figure = new("page", 3.2)
        ax = figure.add_subplot()
        for column, colour in (("search", GREY), ("validation", BLUE)):
            ax.plot(
                front["length"], front[column], "o-", color=colour, mfc="white", ms=5, lw=1, label=f"{column} seeds"
            )
        chosen = front.filter("chosen")
        ax.plot(chosen["length"], chosen["validation"], "o", color=VERMILLION, ms=7, label="chosen")
        ax.set_xlabel("length of the rule, in steps")
        ax.set_ylabel(what)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(frameon=False)
        tidy(ax)
        heading(figure, "What longer rules gain")
    return figure
