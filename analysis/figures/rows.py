"""Rows of bars: where those of the points and agents stand, and what stands beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.compare.statistics import mean_interval
from analysis.figures.chosen_style import points
from analysis.figures.figure_data import FigureData, Options, Point
from analysis.figures.style import ink, narrow, new, note_value, tidy
from simcore.errors import ResultsError

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


def few_rows(chosen: FigureData, rows: Sequence[tuple[Point, str]]) -> None:
    """Refuse more rows than can be read."""
    if len(rows) > BARS:
        raise ResultsError(
            f"{len(rows)} bars are more than the {BARS} that can be read",
            file=chosen.results.folder,
            remedy="Choose some with --where KEY=VALUE or --agents.",
        )


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
    few_rows(chosen, rows)
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
        agent = ", ".join(filter(None, [chosen.heading(row[1]), chosen.name(row[0])]))
        for name, start, value in zip(names, left.tolist(), mean.tolist(), strict=True):
            if value:
                note_value(ax, start + value / 2, place, f"{agent}, {name}: {value:.3g} %")
        end, half = mean_interval(runs.cumsum(axis=1)[:, told])
        if np.isfinite(half) and half > 0:
            ax.errorbar(end, place, xerr=half, fmt="none", ecolor=ink(), elinewidth=0.8, capsize=1.5)
    ax.set_xlim(0)
    ax.set_xlabel(label)
    columns = 1 if narrow(figure) and max(map(len, names)) > 18 else 2
    patches = [Patch(color=colour) for colour in colours]
    figure.legend(patches, names, loc="outside lower center", ncols=columns, frameon=False, columnspacing=1.2)
    return figure
