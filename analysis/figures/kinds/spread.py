"""How far apart the servers of a placement are: the share of each span, a bar per agent."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.compare.statistics import mean_interval
from analysis.figures.figure_data import FigureData, Options
from analysis.figures.kind import figure
from analysis.figures.rows import BARS, named_rows
from analysis.figures.style import heading, new, shades, tidy
from fabric.network import SPANS
from simcore.errors import ResultsError


@figure(meaning="share of placements by span, a bar per agent", needs="a network")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw stacked bars of the means over the seeds; whiskers are the 95 % intervals of where each part ends."""
    names = [f"span_{number}" for number in range(len(SPANS))]
    if names[0] not in chosen.runs.columns:
        raise ResultsError(
            "these placements have no spread: the cluster has no network",
            file=chosen.results.folder,
            remedy="Write `cluster: {network: ...}` into the scenario.",
        )
    shares = chosen.runs.drop_nulls(names).select("run", *names).rows_by_key("run", unique=True)
    groups = {(point, agent): [shares[run] for run in runs if run in shares] for point, agent, runs in chosen.groups()}
    rows = [(point, agent) for point in chosen.points for agent in chosen.agents if groups.get((point, agent))]
    if len(rows) > BARS:
        raise ResultsError(
            f"{len(rows)} bars are more than the {BARS} that can be read",
            file=chosen.results.folder,
            remedy="Choose some with --where KEY=VALUE or --agents.",
        )
    figure = new(options.width or "column", 1.0 + 0.19 * (len(rows) + 1.3 * len(chosen.points)))
    ax = figure.subplots()
    tidy(ax, grid="x")
    places = named_rows(ax, chosen, rows)
    for place, row in zip(places, rows, strict=True):
        parts = 100 * np.array(groups[row])
        mean, ends = parts.mean(axis=0), parts.cumsum(axis=1)
        left = np.concatenate([[0], mean.cumsum()[:-1]])
        ax.barh([place] * len(SPANS), mean, left=left, height=0.8, color=shades())
        for end in ends.T[:-1]:
            middle, half = mean_interval(end)
            if np.isfinite(half) and half > 0:
                ax.errorbar(middle, place, xerr=half, fmt="none", ecolor="#222222", elinewidth=0.8, capsize=1.5)
    ax.set_xlim(0, 100)
    ax.set_xlabel("% of the placed requests")
    patches = [Patch(color=colour) for colour in shades()]
    figure.legend(patches, SPANS, loc="outside lower center", ncols=2, frameon=False, columnspacing=1.2)
    heading(figure, f"{chosen.title}: spread of placements", chosen.caption)
    return figure
