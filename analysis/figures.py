"""Figures of results. Drawn without pyplot: no window, no global state."""

from __future__ import annotations

from math import ceil, isfinite
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.columns import Metric
from analysis.results import Results
from analysis.table import Table

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
"""Okabe and Ito's, told apart by colour-blind readers too; agents beyond them start over with another marker."""
MARKERS = "osD^vPX*"
PANELS = 6
"""More metrics than that are left to the table."""
ROWS = 60
"""More agents times points than that are, too."""


def summary(results: Results) -> Path | None:
    """The table as a figure: mean and 95 % interval of every agent, a panel per metric; returns the PNG's path.

    None when there is nothing to see, or more than one can: `ROWS` of a sweep that is not one number.
    """
    table = Table(results)
    panels = [(number, metric) for number, metric in enumerate(table.metrics) if _worth_a_panel(number, metric, table)]
    panels = panels[:PANELS]
    numeric = len(table.swept) == 1 and all(isinstance(row.point[0], int | float) for row in table.rows)
    if not panels or (not numeric and len(table.rows) > ROWS):
        return None
    columns = min(3, len(panels))
    height = 2.4 if numeric else 1.2 + 0.22 * len(table.rows)
    figure = Figure(figsize=(3.6 * columns, 0.4 + height * ceil(len(panels) / columns)), layout="constrained")
    axes = figure.subplots(ceil(len(panels) / columns), columns, squeeze=False)
    for place, ax in enumerate(axes.flat):
        if place >= len(panels):
            ax.set_axis_off()
            continue
        number, metric = panels[place]
        cells = [cell for row in table.rows if (cell := row.cells[number])]
        scale, unit = metric.scale(max(abs(cell.mean) for cell in cells))
        heading = metric.heading + (unit and f",{unit}") + (" (less is better)" if metric.better == "less" else "")
        if numeric:
            _lines(ax, number, scale, table)
            ax.set_xlabel(table.swept[0])
            ax.set_ylabel(heading)
        else:
            _dots(ax, number, scale, table, named=place % columns == 0)
            ax.set_xlabel(heading)
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    if numeric:
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(f"{results.folder.name}: {_caption(table, numeric)}", fontsize="medium")
    path = results.folder / "figures" / "summary.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    return path


def _worth_a_panel(number: int, metric: Metric, table: Table) -> bool:
    means = {cell.mean for row in table.rows if (cell := row.cells[number])}
    return metric.name != "decision_us" and len(means) > 1


def _caption(table: Table, numeric: bool) -> str:
    if not any(isfinite(cell.half) for row in table.rows for cell in row.cells if cell):
        return "one seed"
    marked = any(cell.mark for row in table.rows for cell in row.cells if cell)
    filled = "; filled: best, or not told from it" if marked and not numeric else ""
    return f"mean and 95 % interval over the seeds{filled}"


def _dots(ax: Axes, number: int, scale: float, table: Table, *, named: bool) -> None:
    """A line per agent (and point of the sweep), the best ones filled."""
    agents = list(dict.fromkeys(row.agent for row in table.rows))
    for y, row in enumerate(table.rows):
        cell = row.cells[number]
        if cell is not None:
            ax.errorbar(
                scale * cell.mean,
                y,
                xerr=scale * cell.half if isfinite(cell.half) else None,
                markerfacecolor=None if cell.mark else "white",
                **_style(agents.index(row.agent)),
            )
    keys = [key.rpartition(".")[2] for key in table.swept]
    labels = [
        " ".join((*(f"{key} {value}" for key, value in zip(keys, row.point, strict=True)), row.agent))
        for row in table.rows
    ]
    ax.set_yticks(range(len(labels)), labels if named else [""] * len(labels))
    ax.invert_yaxis()


def _lines(ax: Axes, number: int, scale: float, table: Table) -> None:
    """The metric over the one swept number, a line per agent."""
    agents = list(dict.fromkeys(row.agent for row in table.rows))
    for place, agent in enumerate(agents):
        cells = [(row.point[0], row.cells[number]) for row in table.rows if row.agent == agent]
        found = sorted((x, cell.mean, cell.half) for x, cell in cells if cell is not None)
        if found:
            x, mean, half = zip(*found, strict=True)
            ax.errorbar(
                x,
                [scale * value for value in mean],
                yerr=[scale * value if isfinite(value) else 0.0 for value in half],
                label=agent,
                linestyle="-",
                **_style(place),
            )


def _style(place: int) -> dict[str, Any]:
    colour = COLOURS[place % len(COLOURS)]
    marker = MARKERS[place // len(COLOURS) % len(MARKERS)]
    return {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.2, "capsize": 2}
