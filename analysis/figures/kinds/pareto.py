"""Two metrics against each other: which agents are better in one without being worse in the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from binwright.analysis.figures.chosen_style import points as font_points
from binwright.analysis.figures.figure_data import Average, FigureData, Options, Point
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import GREY, Look, grid, heading, legend, new, tidy
from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import ResultsError

WAYS = {"higher": ("right", "up"), "lower": ("left", "down")}
Place = tuple[float, float]


@figure(meaning="two metrics against each other, with the agents that none is better than in both", needs="two metrics")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a panel per point: the means of agents with their intervals both ways, filled and joined on the front."""
    across, up = _two(chosen)
    averages = [chosen.averages(metric.name) for metric in (across, up)]
    if len(chosen.agents) == 1 and len(chosen.points) > 1:
        return _one_agent(chosen, (across, up), averages)
    points = chosen.few_points()
    width = options.width or ("column" if len(points) == 1 else "page")
    lines, columns = grid(len(points), 3 if width == "page" else 1)
    figure = new(width, 0.9 + 2.0 * lines)
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True).ravel()
    scales = [
        metric.axis(max((abs(one.mean) for one in found.values()), default=1.0))
        for metric, found in zip((across, up), averages, strict=True)
    ]
    for ax in axes[len(points) :]:
        ax.set_visible(False)
    for number, (ax, point) in enumerate(zip(axes, points, strict=False)):
        there = {
            agent: (averages[0][point, agent], averages[1][point, agent])
            for agent in chosen.agents
            if all((point, agent) in found for found in averages)
        }
        tidy(ax)
        _points(ax, chosen, there, (across, up), (scales[0][0], scales[1][0]))
        ax.set_title(chosen.panel_title(point, columns))
        if number + columns >= len(points):
            ax.set_xlabel(scales[0][1])
            ax.tick_params(labelbottom=True)
        if number % columns == 0:
            ax.set_ylabel(scales[1][1])
    legend(figure, chosen.agents, chosen.look, lines=False, named=chosen.heading)
    better = f"{WAYS[up.better][1]} and to the {WAYS[across.better][0]} is better"
    heading(figure, _said(chosen, across, up, averages), chosen.captioned(better, "pale: another is better in both"))
    return figure


def _one_agent(
    chosen: FigureData, metrics: tuple[Metric, Metric], averages: Sequence[Mapping[tuple[Point, str], Average]]
) -> Figure:
    """Draw the points of an agent's sweep in one panel, each with its name beside it."""
    agent, (across, up) = chosen.agents[0], metrics
    there = [point for point in chosen.points if all((point, agent) in found for found in averages)]
    scales = [
        metric.axis(max(abs(found[point, agent].mean) for point in there))
        for metric, found in zip(metrics, averages, strict=True)
    ]
    figure = new(chosen.options.width or "column", 3.0)
    ax = figure.subplots()
    tidy(ax)
    means = {chosen.name(point): (averages[0][point, agent], averages[1][point, agent]) for point in there}
    _points(ax, chosen, means, metrics, (scales[0][0], scales[1][0]), chosen.look[agent])
    for name, (x, y) in means.items():
        place = scales[0][0] * x.mean, scales[1][0] * y.mean
        ax.annotate(name, place, (4, 4), textcoords="offset points", fontsize=font_points())
    ax.set_xlabel(scales[0][1])
    ax.set_ylabel(scales[1][1])
    better = f"{WAYS[up.better][1]} and to the {WAYS[across.better][0]} is better"
    title = f"{chosen.heading(agent)}: {up.heading} and {across.heading} at {len(there)} points"
    heading(figure, title, chosen.captioned(better, "pale: another point is better in both"))
    return figure


def _said(
    chosen: FigureData, across: Metric, up: Metric, averages: Sequence[Mapping[tuple[Point, str], Average]]
) -> str:
    """Name the agents that no other one is better than in both metrics, at all points."""
    always = set(chosen.agents)
    for point in chosen.points:
        there = [agent for agent in chosen.agents if all((point, agent) in found for found in averages)]
        places = [(averages[0][point, agent].mean, averages[1][point, agent].mean) for agent in there]
        always &= {there[number] for number in front(places, (across.better, up.better))}
    names = [chosen.heading(agent) for agent in chosen.agents if agent in always]
    both, where = f"both {across.heading} and {up.heading}", "At every point no" if len(chosen.points) > 1 else "No"
    if not names:
        return both
    than = "another" if len(names) == len(chosen.agents) else " or ".join(names)
    return f"{where} agent has better means in {both} than {than}"


def _two(chosen: FigureData) -> tuple[Metric, Metric]:
    """Return the two metrics that were asked for, or the first two of the table that are better one way."""
    shown = [metric for metric in [*chosen.choice.first, *chosen.choice.others] if not metric.timed]
    metrics = chosen.metrics([metric.name for metric in shown if metric.better in WAYS][:2])
    if len(metrics) != 2:
        problem = f"it needs two metrics, and these are {len(metrics)}"
        raise ResultsError(problem, file=chosen.results.folder, remedy="Name two: --metric acceptance --metric cost.")
    for metric in metrics:
        if metric.better not in WAYS:
            remedy = "Name one that is better one way: `columns.json` says which are."
            raise ResultsError("neither higher nor lower is better", key=f"--metric {metric.name}", remedy=remedy)
    return metrics[0], metrics[1]


def front(places: Sequence[Place], better: tuple[str, str]) -> list[int]:
    """Return the numbers of the places that none is better than: as good in both, and better in one; in their order.

    `better` says of either coordinate whether `higher` or `lower` is.
    """
    signs = [1 if way == "higher" else -1 for way in better]
    good = [(signs[0] * x, signs[1] * y) for x, y in places]
    return [
        number for number, (x, y) in enumerate(good) if not any(a >= x and b >= y and (a, b) != (x, y) for a, b in good)
    ]


def _points(
    ax: Axes,
    chosen: FigureData,
    there: Mapping[str, tuple[Average, Average]],
    metrics: tuple[Metric, Metric],
    scales: tuple[float, float],
    look: Look | None = None,
) -> None:
    """Draw means with intervals by agent, or of whatever has this look, and a line along the front."""
    places = [(scales[0] * x.mean, scales[1] * y.mean) for x, y in there.values()]
    best = front(places, (metrics[0].better, metrics[1].better))
    ax.plot(*zip(*sorted(places[number] for number in best), strict=True), "--", color=GREY, linewidth=0.8, zorder=0)
    for number, (agent, (x, y)) in enumerate(there.items()):
        colour, marker = look or chosen.look[agent]
        ax.errorbar(
            *places[number],
            xerr=np.reshape(x.arms(scales[0]), (2, 1)),
            yerr=np.reshape(y.arms(scales[1]), (2, 1)),
            color=colour,
            marker=marker,
            markersize=4.5,
            alpha=1.0 if number in best else 0.4,
            elinewidth=0.8,
            capsize=1.5,
        )
