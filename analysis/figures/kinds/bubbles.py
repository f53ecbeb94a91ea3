"""Servers per request against the spread of its placement: a bubble's area is the share of placements there."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from analysis.compare.statistics import mean_interval
from analysis.figures.figure_data import FigureData, Options, Point
from analysis.figures.kind import figure
from analysis.figures.placements import placements
from analysis.figures.style import grid, heading, new, tidy
from fabric.network import SPANS

LARGEST = 400.0
"""Area of the bubble of all placements, in square points."""


@figure(meaning="servers per request against span", needs="a network, record: [requests]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a panel per agent; the mark is the mean over the seeds with its 95 % interval, both ways."""
    agents = chosen.few_agents()
    point: Point = chosen.few_points(1)[0]
    found = placements(chosen, point, ("servers", "span"))
    most = max(int(frame["servers"].to_numpy().max()) for frames in found.values() for frame in frames)
    width = options.width or ("column" if len(agents) <= 2 else "page")
    lines, columns = grid(len(agents), 2 if width == "column" else 4)
    figure = new(width, 0.8 + 1.35 * lines)
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    for ax in axes.flat[len(agents) :]:
        ax.set_axis_off()
    for ax, agent in zip(axes.flat, agents, strict=False):
        tidy(ax)
        counts = np.zeros((most + 1, len(SPANS)))
        for frame in found[agent]:
            np.add.at(counts, (frame["servers"].to_numpy(), frame["span"].to_numpy()), 1 / len(frame))
        share = counts / len(found[agent])
        servers, span = np.nonzero(share)
        colour = chosen.look[agent][0]
        ax.scatter(servers, span, s=LARGEST * share[servers, span], color=colour, alpha=0.5, linewidths=0)
        (x, x_half), (y, y_half) = (
            mean_interval(np.array([frame[name].mean() for frame in found[agent]])) for name in ("servers", "span")
        )
        errors = {"xerr": x_half, "yerr": y_half} if np.isfinite(x_half) else {}
        ax.errorbar(x, y, **errors, color="#222222", marker="o", markersize=2.5, mfc="white", mew=0.6, elinewidth=1)
        ax.set_title(chosen.heading(agent))
        ax.set_xlim(0.3, most + 0.7)
        ax.set_ylim(-0.6, len(SPANS) - 0.4)
        ax.set_yticks(range(len(SPANS)), SPANS)
    for ax in axes[-1]:
        ax.set_xlabel("servers of a request")
    marks = f"area: share of placements; mark: {chosen.caption}"
    heading(figure, f"{chosen.title}: servers and spread", marks)
    return figure
