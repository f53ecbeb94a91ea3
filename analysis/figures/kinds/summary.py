"""What the seeds can tell, as a figure: the paired differences to a baseline, then the table, a panel per metric."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from math import isfinite
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.compare.differences import BETTER, LESS, MORE, WORSE, Differences
from analysis.compare.table import BEST, Entry, Table
from analysis.figures.chosen import Chosen, Options, short
from analysis.figures.kind import figure
from analysis.figures.style import GREY, Look, grid, heading, legend, new, tidy
from analysis.measure.metric import Metric
from simcore.errors import ResultsError

PANELS = 6
"""More of them than that, where no metrics were asked for, are left to the table."""
ROWS = 60
"""More agents times points than that are, too."""
BELOW, BESIDE = 36, 26
"""Letters in a line of a panel's label."""

Panel = tuple[Metric, str, Sequence[Entry | None]]
"""A metric, the baseline that it is the difference to (or ""), and an entry for every row of the table."""


@figure(meaning="paired differences to the first agent, then the table, a panel per metric", needs="what differs")
def draw(chosen: Chosen, options: Options) -> Figure:
    """Draw the summary; refuses where nothing differs, or where a sweep of more than a number has over `ROWS` rows."""
    asked = [chosen.metric(name) for name in dict.fromkeys(options.metrics)]
    table = Table(chosen.results, asked)
    found = [(metric, [row.entries[number] for row in table.rows]) for number, metric in enumerate(table.metrics)]
    panels: list[Panel] = [(metric, "", entries) for metric, entries in found if asked or _differ(metric, entries)]
    if panels and (first := _difference(chosen, table, panels[0][0])):
        panels.insert(0, first)
    panels = panels if asked else panels[:PANELS]
    numeric = len(table.swept) == 1 and all(isinstance(row.point[0], int | float) for row in table.rows)
    if not panels or (not numeric and len(table.rows) > ROWS):
        raise ResultsError(
            "a summary says nothing, or too much",
            file=chosen.results.folder,
            remedy=f"It needs a metric that differs, and at most {ROWS} rows of the table.",
        )
    width = options.width or ("page" if len(panels) > 1 else "column")
    lines, columns = grid(len(panels), 3 if width == "page" else 1)
    height = 2.0 if numeric else 0.8 + 0.15 * len(table.rows)
    figure = new(width, 0.5 + height * lines)
    axes = figure.subplots(lines, columns, squeeze=False)
    for place, ax in enumerate(axes.flat):
        if place >= len(panels):
            ax.set_axis_off()
            continue
        metric, baseline, entries = panels[place]
        scale, unit = metric.scale(max((abs(entry.mean) for entry in entries if entry), default=1.0))
        told = bool(baseline) and not numeric and any(entry and isfinite(entry.half) for entry in entries)
        words = _words(metric, unit, baseline, told, BESIDE if numeric else BELOW)
        tidy(ax)
        if numeric:
            _lines(ax, entries, scale, table, chosen.look)
            ax.set_xlabel(short(table.swept[0]))
            ax.set_ylabel(words)
        else:
            _dots(ax, entries, scale, table, chosen.look, named=place % columns == 0, difference=bool(baseline))
            ax.set_xlabel(words)
        (ax.yaxis if numeric else ax.xaxis).get_major_formatter().set_useOffset(False)
        if baseline:
            (ax.axhline if numeric else ax.axvline)(0, color=GREY, linewidth=0.8, zorder=0)
    if numeric:
        legend(figure, dict.fromkeys(row.agent for row in table.rows), chosen.look)
    heading(figure, chosen.title, _caption(table, panels, numeric))
    return figure


def _differ(metric: Metric, entries: Sequence[Entry | None]) -> bool:
    """Tell whether the agents differ in a metric of the simulation."""
    return not metric.timed and len({entry.mean for entry in entries if entry}) > 1


def _difference(chosen: Chosen, table: Table, metric: Metric) -> Panel | None:
    """Compare with the first agent over the seeds in common; differences that the seeds tell are marked."""
    results = copy(chosen.results)
    if "scenario" in results.swept:  # a name that the comparison has a use of its own for
        results.runs = results.runs.rename({"scenario": "results"})
        swept = tuple("results" if key == "scenario" else key for key in results.swept)
        results.columns = replace(results.columns, swept=swept)
    try:
        comparison = Differences(results, metrics=[metric.name])
    except ResultsError:
        return None
    found: dict[Any, Entry] = {}
    for row in comparison.frame.iter_rows(named=True):
        if row["diff"] is not None:
            half = float("inf") if row["diff_low"] is None else (row["diff_high"] - row["diff_low"]) / 2
            told = row["verdict"] in (BETTER, WORSE, MORE, LESS)
            found[*(row[key] for key in comparison.keys), row["agent"]] = Entry(row["diff"], half, BEST if told else "")
    entries = [found.get((*row.point, row.agent)) for row in table.rows]
    return (metric, comparison.baseline, entries) if found else None


def _words(metric: Metric, unit: str, baseline: str, told: bool, letters: int) -> str:
    """Write what stands beside a panel's axis."""
    notes = ["lower is better"] * (metric.better == "lower") + ["filled: told from it"] * told
    lines = [metric.heading + (unit and f",{unit}")]
    lines += [f"difference to {baseline}"] if baseline else []
    lines += [f"({'; '.join(notes)})"] if notes else []
    return "\n".join(fill(line, letters, break_on_hyphens=False) for line in lines)


def _caption(table: Table, panels: Sequence[Panel], numeric: bool) -> str:
    entries = [entry for _, baseline, column in panels if not baseline for entry in column if entry]
    filled = "; filled: best, or not told from it" if any(entry.mark for entry in entries) and not numeric else ""
    if all(entry.exact for entry in entries):
        return f"exact: nothing was drawn, and other seeds give the same{filled.partition(',')[0]}"
    if all(entry.alone or entry.exact for entry in entries):
        return "one seed: what another one would say is not known"
    paired = "; differences paired by seed" if any(baseline for _, baseline, _ in panels) else ""
    seeds = max(row.runs - row.failed for row in table.rows)
    return f"mean and 95 % interval over {seeds} seeds{paired}{filled}"


def _dots(
    ax: Axes,
    entries: Sequence[Entry | None],
    scale: float,
    table: Table,
    look: dict[str, Look],
    *,
    named: bool,
    difference: bool,
) -> None:
    """Draw a line per agent (and point of the sweep), and fills the dots that have a mark.

    Of values all are filled, where no agent is told from the best.
    """
    every = not difference and not any(entry and entry.mark for entry in entries)
    for y, (row, entry) in enumerate(zip(table.rows, entries, strict=True)):
        if entry is not None:
            ax.errorbar(
                scale * entry.mean,
                y,
                xerr=scale * entry.half if isfinite(entry.half) else None,
                markerfacecolor=None if entry.mark or every else "white",
                **_looking(look[row.agent]),
            )
    keys = [short(key) for key in table.swept]
    labels = [
        " ".join((*(f"{key} {value}" for key, value in zip(keys, row.point, strict=True)), row.agent))
        for row in table.rows
    ]
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    ax.set_yticks(range(len(labels)), labels if named else [""] * len(labels))
    ax.set_ylim(len(labels) - 0.5, -0.5)


def _lines(ax: Axes, entries: Sequence[Entry | None], scale: float, table: Table, look: dict[str, Look]) -> None:
    """Draw values over the one swept number, a line per agent."""
    for agent in dict.fromkeys(row.agent for row in table.rows):
        mine = [(row.point[0], entry) for row, entry in zip(table.rows, entries, strict=True) if row.agent == agent]
        found = sorted((x, entry.mean, entry.half) for x, entry in mine if entry is not None)
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
