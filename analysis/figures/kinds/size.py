"""How many servers every agent needs until a metric meets a target, as `binwright size` found it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from binwright.analysis.compare.table import and_
from binwright.analysis.figures.figure_data import FigureData, Options, curve
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import GREY, heading, new, points, tidy
from binwright.simcore.errors import ResultsError

SIZES = "sizes.csv"
COLUMNS = ("agent", "size", "low", "high", "until", "key", "metric", "target", "most")
ROOM, EDGE = 0.3, 0.04
"""So much is shown beyond the answers, and beyond the markers that are shown, which are whole."""


@figure(meaning="how many servers each agent needs for a target, and where it is met", needs="binwright size")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw the metric over the sizes with the target, and below it each agent's answer with its interval."""
    sizes = _sizes(chosen)
    until, key, target, most = sizes.select("until", "key", "target", "most").row(0)
    metric = chosen.metric(sizes["metric"][0])
    result = {row["agent"]: row for row in sizes.iter_rows(named=True)}
    agents = [agent for agent in chosen.agents if agent in result]
    figure = new(options.width or "column", 2.4 + 0.17 * len(agents))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1.9, 0.1 + 0.17 * len(agents)))
    low, high = _shown(sizes, chosen.runs[key].to_list())
    scale, label = metric.axis(target)
    place, averages = chosen.swept.index(key) if key in chosen.swept else -1, chosen.averages(metric.name)
    for number, agent in enumerate(agents):
        size = {point: chosen.runs[key][0] if place < 0 else point[place] for point in chosen.points}
        means = [(size[point], mean) for (point, name), mean in averages.items() if name == agent]
        curve(above, sorted(each for each in means if low <= each[0] <= high), scale, chosen.look[agent])
        _answer(below, number, result[agent], chosen.look[agent], most)
    above.axhline(scale * target, color=GREY, linewidth=0.8, linestyle="--")
    tidy(above)
    above.set_ylabel(label)
    tidy(below, grid="x")
    below.set_yticks(range(len(agents)), [chosen.heading(agent) for agent in agents], fontsize=points())
    below.set_ylim(len(agents) - 0.4, -0.6)
    below.set_xlim(low, high)
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    below.set_xlabel(chosen.results.short(key))
    below_it = f"below: how many each agent needs until {until}, with the 95 % interval"
    heading(figure, _finding(chosen, result, until), chosen.captioned(below_it))
    return figure


def _finding(chosen: FigureData, result: dict[str, dict[str, Any]], until: str) -> str:
    """Say which agents need the fewest servers, and how many these are."""
    needs = {agent: row["size"] for agent, row in result.items() if row["size"] is not None}
    if not needs:
        return f"No size that was looked at is enough for {until}"
    fewest = min(needs.values())
    names = [chosen.heading(agent) for agent in chosen.agents if needs.get(agent) == fewest]
    return f"{and_(names)} need{'s' * (len(names) == 1)} the fewest servers: {fewest}"


def _sizes(chosen: FigureData) -> pl.DataFrame:
    """Read the answer, a row per agent, in the file beside the runs."""
    file = chosen.results.folder / SIZES
    try:
        result = pl.read_csv(file).select(COLUMNS)
        if len(result) and result["key"][0] in chosen.runs.columns:
            return result
        problem = "is of other runs than those beside it"
    except (pl.exceptions.PolarsError, OSError) as error:
        problem = f"has no answer of binwright size: {error}"
    remedy = "Run `binwright size`, and name the folder that it writes, alone."
    raise ResultsError(problem, file=file, remedy=remedy)


def _shown(sizes: pl.DataFrame, looked: Sequence[int]) -> tuple[float, float]:
    """Choose the sizes to show: the answers with their intervals, and room beside them."""
    ends = [value for name in ("size", "low", "high") for value in sizes[name].drop_nulls()]
    low, high = min(ends), max(ends)
    room = max(2.0, ROOM * (high - low), ROOM / 2 * low)
    shown = [size for size in (*ends, *looked) if low - room <= size <= high + room]
    edge = max(0.5, EDGE * (max(shown) - min(shown)))
    return min(shown) - edge, max(shown) + edge


def _answer(ax: Axes, place: int, row: dict[str, int | None], look: tuple[str, str], most: int) -> None:
    """Draw the number of servers that an agent needs, with its interval."""
    colour, marker = look
    low, high = row["low"], row["high"]
    if low is not None:
        ax.plot([low, high or most], [place, place], color=colour, linewidth=1.2, solid_capstyle="butt")
    how: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": points(), "color": colour}
    if row["size"] is not None:
        ax.plot([row["size"]], [place], color=colour, marker=marker, markersize=4.5)
        ax.annotate(str(row["size"]), (float(high or row["size"]), place), (5, 0), annotation_clip=False, **how)
    else:
        ax.annotate(f"> {most:,}", (1.0, place), (-2, 0), xycoords=("axes fraction", "data"), ha="right", **how)
