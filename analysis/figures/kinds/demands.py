"""What the requests of the runs asked for, and how long they stayed: densities, a row per point."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from binwright.analysis.figures.chosen_style import current, points
from binwright.analysis.figures.densities import draw as draw_workloads
from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import heading, narrow
from binwright.simcore.types import QUANTUM, Workload


@figure(meaning="densities of what the requests asked for", needs="record: [requests]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw the requests of all seeds together: of the agent that came furthest, as all meet the same."""
    workloads = {}
    resources = tuple(chosen.results.resources)
    for point in chosen.few_points(4):
        met = [
            pl.concat([_columns(chosen.results.requests(run), resources) for run in runs])
            for other, _, runs in chosen.groups()
            if other == point
        ]
        workloads[chosen.name(point).replace(", ", "\n") or chosen.title] = _workload(max(met, key=len), resources)
    figure = draw_workloads(workloads, title=None)
    width, height = current().widths[options.width or "page"], figure.get_figheight()
    figure.set_size_inches(width, min(height, 0.9 + 1.4 * len(workloads)))
    for ax in figure.axes:
        if ax.get_xscale() == "linear":
            ax.xaxis.set_major_locator(MaxNLocator(2 if narrow(figure) else 4))
        if narrow(figure):
            for whiskers in ax.collections:
                whiskers.set_linewidth(0.4)
            ax.set_xlabel(ax.get_xlabel().replace("holding time", "held"), fontsize=points())
    heading(figure, f"{chosen.title}: what the requests asked for, {chosen.seeds}")
    return figure


def _columns(frame: pl.DataFrame, resources: tuple[str, ...]) -> pl.DataFrame:
    """Return the requests of the workload, without those that a failure sent back."""
    asked = [name for name in (*resources, "bandwidth") if name in frame.columns]
    return frame.filter(pl.col("origin") < 0).select("arrival", "duration", *asked)


def _workload(frame: pl.DataFrame, resources: tuple[str, ...]) -> Workload:
    frame = frame.sort("arrival")
    return Workload(
        resources,
        frame["arrival"].to_numpy(),
        frame["duration"].to_numpy(),
        np.round(QUANTUM * frame.select(resources).to_numpy()).astype(np.int64),
        np.arange(len(frame)),
        np.round(QUANTUM * frame["bandwidth"].to_numpy()).astype(np.int64) if "bandwidth" in frame.columns else None,
    )
