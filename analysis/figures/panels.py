"""Panels of metrics over a number, a line per agent; and rows of bars, one per point and agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.figures.figure_data import MOST, Average, FigureData, Options, Point
from binwright.analysis.figures.style import BLACK, heading, legend, narrow, new, panel_axes, points, tidy
from binwright.analysis.measure.metric import Metric

TICKS = 8
"""More values than that have ticks at round numbers instead."""


def panels(
    chosen: FigureData,
    metrics: Sequence[Metric],
    x: Mapping[tuple[Point, str], float],
    keys: Sequence[str],
    label: str,
) -> Figure:
    """Draw metrics over `x[point, agent]`, which the swept `keys` vary; whatever else varies has panels of its own.

    A line joins what differs in numbers, and not what differs in names: of other demands, say, or topologies. An axis
    is logarithmic where its values span three decades.
    """
    facets = chosen.facets(keys)
    places = [chosen.swept.index(key) for key in facets]
    apart = {point: tuple(point[place] for place in places) for point in chosen.points}
    names = [chosen.swept.index(key) for key in keys if chosen.numbers(key) is None]
    unrelated = {point: tuple(point[place] for place in names) for point in chosen.points}
    shown = [(metric, other) for metric in metrics for other in dict.fromkeys(apart.values())]
    count = len(shown)
    chosen.check_few(count, MOST, f"{MOST} panels at most")
    width = chosen.options.width or ("column" if count == 1 else "page")
    beside = count // len(metrics)
    most = beside if 1 < beside <= 4 else 3  # a row of panels has one metric, and one scale
    shared = len(metrics) == 1 or ("row" if width == "page" and beside > 1 else False)
    figure, axes, _ = panel_axes(width, count, most, 1.8, beyond=0.8, sharey=shared)
    for ax, (metric, other) in zip(axes, shown, strict=True):
        tidy(ax)
        averages = chosen.averages(metric.name)
        there = sorted({x[key] for key in averages if key in x})
        if spans_decades(there):
            ax.set_xscale("log")
        elif apart_enough(there):
            ax.set_xticks(there, [f"{value:.4g}" for value in there])
        if spans_decades([average.mean for average in averages.values()]):
            ax.set_yscale("log")
        scale, beside_it = metric.axis(max((abs(average.mean) for average in averages.values()), default=1.0))
        for agent in chosen.agents:
            lines: dict[Point, list[tuple[float, Average]]] = {}
            for (point, name), average in averages.items():
                if name == agent and apart[point] == other and (point, name) in x:
                    lines.setdefault(unrelated[point], []).append((x[point, name], average))
            for line in lines.values():
                curve(ax, sorted(line, key=lambda pair: pair[0]), scale, chosen.look[agent])
        ax.set_xlabel(label)
        ax.set_ylabel(beside_it)
        ax.set_title(chosen.said(facets, dict(zip(facets, other, strict=True))))
    legend(figure, chosen.agents, chosen.look, named=chosen.heading)
    heading(figure, chosen.finding(metrics[0]), chosen.captioned())
    return figure


def apart_enough(values: Sequence[float]) -> bool:
    """Tell whether there is room for a tick at each of these values, in their order."""
    gaps = [after - before for before, after in pairwise(values)]
    return 1 < len(values) <= TICKS and min(gaps) >= (values[-1] - values[0]) / (2 * TICKS)


def spans_decades(values: Sequence[float]) -> bool:
    """Tell whether values are to be read on a logarithmic axis."""
    return bool(values) and 0 < min(values) <= max(values) / 1000


def curve(ax: Axes, line: Sequence[tuple[float, Average]], scale: float, look: tuple[str, str]) -> None:
    """Draw a curve with the 95 % interval of every value."""
    ax.errorbar(
        [x for x, _ in line],
        [scale * average.mean for _, average in line],
        yerr=np.transpose([average.arms(scale) for _, average in line]),
        color=look[0],
        marker=look[1],
        markersize=3.5,
        linewidth=1.0,
        elinewidth=0.8,
        capsize=1.5,
    )


BARS = 48
"""More bars than that nobody reads."""


def named_rows(ax: Axes, chosen: FigureData, rows: Sequence[tuple[Point, str]], *, named: bool = True) -> list[float]:
    """Place the bars of these points and agents, top down; writes their names, and a point's above its bars."""
    places: list[float] = []
    at = 0.0
    for number, (point, _) in enumerate(rows):
        if chosen.swept and (number == 0 or rows[number - 1][0] != point):
            at += 1.3 if number else 0.0
            if named:
                said = ax.text(0.01, at - 1, chosen.name(point), va="center", fontsize=points(), zorder=9)
                said.set_transform(ax.get_yaxis_transform())
                said.set_in_layout(False)  # it goes on over the next panels, and takes no room from them
                said.set_bbox({"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5})  # over other lines
        places.append(at)
        at += 1
    ax.set_yticks(places, [chosen.heading(agent) if named else "" for _, agent in rows])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(places) + 0.7, -1.7 if chosen.swept else -0.7)
    return places


def stacked(
    chosen: FigureData,
    options: Options,
    parts: Mapping[tuple[Point, str], Sequence[Sequence[float]]],
    names: Sequence[str],
    label: str,
    colours: Sequence[str] = (),
    *,
    told: int = -1,
) -> Figure:
    """Draw a bar of stacked means per point and agent: `parts` has for each row its runs, with a % per name.

    A whisker is the 95 % interval of where the part `told` ends.
    """
    rows = [(point, agent) for point in chosen.points for agent in chosen.agents if (point, agent) in parts]
    chosen.check_few(len(rows), BARS, f"{BARS} bars at most")
    colours = colours or [
        to_hex(colormaps["YlGnBu"](0.95 - 0.75 * at / max(1, len(names) - 1))) for at in range(len(names))
    ]
    figure = new(options.width or "column", 1.0 + 0.19 * (len(rows) + 1.3 * len(chosen.points)))
    ax = figure.subplots()
    tidy(ax, grid="x")
    for place, row in zip(named_rows(ax, chosen, rows), rows, strict=True):
        runs = np.array(parts[row])
        mean = runs.mean(axis=0)
        left = np.concatenate([[0], mean.cumsum()[:-1]])
        ax.barh([place] * len(names), mean, left=left, height=0.8, color=colours)
        end, half = mean_interval(runs.cumsum(axis=1)[:, told])
        if np.isfinite(half) and half > 0:
            ax.errorbar(end, place, xerr=half, fmt="none", ecolor=BLACK, elinewidth=0.8, capsize=1.5)
    ax.set_xlim(0)
    ax.set_xlabel(label)
    columns = 1 if narrow(figure) and max(map(len, names)) > 18 else 2
    patches = [Patch(color=colour) for colour in colours]
    figure.legend(patches, names, loc="outside lower center", ncols=columns, frameon=False, columnspacing=1.2)
    return figure
