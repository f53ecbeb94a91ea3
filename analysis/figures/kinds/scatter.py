"""What the placed requests asked for, a dot each, coloured by how far apart their servers are.

Two resources at a time: a cloud in three dimensions cannot be read off paper, and hides what is behind.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.figures.chosen_style import points
from analysis.figures.figure_data import FigureData, Options
from analysis.figures.kind import figure
from analysis.figures.placements import placements
from analysis.figures.style import heading, narrow, new, shades, tidy
from fabric.network import SPANS

DOTS = 1500
"""So many dots a panel: of more requests the first ones, seed by seed."""


@figure(meaning="demand of the placed requests, coloured by span", needs="a network, record: [requests]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a row of panels per agent, one for each two of the resources and the bandwidth."""
    agents = chosen.few_agents()
    point = chosen.few_points(1)[0]
    names = [*chosen.results.resources, "bandwidth"]
    found = placements(chosen, point, (*names, "span"))
    pairs = list(combinations(names, 2))
    figure = new(options.width or "page", 0.9 + 1.25 * len(agents))
    axes = figure.subplots(len(agents), len(pairs), squeeze=False, sharex="col", sharey="col")
    most = min(DOTS, max(sum(map(len, frames)) for frames in found.values()))
    for row, agent in zip(axes, agents, strict=True):
        dots: dict[str, list[float]] = {name: [] for name in (*names, "span")}
        for frame in found[agent]:
            for name, values in dots.items():
                values += frame[name].to_list()
        span = np.array(dots["span"][:DOTS], np.int64)
        for ax, (one, other) in zip(row, pairs, strict=True):
            tidy(ax)
            x, y = np.array(dots[one][:DOTS]), np.array(dots[other][:DOTS])
            ax.scatter(x, y, s=min(9, max(1.5, 3000 / most)), c=np.array(shades())[span], linewidths=0, alpha=0.8)
            ax.set_ylabel(other)
        row[0].set_title(chosen.heading(agent), loc="left")
    for ax, (one, _) in zip(axes[-1], pairs, strict=True):
        ax.set_xlabel(one)
    marks = [Line2D([], [], color=colour, marker="o", markersize=4, linewidth=0) for colour in shades()]
    figure.legend(
        marks,
        SPANS,
        loc="outside lower center",
        ncols=2 if narrow(figure) else 4,
        frameon=False,
        fontsize=points(),
    )
    title = f"{chosen.title}: placed requests by spread"
    heading(figure, title, f"{chosen.seeds}, {DOTS:,} requests at most")
    return figure
