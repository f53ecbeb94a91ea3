"""Utilisation and the queue over time: means over the seeds with bands, expansion and failures marked."""

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
from binwright.analysis.figures.style import GREY, heading, new, tidy
from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import ResultsError, suggest
from binwright.simcore.types import Floats

MOMENTS = 200
"""The moments at which seeds are averaged."""
COUNTS = ("servers", "waiting")
"""What is counted, and no share."""
CLOCK = Metric("time", "time", "s")


@figure(meaning="utilisation and queue length over time, with expansion and failures", needs="record: [samples]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a column per agent, the others grey behind it: a panel per resource and tier.

    There is one for servers if they grow, and one for those that wait if they are several.

    Lines end when the first seed of the agent does: a mean over those that are left would be one of other runs.
    """
    chosen.few_points(1)
    agents = chosen.few_agents()
    samples = {agent: [chosen.results.samples(run) for run in runs] for _, agent, runs in chosen.groups()}
    frames = [frame for found in samples.values() for frame in found]
    names = _names(chosen, frames)
    grows = any(frame["servers"].n_unique() > 1 for frame in frames)
    counted = [name for name, there in zip(COUNTS, (grows, _wait(chosen, frames)), strict=True) if there]
    rows = [*(name for name in names if name not in COUNTS), *counted]
    width = options.width or ("column" if len(agents) == 1 else "page")
    scale, unit = CLOCK.scale(max(frame["time"][-1] for frame in frames))
    figure = new(width, 0.9 + 1.15 * len(rows))
    axes = figure.subplots(len(rows), len(agents), squeeze=False, sharex=True, sharey="row")
    for name, line in zip(rows, axes, strict=True):
        line[0].set_ylabel(name if name in COUNTS else f"{name} %")
        for ax, agent in zip(line, agents, strict=True):
            tidy(ax)
            for other in (*(one for one in agents if one != agent), agent):
                _line(ax, samples[other], name, scale, chosen.look[agent][0] if other == agent else "")
            _mark_failures(ax, samples[agent][0], scale)
    for ax, agent in zip(axes[0], agents, strict=True):
        ax.set_title(chosen.heading(agent), fontsize=points())
    for ax in axes[-1]:
        ax.set_xlabel(f"time,{unit}")
    failed = any(found[0]["failures"][-1] for found in samples.values())
    dashes = "dashes: failures in the first seed" if len(frames) > len(agents) else "dashes: failures"
    marks = ["grey: the other agents"] * (len(agents) > 1)
    marks += ["dots: servers are added"] * grows + [dashes] * failed
    asked = ["requests that wait" if name == "waiting" else name for name in chosen.options.metrics]
    finding = f"Over time: {', '.join(asked)}" if asked else chosen.finding(chosen.metric(chosen.headlines[0]))
    heading(figure, finding, chosen.captioned(*marks))
    return figure


def _names(chosen: FigureData, frames: Sequence[pl.DataFrame]) -> list[str]:
    """Return the resources and tiers to draw."""
    columns = dict.fromkeys(name for frame in frames for name in frame.columns)
    known = [name.removeprefix("capacity_") for name in columns if name.startswith("capacity_")]
    if not known:
        raise ResultsError(
            "the samples do not say what was installed: another version of Binwright recorded them",
            file=chosen.results.folder,
            remedy="Run the scenario again with this one.",
        )
    for name in chosen.options.metrics:
        if name not in known and name != "waiting":
            raise ResultsError(
                "is neither a resource nor a link tier",
                key=f"--metric {name}",
                remedy=suggest(name, [*known, "waiting"]),
            )
    return list(chosen.options.metrics) or known


def _wait(chosen: FigureData, frames: Sequence[pl.DataFrame]) -> bool:
    """Tell whether the queue is drawn: where it is asked for, or several wait and nothing is asked for."""
    asked = chosen.options.metrics
    return "waiting" in asked or (not asked and any(bool((frame["waiting"] > 1).any()) for frame in frames))


def _line(ax: Axes, runs: Sequence[pl.DataFrame], name: str, scale: float, colour: str) -> None:
    """Draw the mean and 95 % band over the seeds, with dots where the cluster grows; without a colour, the mean."""
    start, end = max(float(run["time"][0]) for run in runs), min(float(run["time"][-1]) for run in runs)
    times = np.unique(np.concatenate([np.linspace(start, end, MOMENTS), runs[0]["time"].to_numpy().clip(start, end)]))
    values = np.stack([_at(run, name, times) for run in runs])
    mean, half = np.array([mean_interval(column) for column in values.T]).T
    if not colour:
        ax.plot(scale * times, mean, color=GREY, linewidth=0.5, alpha=0.4, drawstyle="steps-post")
        return
    ax.plot(scale * times, mean, color=colour, linewidth=1.0, drawstyle="steps-post")
    if len(runs) > 1:
        most = np.where((mean > 100) | (name in COUNTS), np.inf, 100)
        low, high = np.maximum(mean - half, 0), np.minimum(mean + half, most)
        ax.fill_between(scale * times, low, high, color=colour, alpha=0.2, step="post", linewidth=0)
    if name == "waiting":
        return
    grown = runs[0].filter(pl.col("servers").diff() > 0)["time"].to_numpy()
    grown = grown[grown <= end]
    ax.plot(scale * grown, np.interp(grown, times, mean), "o", color=colour, markersize=2.2)


def _at(run: pl.DataFrame, name: str, times: Floats) -> Floats:
    """Return what the last sample before each time says: a count, or percent of what is installed, float64 [times]."""
    value = run[name] if name in COUNTS else 100 * run[f"used_{name}"] / run[f"capacity_{name}"]
    last = np.searchsorted(run["time"].to_numpy(), times, side="right") - 1
    found: Floats = value.to_numpy()[last].astype(np.float64)
    return found


def _mark_failures(ax: Axes, run: pl.DataFrame, scale: float) -> None:
    """Draw dashed lines at the samples of the first seed between which something failed."""
    failed = run.filter(pl.col("failures").diff() > 0)["time"].to_numpy()
    for time in failed:
        ax.axvline(scale * time, color=GREY, linestyle="--", linewidth=0.5, alpha=0.6, zorder=0)
