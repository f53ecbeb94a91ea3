"""The network coloured by the load of its links, agents side by side: at a moment, or when it was busiest."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from binwright.analysis.figures.chosen_style import points
from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.network_map import natural_size, paint, scale
from binwright.analysis.figures.style import heading, panel_axes
from binwright.analysis.measure.metric import duration
from binwright.analysis.results.network import network_of
from binwright.fabric.topology import topology as build
from binwright.simcore.errors import ResultsError
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.types import Floats

MOST = 4
"""More agents cannot be read beside one another."""


@figure(
    meaning="the network at one moment, coloured by link load, a panel per agent", needs="a network, record: [states]"
)
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw one seed of every agent at one point, all at the same time; of many agents the first that there is room for.

    The time is the one asked for, or the one at which any of them has most in use.
    """
    chosen.few_points(1)
    agents = chosen.few_agents(MOST) if options.agents else chosen.agents[:MOST]
    runs = {agent: runs for _, agent, runs in chosen.seeded() if agent in agents}
    seed = chosen.shared_seed(runs.values())
    states = {agent: chosen.results.states(runs[agent][seed]) for agent in agents}
    first = states[agents[0]]
    if "links" not in first.columns:
        raise ResultsError(
            "the cluster has no network",
            file=chosen.results.folder,
            remedy="Write `cluster: {network: ...}` into the scenario.",
        )
    run = runs[agents[0]][seed]
    row = chosen.runs.row(by_predicate=pl.col("run") == run, named=True)
    [(name, settings)] = network_of(chosen.part(run), row).items()
    network = build(name, **settings)
    times = {agent: frame["time"].to_numpy() for agent, frame in states.items()}
    loads = {
        agent: np.array(frame["links"].list.eval(pl.element().fill_null(0)).to_list(), np.float64)
        for agent, frame in states.items()
    }
    moment = _moment(chosen, times, {agent: rows_dot(load, network.link_capacity) for agent, load in loads.items()})
    wide, high = natural_size(network)
    figure, axes, columns = panel_axes(options.width or "page", len(agents), 2, 1.0)
    lines, width = -(-len(agents) // columns), figure.get_figwidth()
    figure.set_figheight(lines * width * max(0.45, high / wide) / columns + 0.3 * (lines > 1))
    alone, smaller = len(agents) == 1, width / columns / wide
    for number, (ax, agent) in enumerate(zip(axes, agents, strict=True)):
        load = loads[agent][max(0, int(np.searchsorted(times[agent], moment, side="right")) - 1)]
        paint(ax, network, load, rows=number % columns == 0, tiers=alone)
        for marks in ax.collections:
            marks.set_linewidth(np.asarray(marks.get_linewidth()) * smaller)
            if isinstance(marks, PathCollection):
                marks.set_sizes(marks.get_sizes() * smaller**2)
        if not alone:
            used = float((load * network.link_capacity).sum()) / float(network.link_capacity.sum())
            ax.set_title(f"{chosen.heading(agent)}: {100 * used:.0f} % of all capacity", fontsize=points())
    scale(figure, figure.axes)
    busiest = "" if options.at is not None else ", when the links of any carried most"
    more = len(chosen.agents) - len(agents)
    notes = f"seed {seed}, after {duration(moment)}{busiest}" + (f"; {more} more with --agents" if more else "")
    who = f"{chosen.heading(agents[0])}, " if alone else ""
    heading(figure, "How much of each link was in use at one moment", f"{chosen.title}: {who}{notes}")
    return figure


def _moment(chosen: FigureData, times: dict[str, Floats], used: dict[str, Floats]) -> float:
    """Return the time asked for, or else that at which the links of a run carry most; both are [samples] by agent."""
    at = chosen.options.at
    if at is None:
        busiest = max(used, key=lambda agent: float(used[agent].max()))
        return float(times[busiest][used[busiest].argmax()])
    begin, end = max(float(each[0]) for each in times.values()), max(float(each[-1]) for each in times.values())
    if not begin <= at <= end:
        raise ResultsError(
            "is outside of the run",
            file=chosen.results.folder,
            key=f"--at {at:g}",
            remedy=f"It lasts from {begin:g} s to {end:g} s.",
        )
    return at
