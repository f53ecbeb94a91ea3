"""How long the agents took for a decision: the share of the decisions of one seed that were faster than a time."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import grid, heading, legend, new, tidy

SLOW = 99
"""The percentile that the title names. Times above twice that are not shown: a few may be a thousand times as long."""

TICKS = 15
"""So many ticks with their times have room beside one another."""


@figure(meaning="distribution of the time of a decision", needs="record: [times]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a panel per point, for the first seed that all agents finished at all points; marks are the medians."""
    points, runs = chosen.few_points(), list(chosen.seeded())
    seed = chosen.shared_seed(found for _, _, found in runs)
    width = options.width or "page"
    rows, columns = grid(len(points), 3 if width == "page" else 1)
    figure = new(width, 0.8 + 2.0 * rows)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    panels = dict(zip(points, axes, strict=False))
    fastest, slowest = np.inf, 0.0
    for point, agent, found in runs:
        (colour, marker), ax = chosen.look[agent], panels[point]
        seconds = np.sort(chosen.results.times(found[seed])["seconds"].to_numpy())
        share = 100 * np.arange(1, len(seconds) + 1) / len(seconds)
        ax.step(seconds, share, where="post", color=colour, linewidth=1.1)
        ax.plot(np.median(seconds), 50, marker=marker, color=colour, markersize=4)
        fastest = min(fastest, seconds[0])
        slowest = max(slowest, float(np.percentile(seconds, SLOW)))
    decades = max(1, round(np.log10(2 * slowest / fastest)))
    ticks = (1, 2, 5) if 3 * decades * columns <= TICKS else (1,)
    for ax in axes[len(points) :]:
        ax.set_visible(False)
    for point, ax in panels.items():
        tidy(ax)
        ax.set_xscale("log")
        ax.set_xlim(right=2 * slowest)
        ax.xaxis.set_major_locator(LogLocator(subs=ticks))
        ax.xaxis.set_major_formatter(EngFormatter("s"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_title(chosen.panel_title(point, columns), loc="left")
        ax.set_xlabel("time of a decision")
    for ax in axes[::columns]:
        ax.set_ylabel("% of the decisions")
    legend(figure, chosen.agents, chosen.look, named=chosen.heading)
    whose = "any agent's" if len(chosen.agents) > 1 else "the"
    title = f"In one seed, {SLOW} % of {whose} decisions took {EngFormatter('s', places=1)(slowest)} at most"
    heading(figure, title, f"{chosen.title}: seed {seed}; marks are medians; longer than twice that is not shown")
    return figure
