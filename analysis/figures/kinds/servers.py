"""Servers over time: how full each one was, a panel per agent."""

from __future__ import annotations

from textwrap import fill

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import CLOCK, FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import heading, label_outside, letters, panel_axes, points, tidy
from binwright.simcore.errors import ResultsError, suggest

BESIDE = 60
"""Points that the colours' bar with its label takes."""


@figure(meaning="servers x time as a heat map per agent", needs="record: [states]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw the first seed of every agent at one point: a row per server, coloured by the share of it in use."""
    agents = chosen.few_agents()
    resource = (options.metrics or chosen.results.resources)[0]
    if resource not in chosen.results.resources:
        remedy = suggest(resource, chosen.results.resources)
        raise ResultsError("is not a resource", key=f"--metric {resource}", remedy=remedy)
    seed, runs = chosen.one_seed(agents)
    states = {agent: chosen.results.states(run) for agent, run in runs.items()}
    done = chosen.results.done
    known = {run: rest for run, *rest in done.select("run", f"allocation_{resource}", "rejected").iter_rows()}
    longest = max(float(frame["time"][-1]) for frame in states.values())
    scale, unit = CLOCK.scale(longest)
    figure, axes, columns = panel_axes(options.width, len(agents), 4, 1.7, sharex=True, sharey=True)
    scheme = colormaps["YlGnBu"].with_extremes(bad="#cccccc")
    for ax, agent in zip(axes, agents, strict=True):
        frame = states[agent]
        shares = frame[f"used_{resource}"].to_list()
        used = np.full((len(shares), max(map(len, shares))), np.nan)
        for row, share in zip(used, shares, strict=True):
            row[: len(share)] = share
        times = scale * np.append(frame["time"].to_numpy(), longest)
        edges = np.arange(used.shape[1] + 1) - 0.5
        image = ax.pcolormesh(times, edges, 100 * used.T, cmap=scheme, vmin=0, vmax=100, rasterized=True)
        tidy(ax, grid=None)
        in_use, refused = known[runs[agent]]
        name, title = chosen.heading(agent), f"{in_use:.0%} in use, {refused:,} refused"
        lines = [name, title] if columns > 2 else [f"{name}: {title}"]
        ax.set_title("\n".join(fill(line, letters(figure, columns, BESIDE)) for line in lines), fontsize=points())
        ax.yaxis.get_major_locator().set_params(integer=True)
    label_outside(axes, columns, f"time,{unit}", "server")
    figure.colorbar(image, ax=axes, label=f"{resource} in use, %", shrink=0.8, aspect=30)
    notes = f"{chosen.title}: seed {seed}; grey: out of service, or not there yet"
    full, empty = (pick(agents, key=lambda agent: known[runs[agent]][0]) for pick in (max, min))
    most, least = (known[runs[agent]][0] for agent in (full, empty))
    title = f"How full every server is: {resource} {most:.0%}"
    if f"{most:.0%}" != f"{least:.0%}":
        title += f" with {chosen.heading(full)}, {least:.0%} with {chosen.heading(empty)}"
    heading(figure, title, notes)
    return figure
