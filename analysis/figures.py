"""Figures of results. Drawn without pyplot: no window, no global state."""

from __future__ import annotations

from math import ceil, isfinite
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.columns import Metric
from analysis.results import Results
from analysis.table import BEST, Row, Table

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
"""Okabe and Ito's, told apart by colour-blind readers too; agents beyond them start over with another marker."""
MARKERS = "osD^vPX*"
PANELS = 6
"""More metrics than that are left to the table."""


def summary(results: Results) -> Path:
    """The table as a figure: mean and 95 % interval of every agent, a panel per metric; returns the PNG's path."""
    table = Table(results)
    panels = [(number, metric) for number, metric in enumerate(table.metrics) if metric.name != "decision_us"][:PANELS]
    by_agent: dict[str, list[Row]] = {}
    for row in table.rows:
        by_agent.setdefault(row.agent, []).append(row)
    numeric = len(table.swept) == 1 and all(isinstance(row.point[0], int | float) for row in table.rows)
    columns = min(3, len(panels))
    height = 2.4 if numeric else 1.2 + 0.22 * len(table.rows)
    figure = Figure(figsize=(3.6 * columns, height * ceil(len(panels) / columns)), layout="constrained")
    axes = figure.subplots(ceil(len(panels) / columns), columns, squeeze=False)
    for place, ax in enumerate(axes.flat):
        if place >= len(panels):
            ax.set_axis_off()
            continue
        number, metric = panels[place]
        if numeric:
            _lines(ax, number, metric, by_agent)
            ax.set_xlabel(table.swept[0])
        else:
            _dots(ax, number, metric, table.rows, named=place % columns == 0)
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    if numeric:
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    best = "" if numeric else "; filled: best, as far as the seeds can tell"
    figure.suptitle(f"{results.folder.name}: mean and 95 % interval over the seeds{best}", fontsize="medium")
    path = results.folder / "figures" / "summary.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    return path


def _scaled(metric: Metric, value: float) -> float:
    return 100 * value if metric.form == "share" else value


def _dots(ax: Axes, number: int, metric: Metric, rows: list[Row], *, named: bool) -> None:
    """A line per agent (and point of the sweep), the best ones filled."""
    agents = list(dict.fromkeys(row.agent for row in rows))
    for y, row in enumerate(rows):
        cell = row.cells[number]
        if cell is None:
            continue
        ax.errorbar(
            _scaled(metric, cell.mean),
            y,
            xerr=_scaled(metric, cell.half) if isfinite(cell.half) else None,
            markerfacecolor=None if cell.mark == BEST else "white",
            **_style(agents.index(row.agent)),
        )
    labels = [" ".join((*map(str, row.point), row.agent)) for row in rows]
    ax.set_yticks(range(len(rows)), labels if named else [""] * len(rows))
    ax.invert_yaxis()
    ax.set_xlabel(metric.heading + (" (less is better)" if metric.better == "less" else ""))


def _lines(ax: Axes, number: int, metric: Metric, by_agent: dict[str, list[Row]]) -> None:
    """The metric over the one swept number, a line per agent."""
    for place, (agent, rows) in enumerate(by_agent.items()):
        cells = [(row.point[0], row.cells[number]) for row in rows]
        found = sorted((x, cell.mean, cell.half) for x, cell in cells if cell is not None)
        x, mean, half = zip(*found, strict=True) if found else ((), (), ())
        ax.errorbar(
            x,
            [_scaled(metric, value) for value in mean],
            yerr=[_scaled(metric, value) if isfinite(value) else 0.0 for value in half],
            label=agent,
            linestyle="-",
            **_style(place),
        )
    ax.set_ylabel(metric.heading)


def _style(place: int) -> dict[str, Any]:
    colour = COLOURS[place % len(COLOURS)]
    marker = MARKERS[place // len(COLOURS) % len(MARKERS)]
    return {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.2, "capsize": 2}
