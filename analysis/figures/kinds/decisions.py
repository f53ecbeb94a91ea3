"""How long the agents took for each decision of one seed, in the order of the decisions, on a logarithmic axis."""

from __future__ import annotations

from textwrap import wrap

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from analysis.figures.figure_data import FigureData, Options
from analysis.figures.kind import figure
from analysis.figures.style import grid, heading, legend, new, tidy
from simcore.errors import ResultsError

TITLE = 84
"""Letters in a line of titles across a page."""


@figure(meaning="time of every decision of one seed, in their order", needs="record: [times]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a panel per point: every decision as a dot, and the mean of each agent as a line.

    The seed is the first that all agents finished at all points.
    """
    points, runs = chosen.few_points(), list(chosen.seeded())
    shared = set.intersection(*(set(found) for _, _, found in runs))
    if not shared:
        remedy = "Choose agents with --agents, or one seed with --where seed=NUMBER."
        raise ResultsError("no seed was finished by all agents", file=chosen.results.folder, remedy=remedy)
    seed = min(shared)
    width = options.width or "page"
    rows, columns = grid(len(points), 3 if width == "page" else 1)
    figure = new(width, 0.8 + 2.0 * rows)
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    panels = dict(zip(points, axes, strict=False))
    for point, agent, found in runs:
        (colour, marker), ax = chosen.look[agent], panels[point]
        seconds = chosen.results.times(found[seed])["seconds"].to_numpy()
        at = np.arange(1, len(seconds) + 1)
        ax.scatter(at, seconds, s=4, c=colour, marker=marker, linewidths=0, alpha=0.7, rasterized=True)
        ax.axhline(float(seconds.mean()), color=colour, linewidth=1)
    for ax in axes[len(points) :]:
        ax.set_visible(False)
    for point, ax in panels.items():
        tidy(ax)
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(EngFormatter("s"))
        ax.set_title("\n".join(wrap(chosen.name(point), TITLE // columns)), loc="left")
        ax.set_xlabel("decision")
    for ax in axes[::columns]:
        ax.set_ylabel("time of the decision")
    legend(figure, chosen.agents, chosen.look, named=chosen.heading)
    heading(figure, f"{chosen.title}: time of every decision", f"seed {seed}; lines are means")
    return figure
