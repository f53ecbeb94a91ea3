"""Two metrics against each other: which agents are better in one without being worse in the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from binwright.analysis.figures.chosen_style import points as font_points
from binwright.analysis.figures.figure_data import Average, FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import GREY, Look, heading, legend, panel_axes, tidy
from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import ResultsError

WAYS = {"higher": ("right", "up"), "lower": ("left", "down")}
Place = tuple[float, float]
Marks = dict[str, tuple[Average, Average]]
"""Of each mark its name, and what it is across and up."""


@figure(meaning="two metrics against each other, with the agents that none is better than in both", needs="two metrics")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a panel per point, a mark per agent, or one panel with the points of the only agent; pale off the front."""
    across, up = _two(chosen)
    xs, ys = chosen.averages(across.name), chosen.averages(up.name)
    is_alone = len(chosen.agents) == 1 and len(chosen.points) > 1
    panels: list[tuple[str, Marks]] = []
    if is_alone:
        both = {point: (point, chosen.agents[0]) for point in chosen.points}
        panels = [("", {chosen.name(point): (xs[at], ys[at]) for point, at in both.items() if at in xs and at in ys})]
    else:
        for point in chosen.few_points():
            rows = {agent: (point, agent) for agent in chosen.agents}
            marks = {agent: (xs[at], ys[at]) for agent, at in rows.items() if at in xs and at in ys}
            panels.append((chosen.panel_title(point, min(3, len(chosen.points))), marks))
    width = options.width or ("column" if len(panels) == 1 else "page")
    figure, axes, columns = panel_axes(
        width, len(panels), 3, 2.0, beyond=1.0 if is_alone else 0.9, sharex=True, sharey=True
    )
    (x, x_label), (y, y_label) = (
        metric.axis(max((abs(one.mean) for one in found.values()), default=1.0))
        for metric, found in ((across, xs), (up, ys))
    )
    fronts = []
    for number, (ax, (title, marks)) in enumerate(zip(axes, panels, strict=True)):
        tidy(ax)
        best = front([(a.mean, b.mean) for a, b in marks.values()], (across.better, up.better))
        fronts.append({name for place, name in enumerate(marks) if place in best})
        look = {name: chosen.look[chosen.agents[0] if is_alone else name] for name in marks}
        _points(ax, marks, fronts[-1], look, (x, y))
        ax.set_title(title)
        if number + columns >= len(panels):
            ax.set_xlabel(x_label)
            ax.tick_params(labelbottom=True)
        if number % columns == 0:
            ax.set_ylabel(y_label)
    better = f"{WAYS[up.better][1]} and to the {WAYS[across.better][0]} is better"
    if is_alone:
        for name, (a, b) in panels[0][1].items():
            at = x * a.mean, y * b.mean
            axes[0].annotate(name, at, (4, 4), textcoords="offset points", fontsize=font_points())
        said = f"{chosen.heading(chosen.agents[0])}: {up.heading} and {across.heading} at {len(panels[0][1])} points"
    else:
        legend(figure, chosen.agents, chosen.look, lines=False, named=chosen.heading)
        said = _finding(chosen, across, up, set.intersection(*fronts))
    pale = f"pale: another {'point ' * is_alone}is better in both"
    heading(figure, said, chosen.captioned(better, pale))
    return figure


def _finding(chosen: FigureData, across: Metric, up: Metric, always: set[str]) -> str:
    """Name the agents that no other one is better than in both metrics, at all points."""
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


def _points(ax: Axes, marks: Marks, best: set[str], look: dict[str, Look], scale: Place) -> None:
    """Draw means with intervals both ways, and a line along the front."""
    line = sorted((scale[0] * a.mean, scale[1] * b.mean) for name, (a, b) in marks.items() if name in best)
    ax.plot(*zip(*line, strict=True), "--", color=GREY, linewidth=0.8, zorder=0)
    for name, (a, b) in marks.items():
        arms = (np.reshape(one.arms(by), (2, 1)) for one, by in zip((a, b), scale, strict=True))
        how = {"color": look[name][0], "marker": look[name][1], "alpha": 1.0 if name in best else 0.4}
        how |= {"markersize": 4.5, "elinewidth": 0.8, "capsize": 1.5}
        xerr, yerr = arms
        ax.errorbar(scale[0] * a.mean, scale[1] * b.mean, yerr, xerr, **how)  # type: ignore[arg-type]
