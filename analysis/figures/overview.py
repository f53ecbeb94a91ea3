"""The table as a figure: mean and 95 % interval of every agent, a panel per metric."""

from __future__ import annotations

from math import isfinite
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.columns import Metric
from analysis.figures.chosen import Chosen, short
from analysis.figures.style import Look, grid, heading, legend, new, tidy
from analysis.table import Table
from simcore.errors import ResultsError

PANELS = 6
"""More metrics than that are left to the table."""
ROWS = 60
"""More agents times points than that are, too."""


def draw(chosen: Chosen) -> Figure:
    """The summary; refuses when there is nothing to see, or more than one can: `ROWS` of a sweep of no one number."""
    table = Table(chosen.results)
    panels = [(number, metric) for number, metric in enumerate(table.metrics) if _worth_a_panel(number, metric, table)]
    panels = panels[:PANELS]
    numeric = len(table.swept) == 1 and all(isinstance(row.point[0], int | float) for row in table.rows)
    if not panels or (not numeric and len(table.rows) > ROWS):
        raise ResultsError(
            "a summary says nothing, or too much",
            file=chosen.results.folder,
            remedy=f"It needs a metric that differs, and at most {ROWS} rows of the table.",
        )
    width = chosen.options.width or "page"
    lines, columns = grid(len(panels), 3 if width == "page" else 1)
    height = 2.0 if numeric else 0.8 + 0.15 * len(table.rows)
    figure = new(width, 0.5 + height * lines)
    axes = figure.subplots(lines, columns, squeeze=False)
    for place, ax in enumerate(axes.flat):
        if place >= len(panels):
            ax.set_axis_off()
            continue
        number, metric = panels[place]
        cells = [cell for row in table.rows if (cell := row.cells[number])]
        scale, unit = metric.scale(max(abs(cell.mean) for cell in cells))
        words = metric.heading + (unit and f",{unit}") + ("\n(less is better)" if metric.better == "less" else "")
        tidy(ax)
        if numeric:
            _lines(ax, number, scale, table, chosen.look)
            ax.set_xlabel(short(table.swept[0]))
            ax.set_ylabel(words)
        else:
            _dots(ax, number, scale, table, chosen.look, named=place % columns == 0)
            ax.set_xlabel(words)
    if numeric:
        legend(figure, dict.fromkeys(row.agent for row in table.rows), chosen.look)
    heading(figure, chosen.title, _caption(table, numeric))
    return figure


def _worth_a_panel(number: int, metric: Metric, table: Table) -> bool:
    means = {cell.mean for row in table.rows if (cell := row.cells[number])}
    return metric.name != "decision_us" and len(means) > 1


def _caption(table: Table, numeric: bool) -> str:
    if not any(isfinite(cell.half) for row in table.rows for cell in row.cells if cell):
        return "one seed"
    marked = any(cell.mark for row in table.rows for cell in row.cells if cell)
    filled = "; filled: best, or not told from it" if marked and not numeric else ""
    seeds = max(row.runs - row.failed for row in table.rows)
    return f"mean and 95 % interval over {seeds} seeds{filled}"


def _dots(ax: Axes, number: int, scale: float, table: Table, look: dict[str, Look], *, named: bool) -> None:
    """A line per agent (and point of the sweep), the best ones filled."""
    for y, row in enumerate(table.rows):
        cell = row.cells[number]
        if cell is not None:
            ax.errorbar(
                scale * cell.mean,
                y,
                xerr=scale * cell.half if isfinite(cell.half) else None,
                markerfacecolor=None if cell.mark else "white",
                **_looking(look[row.agent]),
            )
    keys = [short(key) for key in table.swept]
    labels = [
        " ".join((*(f"{key} {value}" for key, value in zip(keys, row.point, strict=True)), row.agent))
        for row in table.rows
    ]
    ax.set_yticks(range(len(labels)), labels if named else [""] * len(labels))
    ax.set_ylim(len(labels) - 0.5, -0.5)


def _lines(ax: Axes, number: int, scale: float, table: Table, look: dict[str, Look]) -> None:
    """The metric over the one swept number, a line per agent."""
    for agent in dict.fromkeys(row.agent for row in table.rows):
        cells = [(row.point[0], row.cells[number]) for row in table.rows if row.agent == agent]
        found = sorted((x, cell.mean, cell.half) for x, cell in cells if cell is not None)
        if found:
            x, mean, half = zip(*found, strict=True)
            ax.errorbar(
                x,
                [scale * value for value in mean],
                yerr=[scale * value if isfinite(value) else 0.0 for value in half],
                linestyle="-",
                **_looking(look[agent]),
            )


def _looking(look: Look) -> dict[str, Any]:
    return {"color": look[0], "marker": look[1], "markersize": 4, "linewidth": 1.0, "capsize": 1.5}
