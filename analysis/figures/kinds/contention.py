"""What requests used and lacked over time: means over the seeds with bands, a column per agent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.figures.chosen_style import points
from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.kinds.timeline import CLOCK
from binwright.analysis.figures.style import GREY, heading, new, tidy
from binwright.simcore.errors import ResultsError, suggest
from binwright.simcore.types import Floats

MOST = 120
"""The times that are drawn; there may be more steps."""


@figure(meaning="what requests used and lacked over time", needs="record: [use]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw of each resource what was allocated, wanted and used, and below what was missing of what was wanted.

    Lines end when the first seed of the agent does.
    """
    chosen.few_points(1)
    agents = chosen.few_agents()
    runs = {agent: [chosen.results.use(run) for run in names] for _, agent, names in chosen.groups()}
    known = [name[7:] for name in runs[agents[0]][0].columns if name.startswith("wanted_")]
    for name in options.metrics:
        if name not in known:
            raise ResultsError("is no resource", key=f"--metric {name}", remedy=suggest(name, known))
    lacking = [
        name for name in known if any(frame[f"missing_{name}"].sum() > 0 for each in runs.values() for frame in each)
    ]
    names = list(options.metrics) or lacking or known[:1]
    scale, unit = CLOCK.scale(
        max(float(frame["time"].to_numpy().max(initial=0.0)) for each in runs.values() for frame in each)
    )
    figure = new(options.width or ("column" if len(agents) == 1 else "page"), 0.9 + 2.1 * len(names))
    axes = figure.subplots(2 * len(names), len(agents), squeeze=False, sharex=True, sharey="row")
    for column, agent in enumerate(agents):
        colour, frames = chosen.look[agent][0], runs[agent]
        for ax, name in zip(axes[::2, column], names, strict=True):
            tidy(ax)
            ax.axhline(100, color=GREY, linewidth=0.5, linestyle="--")
            for kind, look in (("allocated", (GREY, ":")), ("wanted", (GREY, "-")), ("used", (colour, "-"))):
                time, values = _shares(frames, f"{kind}_{name}", f"capacity_{name}")
                _line(ax, scale * time, values, *look, band=kind == "used")
        for ax, name in zip(axes[1::2, column], names, strict=True):
            tidy(ax)
            time, values = _shares(frames, f"missing_{name}", f"wanted_{name}")
            _line(ax, scale * time, values, colour, "-", band=True)
        axes[0, column].set_title(chosen.heading(agent), fontsize=points())
        axes[-1, column].set_xlabel(f"time,{unit}")
    for place, name in enumerate(names):
        axes[2 * place, 0].set_ylabel(f"{name} %")
        axes[2 * place + 1, 0].set_ylabel(f"{name} missing %")
    note = "dots: allocated; grey: wanted; colour: used, of what there is; below: missing, of what was wanted"
    heading(figure, "What was used, and what was missing", chosen.captioned(note))
    return figure


def _shares(runs: Sequence[pl.DataFrame], part: str, whole: str) -> tuple[Floats, Floats]:
    """Divide two columns, in percent, float64 [seeds, times], in times of equal length that all seeds have whole."""
    ends = [(frame["time"] + frame["seconds"]).to_numpy()[-1] if len(frame) else 0.0 for frame in runs]
    start, end = max(float(frame["time"][0]) if len(frame) else 0.0 for frame in runs), float(min(ends))
    count = max(1, min(MOST, *(int(((frame["time"] >= start) & (frame["time"] < end)).sum()) for frame in runs)))
    edges, found = np.linspace(start, max(end, start + 1e-9), count + 1), np.zeros((len(runs), count))
    for seed, frame in enumerate(runs):
        middle = (frame["time"] + frame["seconds"] / 2).to_numpy()
        at = np.searchsorted(edges, middle, side="right") - 1
        inside = (at >= 0) & (at < count)
        over, under = (
            np.bincount(at[inside], (frame[name] * frame["seconds"]).to_numpy()[inside], count)
            for name in (part, whole)
        )
        found[seed] = 100 * np.divide(over, under, out=np.zeros(count), where=under > 0)
    return edges, found


def _line(ax: Axes, edges: Floats, values: Floats, colour: str, dashes: str, *, band: bool) -> None:
    """Draw the mean over the seeds, and its 95 % band."""
    mean, half = np.array([mean_interval(column) for column in values.T]).T
    mean, half = np.append(mean, mean[-1]), np.append(half, half[-1])
    ax.plot(edges, mean, color=colour, linestyle=dashes, linewidth=1.0, drawstyle="steps-post")
    if band and len(values) > 1:
        low, high = np.maximum(mean - half, 0), np.minimum(mean + half, 100)
        ax.fill_between(edges, low, high, color=colour, alpha=0.2, step="post", linewidth=0)
