"""Acceptance and utilisation: a bar or a dot per agent with its 95 % interval, its value written beside it."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from binwright.analysis.figures.chosen_style import points
from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.panels import few_rows, named_rows
from binwright.analysis.figures.style import HARD, grid, heading, ink, new, note_value, tidy


@figure(
    meaning="what agents differ in, acceptance first: bars, or dots where bars from 0 would look alike",
    needs="any results",
)
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a panel per metric: by default what agents differ in, acceptance and allocation first, and all harm."""
    count = 1 + len(chosen.results.resources) + len(chosen.results.tiers)
    metrics = chosen.metrics([chosen.headlines[0], *chosen.harm, *chosen.headlines[1:count]])
    averages = {metric.name: chosen.averages(metric.name) for metric in metrics}
    rows = [(point, agent) for point in chosen.points for agent in chosen.by_mean(metrics[0])]
    rows = [row for row in rows if any(row in found for found in averages.values())]
    few_rows(chosen, rows)
    width = options.width or ("column" if len(metrics) <= 2 else "page")
    lines, columns = grid(len(metrics), 2 if width == "column" else 4)
    height = 0.6 + 0.155 * (len(rows) + 1.3 * len(chosen.points))
    figure = new(width, 0.5 + height * lines)
    axes = figure.subplots(lines, columns, squeeze=False)
    room = int(figure.get_figwidth() * 72 / (0.6 * points("text")) / columns) - 2  # letters below a panel
    for number, ax in enumerate(axes.flat):
        if number >= len(metrics):
            ax.set_axis_off()
            continue
        metric = metrics[number]
        found = {row: average for row, average in averages[metric.name].items() if row in rows}
        most = max((abs(average.mean) for average in found.values()), default=1.0)
        (scale, unit), (_, label) = metric.scale(most), metric.axis(most)
        tidy(ax, grid="x")
        little = 0.7 * points("text")
        places = named_rows(ax, chosen, rows, named=number % columns == 0)
        ends = [(scale * average.low, scale * average.high) for average in found.values()]
        alike = are_alike(ends)
        for place, row in zip(places, rows, strict=True):
            if average := found.get(row):
                value = scale * average.mean
                colour, marker = chosen.look[row[1]]
                if alike:
                    ax.plot(value, place, color=colour, marker=marker, markersize=4)
                else:
                    ax.barh(place, value, height=0.8, color=to_rgba(colour, 0.55), edgecolor=colour, linewidth=0.8)
                if average.low < average.high:
                    ax.errorbar(
                        value,
                        place,
                        xerr=np.reshape(average.arms(scale), (2, 1)),
                        fmt="none",
                        ecolor=colour if alike else ink(),
                        **_CAPS,
                    )
                note_value(ax, value, place, chosen.value_text(*row, metric, metric.write(average.mean, average.half)))
                text = metric.write(average.mean, average.half).removesuffix(unit)
                end = max(0.0, scale * average.high)
                ax.annotate(text, (end, place), (2, 0), textcoords="offset points", va="center", fontsize=little)
        _room_for_text(ax, ends, alike)
        ax.set_xlabel("\n".join(wrap(label.replace(" %", f"{HARD}%"), room)).replace(HARD, " "))
    heading(figure, chosen.finding(metrics[0]), chosen.captioned())
    return figure


ALIKE = 0.7
"""Where the smallest end of an interval is beyond so much of the largest, there are dots in place of bars."""
_CAPS = {"elinewidth": 0.8, "capsize": 1.5, "capthick": 0.8}


def are_alike(ends: Sequence[tuple[float, float]]) -> bool:
    """Tell whether bars from 0 would hide what intervals (low, high) differ by, which dots on their own scale show."""
    low, high = min((low for low, _ in ends), default=0), max((high for _, high in ends), default=0)
    return high > low > ALIKE * high


def _room_for_text(ax: Axes, ends: Sequence[tuple[float, float]], alike: bool) -> None:
    low, high = min((low for low, _ in ends), default=0.0), max((high for _, high in ends), default=1.0)
    if alike:
        room = high - low
        ax.set_xlim(low - 0.08 * room, high + 0.8 * room)
        few = (_round(bins, low, high) for bins in range(3, 9))
        ticks = next(found for found in few if len(found) > 1)
        ax.set_xticks(ticks[::2] if len(ticks) > 2 else ticks)  # their labels have many digits
    else:
        low = min(0.0, low)
        ax.set_xlim(1.1 * low, 1.6 * max(high, 1e-9))
        ax.set_xticks(_round(3, low, 1.05 * high))


def _round(bins: int, low: float, high: float) -> list[float]:
    """Find round numbers between two ends, some as many as asked for."""
    return [float(tick) for tick in MaxNLocator(bins).tick_values(low, high) if low <= tick <= high]
