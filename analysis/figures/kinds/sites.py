"""What every site drew and emitted, hour by hour: means over the seeds, a column per agent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.figures.chosen_style import points
from binwright.analysis.figures.figure_data import MOST, FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.kinds.timeline import CLOCK
from binwright.analysis.figures.style import COLOURS, heading, legend, new, tidy
from binwright.simcore.errors import ResultsError, suggest

KNOWN = {"energy": "kWh in an hour", "carbon": "kg in an hour", "electricity": "cost in an hour"}


@figure(meaning="energy and carbon of every site over time", needs="record: [sites]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a column per agent and point, a panel per metric, a line per site with its 95 % band over the seeds."""
    for name in options.metrics:
        if name not in KNOWN:
            raise ResultsError("is not of a site", key=f"--metric {name}", remedy=suggest(name, KNOWN))
    chosen.few_points(max(1, MOST // len(chosen.few_agents())))
    groups = [
        (point, agent, [chosen.results.hours_of_sites(run) for run in runs]) for point, agent, runs in chosen.groups()
    ]
    frame = pl.concat([frame for *_, frames in groups for frame in frames], how="vertical_relaxed")
    names = [name for name in options.metrics or ("energy", "carbon") if frame[name].is_not_null().any()]
    sites = frame["site"].unique(maintain_order=True).to_list()
    scale, unit = CLOCK.scale(float(frame["time"].to_numpy().max(initial=0.0)))
    figure = new(options.width or ("column" if len(groups) == 1 else "page"), 0.9 + 1.25 * len(names))
    axes = figure.subplots(len(names), len(groups), squeeze=False, sharex=True, sharey="row")
    for name, line in zip(names, axes, strict=True):
        line[0].set_ylabel(KNOWN[name])
        for ax, (_, _, frames) in zip(line, groups, strict=True):
            tidy(ax)
            for number, site in enumerate(sites):
                runs = [one.filter(pl.col("site") == site) for one in frames]
                _line(ax, runs, name, scale, COLOURS[number % len(COLOURS)])
    for ax, (point, agent, _) in zip(axes[0], groups, strict=True):
        ax.set_title(", ".join([*map(str, point), chosen.heading(agent)]), fontsize=points())
    for ax in axes[-1]:
        ax.set_xlabel(f"time,{unit}")
    look = {site: (COLOURS[number % len(COLOURS)], "") for number, site in enumerate(sites)}
    legend(figure, sites, look)
    heading(figure, "What each site drew and emitted", chosen.captioned())
    return figure


def _line(ax: Axes, runs: Sequence[pl.DataFrame], name: str, scale: float, colour: str) -> None:
    """Draw the mean and 95 % band over the seeds, over the hours that all of them have whole."""
    hours = max(1, min(len(run) for run in runs) - 1)
    values = np.stack([run[name].to_numpy()[:hours] for run in runs], axis=1).astype(np.float64)
    mean, half = np.array([mean_interval(row) for row in values]).T
    time = scale * runs[0]["time"].to_numpy()[:hours]
    ax.plot(time, mean, color=colour, linewidth=1.0, drawstyle="steps-post")
    if len(runs) > 1:
        ax.fill_between(time, mean - half, mean + half, color=colour, alpha=0.2, step="post", linewidth=0)
