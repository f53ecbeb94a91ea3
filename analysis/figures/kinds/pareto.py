"""Two metrics against each other: which agents are better in one without being worse in the other."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import numpy as np
from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import GREY, heading, label_outside, legend, letters, panel_axes, points, tidy
from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import ResultsError

WAYS = {"higher": ("right", "up"), "lower": ("left", "down")}


@figure(meaning="two metrics against each other, with the agents that none is better than in both", needs="two metrics")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a panel per point, a mark per agent, or one panel with the points of the only agent; pale off the front."""
    across, up = _two(chosen)
    xs, ys = chosen.averages(across.name), chosen.averages(up.name)
    rows = [row for row in xs if row in ys]
    is_alone = len(chosen.agents) == 1 and len(chosen.points) > 1
    panels = [("", rows)]
    if not is_alone:
        panels = [(chosen.name(point), [row for row in rows if row[0] == point]) for point in chosen.few_points()]
    beyond = 1.0 if is_alone else 0.9
    figure, axes, columns = panel_axes(options.width, len(panels), 3, 2.0, beyond=beyond, sharex=True, sharey=True)
    (x, x_label), (y, y_label) = (
        metric.axis(max((abs(average.mean) for average in averages.values()), default=1.0))
        for metric, averages in ((across, xs), (up, ys))
    )
    label_outside(axes, columns, x_label, y_label)
    for ax, (title, shown) in zip(axes, panels, strict=True):
        tidy(ax)
        ax.locator_params("x", nbins=4)
        ax.set_title(fill(title, letters(figure, columns)))
        places = [(xs[row].mean, ys[row].mean) for row in shown]
        best = front(places, (across.better, up.better))
        line = sorted((x * places[number][0], y * places[number][1]) for number in best)
        ax.plot(*zip(*line, strict=True), "--", color=GREY, linewidth=0.8, zorder=0)
        for number, (point, agent) in enumerate(shown):
            a, b, (colour, marker) = xs[point, agent], ys[point, agent], chosen.look[agent]
            ax.errorbar(
                x * a.mean, y * b.mean, np.reshape(b.arms(y), (2, 1)), np.reshape(a.arms(x), (2, 1)), color=colour,
                marker=marker, alpha=1.0 if number in best else 0.4, markersize=4.5, elinewidth=0.8, capsize=1.5,
            )  # fmt: skip
            if is_alone:
                at = x * a.mean, y * b.mean
                ax.annotate(chosen.name(point), at, (4, 4), textcoords="offset points", fontsize=points())
    if is_alone:
        title = f"{chosen.heading(chosen.agents[0])}: {up.heading} and {across.heading} at {len(rows)} points"
    else:
        legend(figure, chosen.agents, chosen.look, lines=False, named=chosen.heading)
        title = chosen.finding(across)
    better = f"{WAYS[up.better][1]} and to the {WAYS[across.better][0]} is better"
    heading(figure, title, chosen.captioned(better, f"pale: another {'point ' * is_alone}is better in both"))
    return figure


def _two(chosen: FigureData) -> tuple[Metric, Metric]:
    """Return the two metrics that were asked for, or the first two of the table that are better one way."""
    shown = [metric for metric in [*chosen.choice.first, *chosen.choice.others] if not metric.timed]
    metrics = chosen.metrics([metric.name for metric in shown if metric.better in WAYS][:2])
    if len(metrics) != 2 or any(metric.better not in WAYS for metric in metrics):
        problem = "it needs two metrics of which higher or lower is better"
        raise ResultsError(problem, file=chosen.results.folder, remedy="Name two: --metric acceptance --metric cost.")
    return metrics[0], metrics[1]


def front(places: Sequence[tuple[float, float]], better: tuple[str, str]) -> list[int]:
    """Return the numbers of the places that none is better than: as good in both, and better in one; in their order.

    `better` says of either coordinate whether `higher` or `lower` is.
    """
    signs = [1 if way == "higher" else -1 for way in better]
    good = [(signs[0] * x, signs[1] * y) for x, y in places]
    return [
        number for number, (x, y) in enumerate(good) if not any(a >= x and b >= y and (a, b) != (x, y) for a, b in good)
    ]
