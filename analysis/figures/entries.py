"""Panels of a table's entries, or of differences between them: a row per agent, or lines over a swept number."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import isfinite
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from binwright.analysis.compare.differences import BASELINE, BETTER, LESS, MORE, WORSE, Differences
from binwright.analysis.compare.table import Entry, Table, TableRow
from binwright.analysis.figures.chosen_style import points
from binwright.analysis.figures.figure_data import FigureData
from binwright.analysis.figures.panels import apart_enough, named_rows
from binwright.analysis.figures.style import GREY, Look, grid, heading, legend, new, note_value, tidy
from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import ResultsError

ROWS = 60
"""More agents times points than that are left to the table."""
PANELS, MANY = 6, 16
"""So many metrics are drawn where none were asked for, the first of the table; half of them above so many rows, which
would make a second line of panels too long for a page."""
BESIDE = 26
"""Letters in a line of a label beside a panel."""


@dataclass(frozen=True)
class Panel:
    """Holds a metric and an entry for every row that is drawn; `baseline` is what it is the difference to, or "".

    `hollow` says of every row whether it does not differ significantly from the baseline.
    """

    metric: Metric
    entries: Sequence[Entry | None]
    hollow: Sequence[bool]
    baseline: str = ""


@dataclass(frozen=True)
class Compared:
    """Holds a panel of differences for each metric, what they are to, and what their tests were corrected for.

    One figure has one of these, so that what is hollow in one panel means the same in all others. `baseline` is ""
    where nothing was tested, `family` where differences are exact.
    """

    panels: Sequence[Panel] = ()
    baseline: str = ""
    family: str = ""

    def said(self, *, hollow: bool) -> str:
        """Say what it means that some marks are hollow, or that none is."""
        if not self.family:
            return f"hollow: equal to {self.baseline}" if hollow else ""
        which, sign = ("hollow: not", ">") if hollow else ("all", "<=")
        return f"{which} significantly different from {self.baseline} (p {sign} .05, {self.family})"

    @property
    def hatched(self) -> str:
        """Say what it means that cells are hatched."""
        return self.said(hollow=True).replace("hollow", "hatched")

    def values(self, metric: Metric, entries: Sequence[Entry | None]) -> Panel:
        """Make a panel of a metric's own values, whose marks are hollow where those of its differences are."""
        known = {panel.metric.name: panel.hollow for panel in self.panels}
        return Panel(metric, entries, known.get(metric.name, [False] * len(entries)))


def is_numeric(table: Table) -> bool:
    """Tell whether there is one number that the entries can be drawn over."""
    return len(table.swept) == 1 and all(isinstance(row.point[0], int | float) for row in table.rows)


def compared(chosen: FigureData, table: Table, metrics: Sequence[Metric]) -> Compared:
    """Compare with the baseline over the seeds in common, by metric; nothing where there is nobody to compare with."""
    results = copy(chosen.results)
    if "scenario" in results.swept:  # a name that the comparison has a use of its own for
        results.runs = results.runs.rename({"scenario": "results"})
        swept = tuple("results" if key == "scenario" else key for key in results.swept)
        results.columns = replace(results.columns, swept=swept)
    comparison = Differences(results, chosen.options.baseline, [metric.name for metric in metrics])
    tested = comparison.frame["test"].is_not_null().any()
    found: dict[Any, Entry] = {}
    told = set()
    for row in comparison.frame.iter_rows(named=True):
        key = row["metric"], *(row[key] for key in comparison.shown_keys), row["agent"]
        if row["diff"] is not None:
            half = float("inf") if row["diff_low"] is None else (row["diff_high"] - row["diff_low"]) / 2
            found[key] = Entry(row["diff"], half, exact=row["test"] == "exact")
        if row["verdict"] in (BETTER, WORSE, MORE, LESS, BASELINE):
            told.add(key)
    keys = {metric.name: [(metric.name, *row.point, row.agent) for row in table.rows] for metric in metrics}
    panels = [
        Panel(
            metric.difference,
            [found.get(key) for key in keys[metric.name]],
            [tested and key not in told for key in keys[metric.name]],
            comparison.baseline,
        )
        for metric in metrics
    ]
    return Compared(panels, chosen.heading(comparison.baseline) if tested else "", comparison.family)


def draw(chosen: FigureData, table: Table, panels: Sequence[Panel], compared: Compared, *, without: str = "") -> Figure:
    """Draw the panels, whose entries are those of the table's rows, sorted by mean, and `without` those of an agent."""
    numeric = is_numeric(table)
    order = _order(chosen, table, panels, without)
    rows = [table.rows[place] for place in order]
    panels = [
        replace(panel, entries=[panel.entries[at] for at in order], hollow=[panel.hollow[at] for at in order])
        for panel in panels
    ]
    if not panels or (not numeric and len(rows) > ROWS):
        raise ResultsError(
            "this figure says nothing, or too much",
            file=chosen.results.folder,
            remedy=f"It needs a metric that differs, and at most {ROWS} rows of the table.",
        )
    width = chosen.options.width or ("page" if len(panels) > 1 else "column")
    lines, columns = grid(len(panels), 3 if width == "page" else 1)
    shown = [(_varied(chosen, table, row), row.agent) for row in rows]
    gaps = len({point for point, _ in shown}) if chosen.swept else 0
    height = 2.0 if numeric else 0.8 + 0.15 * (len(rows) + 1.3 * gaps)
    figure = new(width, 0.5 + height * lines)
    axes = figure.subplots(lines, columns, squeeze=False)
    beside = 0 if numeric else 0.6 * points() * max(len(chosen.heading(row.agent)) for row in rows)
    below = max(1, int((figure.get_figwidth() * 72 - beside) / columns / (0.6 * points("text"))))
    for place, ax in enumerate(axes.flat):
        if place >= len(panels):
            ax.set_axis_off()
            continue
        panel = panels[place]
        scale, unit = panel.metric.scale(max((abs(entry.mean) for entry in panel.entries if entry), default=1.0))
        words = _words(chosen, panel, unit, BESIDE if numeric else below)
        tidy(ax)
        if numeric:
            _lines(ax, panel, scale, rows, chosen.look)
            ax.set_xlabel(chosen.short(table.swept[0]))
            ax.set_ylabel(words)
        else:
            rows_at = named_rows(ax, chosen, shown, named=place % columns == 0)
            _dots(ax, panel, scale, rows_at, rows, chosen)
            ax.set_xlabel(words)
        for at, entry in enumerate(panel.entries):
            if entry:
                text = chosen.value_text(*shown[at], panel.metric, _value(chosen, panel, entry))
                x, y = (rows[at].point[0], scale * entry.mean) if numeric else (scale * entry.mean, rows_at[at])
                note_value(ax, x, y, text)
        (ax.yaxis if numeric else ax.xaxis).get_major_formatter().set_useOffset(False)
        if panel.baseline:
            (ax.axhline if numeric else ax.axvline)(0, color=GREY, linewidth=0.8, zorder=0)
    if numeric:
        legend(figure, dict.fromkeys(row.agent for row in rows), chosen.look, named=chosen.heading)
    hollow = any(panel.hollow[at] for panel in panels for at, entry in enumerate(panel.entries) if entry)
    caption = _caption(rows, panels, compared.said(hollow=hollow))
    heading(figure, chosen.finding(panels[0].metric), f"{chosen.title}: {caption}")
    return figure


def _value(chosen: FigureData, panel: Panel, entry: Entry) -> str:
    """Write a value for whoever points at it."""
    if not panel.baseline:
        return entry.show(panel.metric)
    return f"{'+' * (entry.mean > 0)}{entry.show(panel.metric)} beside {chosen.heading(panel.baseline)}"


def _order(chosen: FigureData, table: Table, panels: Sequence[Panel], without: str) -> list[int]:
    """Return the places of the rows to draw, those of a point together, the best agents by the first panel on top."""
    sort = {agent: at for at, agent in enumerate(chosen.by_mean(panels[0].metric) if panels else chosen.agents)}
    points = list(dict.fromkeys(row.point for row in table.rows))
    there = [place for place, row in enumerate(table.rows) if row.agent != without]
    return sorted(there, key=lambda at: (points.index(table.rows[at].point), sort.get(table.rows[at].agent, len(sort))))


def _words(chosen: FigureData, panel: Panel, unit: str, letters: int) -> str:
    """Write what stands beside a panel's axis."""
    metric = panel.metric
    lines = [metric.heading + (unit and f",{unit}")]
    if panel.baseline and metric.unit == "%":
        lines = [f"{metric.heading.removesuffix(' %')}, percentage points"]
    lines += [f"difference to {chosen.heading(panel.baseline)}"] if panel.baseline else []
    lines += ["(lower is better)"] if metric.better == "lower" else []
    return "\n".join(fill(line, letters, break_on_hyphens=False) for line in lines)


def _caption(rows: Sequence[TableRow], panels: Sequence[Panel], told: str) -> str:
    shown = [panel for panel in panels if not panel.baseline] or panels
    entries = [entry for panel in shown for entry in panel.entries if entry]
    if all(entry.exact for entry in entries):
        said = ["exact: nothing was drawn, and other seeds give the same"]
    elif all(entry.alone or entry.exact for entry in entries):
        said = ["one seed: what another one would say is not known"]
    else:
        said = [f"mean and 95 % interval over {max(row.runs - row.failed for row in rows)} seeds"]
        said += ["differences paired by seed"] if any(panel.baseline for panel in panels) else []
    return "; ".join([*said, *filter(None, [told])])


def few(table: Table, panels: list[Panel]) -> list[Panel]:
    """Choose the first panel, those of harm, and the next ones, as many as there is room for."""
    most = PANELS if is_numeric(table) or len(table.rows) <= MANY else PANELS // 2
    order = sorted(range(len(panels)), key=lambda place: place > 0 and panels[place].metric.table != "harm")
    return [panels[place] for place in sorted(order[:most])]


def _varied(chosen: FigureData, table: Table, row: TableRow) -> tuple[Any, ...]:
    """Return the point of a row as the figure has it, with the values of all keys that still vary."""
    known = {key: value for key, value in zip(table.swept, row.point, strict=True) if key in chosen.swept}
    points = (dict(zip(chosen.swept, point, strict=True)) for point in chosen.points)
    found = next((point for point in points if known.items() <= point.items()), known)
    return tuple(found.get(key) for key in chosen.swept)


def _dots(
    ax: Axes, panel: Panel, scale: float, places: Sequence[float], rows: Sequence[TableRow], chosen: FigureData
) -> None:
    """Draw a dot for each row at its place, hollow where the panel says so."""
    for y, row, entry, hollow in zip(places, rows, panel.entries, panel.hollow, strict=True):
        if entry is not None:
            ax.errorbar(
                scale * entry.mean,
                y,
                xerr=np.reshape(_arms(panel.metric, entry, scale), (2, 1)) if isfinite(entry.half) else None,
                markerfacecolor=ax.get_facecolor() if hollow else None,
                **_looking(chosen.look[row.agent]),
            )
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))


def _arms(metric: Metric, entry: Entry, scale: float) -> tuple[float, float]:
    """Return how far the interval reaches below and above the mean; nowhere, for one seed."""
    if not isfinite(entry.half):
        return 0.0, 0.0
    low, high = metric.ends(entry.mean, entry.half)
    return scale * (entry.mean - low), scale * (high - entry.mean)


def _lines(ax: Axes, panel: Panel, scale: float, rows: Sequence[TableRow], look: dict[str, Look]) -> None:
    """Draw values over the one swept number, a line per agent, with hollow marks where the panel says so."""
    values = sorted({row.point[0] for row in rows})
    if apart_enough(values):
        ax.set_xticks(values, [f"{value:g}" for value in values])
    for agent in dict.fromkeys(row.agent for row in rows):
        found = sorted(
            (row.point[0], entry.mean, _arms(panel.metric, entry, scale), hollow)
            for row, entry, hollow in zip(rows, panel.entries, panel.hollow, strict=True)
            if row.agent == agent and entry is not None
        )
        if found:
            x, mean, arms, _ = zip(*found, strict=True)
            ax.errorbar(
                x,
                [scale * value for value in mean],
                yerr=np.transpose(arms),
                linestyle="-",
                **_looking(look[agent]),
            )
        if empty := [(at, scale * value) for at, value, _, hollow in found if hollow]:
            colour, marker = look[agent]
            inside = ax.get_facecolor()
            ax.plot(*zip(*empty, strict=True), marker, color=colour, markersize=4, markerfacecolor=inside, zorder=3)


def _looking(look: Look) -> dict[str, Any]:
    return {"color": look[0], "marker": look[1], "markersize": 4, "linewidth": 1.0, "capsize": 1.5}
