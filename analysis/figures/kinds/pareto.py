"""Two metrics against each other: which agents are better in one without being worse in the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import Average, FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import GREY, heading, label_outside, legend, panel_axes, tidy
from binwright.analysis.figures.style import points as font_points
from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import ResultsError

WAYS = {"higher": ("right", "up"), "lower": ("left", "down")}


@figure(meaning="two metrics against each other, with the agents that none is better than in both", needs="two metrics")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a panel per point, a mark per agent, or one panel with the points of the only agent; pale off the front."""
    across, up = _two(chosen)
    xs, ys = chosen.averages(across.name), chosen.averages(up.name)
    is_alone = len(chosen.agents) == 1 and len(chosen.points) > 1
    points = chosen.points if is_alone else chosen.few_points()
    marks = {row: (xs[row], ys[row]) for row in xs if row in ys}
    panels: list[tuple[str, dict[str, tuple[Average, Average]]]]
    if is_alone:
        panels = [("", {chosen.name(point): mark for (point, _), mark in marks.items()})]
    else:
        beside = min(3, len(points))
        panels = [
            (chosen.panel_title(point, beside), {agent: mark for (at, agent), mark in marks.items() if at == point})
            for point in points
        ]
    beyond = 1.0 if is_alone else 0.9
    figure, axes, columns = panel_axes(options.width, len(panels), 3, 2.0, beyond=beyond, sharex=True, sharey=True)
    (x, x_label), (y, y_label) = (
        metric.axis(max((abs(one.mean) for one in found.values()), default=1.0))
        for metric, found in ((across, xs), (up, ys))
    )
    label_outside(axes, columns, x_label, y_label)
    for ax, (title, of_panel) in zip(axes, panels, strict=True):
        tidy(ax)
        ax.locator_params("x", nbins=4)
        ax.set_title(title)
        best = front([(a.mean, b.mean) for a, b in of_panel.values()], (across.better, up.better))
        on_front = {name for place, name in enumerate(of_panel) if place in best}
        line = sorted((x * a.mean, y * b.mean) for name, (a, b) in of_panel.items() if name in on_front)
        ax.plot(*zip(*line, strict=True), "--", color=GREY, linewidth=0.8, zorder=0)
        for name, (a, b) in of_panel.items():
            colour, marker = chosen.look[chosen.agents[0] if is_alone else name]
            ax.errorbar(
                x * a.mean, y * b.mean, np.reshape(b.arms(y), (2, 1)), np.reshape(a.arms(x), (2, 1)), color=colour,
                marker=marker, alpha=1.0 if name in on_front else 0.4, markersize=4.5, elinewidth=0.8, capsize=1.5,
            )  # fmt: skip
            if is_alone:
                at = x * a.mean, y * b.mean
                ax.annotate(name, at, (4, 4), textcoords="offset points", fontsize=font_points())
    if is_alone:
        said = f"{chosen.heading(chosen.agents[0])}: {up.heading} and {across.heading} at {len(marks)} points"
    else:
        legend(figure, chosen.agents, chosen.look, lines=False, named=chosen.heading)
        said = chosen.finding(across)
    better = f"{WAYS[up.better][1]} and to the {WAYS[across.better][0]} is better"
    heading(figure, said, chosen.captioned(better, f"pale: another {'point ' * is_alone}is better in both"))
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
