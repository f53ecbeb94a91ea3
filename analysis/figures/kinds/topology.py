"""The network coloured by the load of its links: at a moment, or when it was busiest."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from analysis.figures.chosen_style import current
from analysis.figures.figure_data import FigureData, Options
from analysis.figures.kind import figure
from analysis.figures.network_map import draw as draw_network
from analysis.figures.style import heading
from analysis.measure.metric import duration
from analysis.results.network import network_of
from fabric.presets import topology as build
from simcore.errors import ResultsError
from simcore.ordered_sums import rows_dot
from simcore.types import QUANTUM, Floats


@figure(meaning="the network coloured by link load at a moment", needs="a network, record: [states]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw the first seed of one agent at one point: the only one, the one that was asked for, or the first."""
    chosen.few_points(1)
    agent = chosen.agents[0]
    run = next(runs[0] for _, name, runs in chosen.groups() if name == agent)
    states = chosen.results.states(run)
    if "links" not in states.columns:
        raise ResultsError(
            "the cluster has no network",
            file=chosen.results.folder,
            remedy="Write `cluster: {network: ...}` into the scenario.",
        )
    row = chosen.runs.row(by_predicate=pl.col("run") == run, named=True)
    [(name, settings)] = network_of(chosen.part(run), row).items()
    network = build(name, **settings)
    loads = np.array(states["links"].list.eval(pl.element().fill_null(0)).to_list(), np.float64)
    moment = _moment(chosen, states["time"].to_numpy(), rows_dot(loads, network.link_capacity) / QUANTUM)
    when = duration(float(states["time"][moment]))
    which = "" if options.at is not None else ", when it was busiest"
    figure = draw_network(network, load=loads[moment], title=None)
    wide, high = figure.get_size_inches()
    width = current().widths[options.width or "page"]
    figure.set_size_inches(width, width * max(0.45, high / wide))
    for marks in figure.axes[0].collections:
        marks.set_linewidth(np.asarray(marks.get_linewidth()) * width / wide)
        if isinstance(marks, PathCollection):
            marks.set_sizes(marks.get_sizes() * (width / wide) ** 2)
    heading(figure, f"{chosen.title}: {chosen.heading(agent)}, seed {row['seed']}, after {when}{which}")
    return figure


def _moment(chosen: FigureData, times: Floats, load: Floats) -> int:
    """Find the last sample at the moment asked for, or else that of the highest load [samples]."""
    at = chosen.options.at
    if at is None:
        return int(load.argmax())
    if not times[0] <= at <= times[-1]:
        raise ResultsError(
            "is outside of the run",
            file=chosen.results.folder,
            key=f"--at {at:g}",
            remedy=f"It lasts from {times[0]:g} s to {times[-1]:g} s.",
        )
    return int(np.searchsorted(times, at, side="right")) - 1
