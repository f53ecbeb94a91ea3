"""Panels of metrics over a number, a line per agent: sweep, load, length, runtime and warm-start are drawn so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from analysis.figures.figure_data import MOST, Average, FigureData, Point
from analysis.figures.style import grid, heading, legend, new, note_value, tidy
from analysis.measure.metric import Metric
from simcore.errors import ResultsError
from simcore.units import TIME

TICKS = 8
"""More values than that have ticks at round numbers instead."""


def over_key(chosen: FigureData, key: str, default: Sequence[str]) -> Figure:
    """Draw the metrics over a swept key."""
    if key not in chosen.swept:
        raise ResultsError(
            f"{key} was not swept",
            file=chosen.results.folder,
            remedy=f"This figure needs a sweep over it: write `sweep: {{product: {{{key}: [...]}}}}`, and run it.",
        )
    numbers = chosen.numbers(key)
    if numbers is None:
        raise ResultsError("has values that are not numbers", file=chosen.results.folder, key=key)
    place = chosen.swept.index(key)
    units = dict.fromkeys(unit for _, unit in numbers.values() if unit)
    name, factor = chosen.short(key), 1.0
    if TIME.base in units:  # in the unit that people would say it in
        factor, unit = Metric(key, key, "s").scale(max(value for value, _ in numbers.values()))
        units = {unit.strip(): None}
    return panels(
        chosen,
        chosen.metrics(default),
        {(point, agent): factor * numbers[point[place]][0] for point in chosen.points for agent in chosen.agents},
        [key],
        " ".join([name, *units]) if "%" in units else ", ".join([name, *units]),
    )


def panels(
    chosen: FigureData,
    metrics: Sequence[Metric],
    x: Mapping[tuple[Point, str], float],
    keys: Sequence[str],
    label: str,
    *,
    logarithmic: bool = False,
    ticks: str = "g",
) -> Figure:
    """Draw metrics over `x[point, agent]`, which the swept `keys` vary; whatever else varies has panels of its own.

    A line joins what differs in numbers, and not what differs in names: of other demands, say, or topologies.

    `ticks` is the format of the values of x below the axis.
    """
    facets = chosen.facets(keys)
    places = [chosen.swept.index(key) for key in facets]
    apart = {point: tuple(point[place] for place in places) for point in chosen.points}
    names = [chosen.swept.index(key) for key in keys if chosen.numbers(key) is None]
    unrelated = {point: tuple(point[place] for place in names) for point in chosen.points}
    shown = [(metric, other) for metric in metrics for other in dict.fromkeys(apart.values())]
    count = len(shown)
    if count > MOST:
        raise ResultsError(
            f"{count} panels are more than the {MOST} that can be read",
            file=chosen.results.folder,
            remedy="Choose points with --where KEY=VALUE, or fewer with --metric.",
        )
    width = chosen.options.width or ("column" if count == 1 else "page")
    beside = count // len(metrics)
    rows, columns = grid(count, 1 if width == "column" else 3)
    if width == "page" and 1 < beside <= 4:  # a row of panels has one metric, and one scale
        rows, columns = len(metrics), beside
    figure = new(width, 0.8 + 1.8 * rows)
    axes = figure.subplots(rows, columns, squeeze=False, sharey="row" if columns == beside else len(metrics) == 1)
    for number, ax in enumerate(axes.flat):
        if number >= count:
            ax.set_axis_off()
            continue
        metric, other = shown[number]
        tidy(ax)
        averages = chosen.averages(metric.name)
        there = sorted({x[key] for key in averages if key in x})
        if logarithmic:
            _logarithmic(ax, there)
        elif apart_enough(there):
            ax.set_xticks(there, [f"{value:{ticks}}" for value in there])
        scale, beside_it = metric.axis(max((abs(average.mean) for average in averages.values()), default=1.0))
        for agent in chosen.agents:
            lines: dict[Point, list[tuple[float, Average]]] = {}
            for (point, name), average in averages.items():
                if name == agent and apart[point] == other and (point, name) in x:
                    lines.setdefault(unrelated[point], []).append((x[point, name], average))
                    text = chosen.value_text(point, agent, metric, metric.write(average.mean, average.half))
                    note_value(ax, x[point, name], scale * average.mean, text)
            for line in lines.values():
                _line(ax, sorted(line, key=lambda pair: pair[0]), scale, chosen.look[agent])
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


def _logarithmic(ax: Axes, ticks: Sequence[float]) -> None:
    """Set both axes logarithmic: plain numbers at `ticks` on one, and at 1, 2 and 5 of every decade on the other."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(ticks[:: ceil(len(ticks) / 6)], [f"{tick:g}" for tick in ticks[:: ceil(len(ticks) / 6)]])
    ax.set_xticks([], minor=True)
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def _line(ax: Axes, line: Sequence[tuple[float, Average]], scale: float, look: tuple[str, str]) -> None:
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
