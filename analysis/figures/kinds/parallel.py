"""Several metrics of each agent beside one another: an axis per metric, a line per agent, up is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.figures.chosen_style import points
from analysis.figures.figure_data import Average, FigureData, Options, Point
from analysis.figures.kind import figure
from analysis.figures.style import GREY, heading, legend, new
from analysis.measure.metric import Metric
from simcore.errors import ResultsError

FEWEST, MOST, PANELS = 3, 8, 4
Averages = Mapping[tuple[Point, str], Average]
Ends = tuple[float, float]


@figure(meaning="several metrics per agent, an axis each, with intervals", needs="three metrics in which agents differ")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a panel per point; every axis goes from the worst end of an interval to the best, the better end on top."""
    metrics = _several(chosen)
    averages = [chosen.averages(metric.name) for metric in metrics]
    ends = [_ends(found) for found in averages]
    places = chosen.few_points(PANELS)
    figure = new(options.width or "page", 0.8 + 2.1 * len(places))
    axes = figure.subplots(len(places), 1, squeeze=False).ravel()
    for ax, point in zip(axes, places, strict=True):
        for number, (metric, (worst, best)) in enumerate(zip(metrics, _turned(metrics, ends), strict=True)):
            ax.axvline(number, color=GREY, linewidth=0.6, zorder=0)
            for y, value, va in ((1.04, best, "bottom"), (-0.04, worst, "top")):
                ax.text(number, y, metric.exactly(value), ha="center", va=va, fontsize=points(), color=GREY)
        for place, agent in enumerate(chosen.agents):
            _line(ax, chosen, (point, agent), averages, _turned(metrics, ends), place)
        ax.set_title(chosen.name(point), pad=12)
        ax.set_xticks(range(len(metrics)), [_name(metric) for metric in metrics])
        ax.tick_params(axis="x", length=0, pad=12)
        ax.set_yticks([])
        ax.set_xlim(-0.4, len(metrics) - 0.6)
        ax.set_ylim(-0.05, 1.05)
        ax.spines[:].set_visible(False)
    legend(figure, chosen.agents, chosen.look, named=chosen.heading)
    heading(figure, chosen.title, f"{chosen.caption}; up is better, and every axis has a scale of its own")
    return figure


def _several(chosen: FigureData) -> list[Metric]:
    """Return the metrics that were asked for, or those of the table that are better one way and differ."""
    names = [
        metric.name
        for metric in chosen.choice.first
        if metric.better != "neither" and not metric.timed and _differ(chosen.averages(metric.name))
    ]
    metrics = chosen.metrics(names[:MOST])
    if not FEWEST <= len(metrics) <= MOST:
        problem = f"it shows {FEWEST} to {MOST} metrics, not {len(metrics)}"
        raise ResultsError(problem, file=chosen.results.folder, remedy="Name each with --metric.")
    return metrics


def _differ(found: Averages) -> bool:
    """Tell whether agents differ at some point."""
    return any(len({one.mean for (other, _), one in found.items() if other == point}) > 1 for point, _ in found)


def _ends(found: Averages) -> Ends:
    """Return the lowest and the highest end of all intervals."""
    low = min(average.low for average in found.values())
    high = max(average.high for average in found.values())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _turned(metrics: Sequence[Metric], ends: Sequence[Ends]) -> list[Ends]:
    """Put the worse end first; where neither way is better, the lower one."""
    return [
        (high, low) if metric.better == "lower" else (low, high)
        for metric, (low, high) in zip(metrics, ends, strict=True)
    ]


def _name(metric: Metric) -> str:
    return metric.heading.replace(" ", "\n", 1) if len(metric.heading) > 12 else metric.heading


def _line(
    ax: Axes,
    chosen: FigureData,
    which: tuple[Point, str],
    averages: Sequence[Averages],
    ends: Sequence[Ends],
    place: int,
) -> None:
    """Draw an agent's line, its marks a little aside of one another, so that whiskers do not hide each other."""
    shift = 0.03 * (place - (len(chosen.agents) - 1) / 2)
    found = [
        (number + shift, *((value - worst) / (best - worst) for value in (average.mean, average.low, average.high)))
        for number, (some, (worst, best)) in enumerate(zip(averages, ends, strict=True))
        if (average := some.get(which))
    ]
    if not found:
        return
    x, y, *ends = np.transpose(found)
    errors = y - np.minimum(*ends), np.maximum(*ends) - y  # the scale is turned where lower is better
    colour, marker = chosen.look[which[1]]
    ax.errorbar(
        x, y, yerr=errors, color=colour, marker=marker, markersize=4, linewidth=1.0, elinewidth=0.7, capsize=1.2
    )
