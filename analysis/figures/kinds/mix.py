"""What the cheapest mix of kinds of servers costs with every agent, as `binwright size --mix` found it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from binwright.analysis.figures.chosen_style import points
from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.kinds.size import answer, does
from binwright.analysis.figures.style import GREY, MARKERS, heading, new, tidy
from binwright.simcore.errors import ResultsError

MIXES = "mixes.csv"
COLUMNS = ("agent", "cost", "cost_low", "cost_high", "until", "prices")
ALONE = "cost_only_"
"""How columns begin of what a kind alone costs."""
ROOM = 0.12
"""So much of the range of the costs is left free beside them."""


@figure(meaning="what the cheapest mix of servers costs with each agent", needs="binwright size --mix")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw the cost of each agent's mix with its interval, and beside it what every kind alone would cost."""
    mixes = answer(chosen.results.folder, MIXES, COLUMNS)
    rows = [row for row in mixes.iter_rows(named=True) if row["agent"] in chosen.agents]
    if not any(row["cost"] is not None for row in rows):
        remedy = "Ask for other agents, or a target that one of these meets."
        raise ResultsError("no mix is enough for any of these agents", file=chosen.results.folder, remedy=remedy)
    kinds = [name.removeprefix(ALONE) for name in mixes.columns if name.startswith(ALONE)]
    shown = [row[name] for row in rows for name in row if name.startswith("cost") and row[name] is not None]
    room = ROOM * (max(shown) - min(shown)) or ROOM * max(shown)
    low, high = min(shown) - room, max(shown) + room
    figure = new(options.width or "column", 1.3 + 0.24 * len(rows))
    ax = figure.subplots()
    for place, row in enumerate(rows):
        _row(ax, place, row, kinds, chosen.look[row["agent"]], high)
    tidy(ax, grid="x")
    ax.set_yticks(range(len(rows)), [chosen.heading(row["agent"]) for row in rows], fontsize=points())
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(low, high)
    ax.set_xlabel(f"cost an hour ({rows[0]['prices']})")
    alone = [number for number, kind in enumerate(kinds) if any(row[f"{ALONE}{kind}"] is not None for row in rows)]
    figure.legend(
        [Line2D([], [], **_alone(number)) for number in alone],
        [f"{kinds[number]} alone" for number in alone],
        loc="outside lower center",
        ncols=max(1, len(alone)),
        frameon=False,
        fontsize=points(),
    )
    told = f"the cheapest servers of each agent until {rows[0]['until']}, {chosen.caption.removeprefix('mean and ')}"
    heading(figure, _said(chosen, rows, kinds), f"{chosen.title}: {told}")
    return figure


def _said(chosen: FigureData, rows: Sequence[dict[str, Any]], kinds: Sequence[str]) -> str:
    """Say which agents need the cheapest servers, and which these are."""
    least = min(row["cost"] for row in rows if row["cost"] is not None)
    best = [row for row in rows if row["cost"] == least]
    mixes = " or ".join(dict.fromkeys(_mix(row, kinds) for row in best))
    return f"{does(chosen, [row['agent'] for row in best], 'need')} the cheapest servers: {mixes}"


def _mix(row: dict[str, Any], kinds: Sequence[str]) -> str:
    """Write how many servers of which kinds an answer has."""
    return " + ".join(f"{row[kind]} {kind}" for kind in kinds if row[kind])


def _row(ax: Axes, place: int, row: dict[str, Any], kinds: list[str], look: tuple[str, str], far: float) -> None:
    """Draw an agent's answer with its interval, up to `far`, its mix in words, and what each kind alone costs."""
    colour, marker = look
    for number, kind in enumerate(kinds):
        if row[f"{ALONE}{kind}"] is not None:
            ax.plot([row[f"{ALONE}{kind}"]], [place], **_alone(number))
    if row["cost"] is None:
        ax.annotate("none is enough", (0.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=points())
        return
    if row["cost_low"] is not None:
        ends = [row["cost_low"], row["cost_high"] or far]
        ax.plot(ends, [place, place], color=colour, linewidth=1.2, solid_capstyle="butt")
    ax.plot([row["cost"]], [place], color=colour, marker=marker, markersize=4.5)
    ax.annotate(
        _mix(row, kinds), (row["cost"], place), (0, 4), textcoords="offset points", ha="center", va="bottom",
        fontsize=points(), color=colour,
    )  # fmt: skip


def _alone(number: int) -> dict[str, Any]:
    """Say how the mark of a kind alone looks."""
    marker = MARKERS[-1 - number % len(MARKERS)]
    return {"color": GREY, "marker": marker, "mfc": "none", "markersize": 7, "linewidth": 0}
