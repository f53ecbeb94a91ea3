"""How many servers every agent needs until a metric meets a target, as `binwright size` found it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.figures.chosen_style import points
from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import GREY, heading, new, tidy
from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Sequence


def answer(folder: Path, name: str, columns: Sequence[str]) -> pl.DataFrame:
    """Read the answer, a row per agent, in the file of this name beside the runs."""
    file = folder / name
    remedy = "Run `binwright size`, and name the folder that it writes, alone."
    if not file.is_file():
        raise ResultsError("there is no answer of binwright size here", file=file, remedy=remedy)
    try:
        found = pl.read_csv(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ResultsError(f"cannot be read: {error}", file=file, remedy=remedy) from None
    if missing := [name for name in columns if name not in found.columns]:
        raise ResultsError(f"has no column {', '.join(missing)}", file=file, remedy=remedy)
    return found


def does(chosen: FigureData, agents: Sequence[str], verb: str) -> str:
    """Begin a sentence about agents: `a needs`, `a and b need`."""
    names = [chosen.heading(agent) for agent in agents]
    return f"{names[0]} {verb}s" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} {verb}"


SIZES = "sizes.csv"
COLUMNS = ("agent", "size", "low", "high", "until", "key", "metric", "target", "most")
ROOM = 0.3
"""So much of the smallest and of the largest answer is shown beyond them."""


@figure(meaning="how many servers each agent needs for a target, and where it is met", needs="binwright size")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw the metric over the sizes with the target, and below it each agent's answer with its interval."""
    sizes = _sizes(chosen)
    until, key, target, most = sizes.select("until", "key", "target", "most").row(0)
    metric = chosen.metric(sizes["metric"][0])
    found = {row["agent"]: row for row in sizes.iter_rows(named=True)}
    agents = [agent for agent in chosen.agents if agent in found]
    figure = new(options.width or "column", 2.4 + 0.17 * len(agents))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1.9, 0.1 + 0.17 * len(agents)))
    shown = _shown(sizes, chosen.runs[key].to_list())
    scale, label = metric.axis(target)
    for agent in agents:
        _curve(above, chosen, agent, key, metric, shown, scale)
    above.axhline(scale * target, color=GREY, linewidth=0.8, linestyle="--")
    tidy(above)
    above.set_ylabel(label)
    for place, agent in enumerate(agents):
        _answer(below, place, found[agent], chosen.look[agent], most)
    tidy(below, grid="x")
    below.set_yticks(range(len(agents)), [chosen.heading(agent) for agent in agents], fontsize=points())
    below.set_ylim(len(agents) - 0.4, -0.6)
    below.set_xlim(*shown)
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    below.set_xlabel(chosen.short(key))
    below_it = f"below: how many each agent needs until {until}, with the 95 % interval"
    heading(figure, _said(chosen, agents, found, until), chosen.captioned(below_it))
    return figure


def _said(chosen: FigureData, agents: Sequence[str], found: dict[str, dict[str, Any]], until: str) -> str:
    """Say which agents need the fewest servers, and how many these are."""
    needs = {agent: found[agent]["size"] for agent in agents if found[agent]["size"] is not None}
    if not needs:
        return f"No size that was looked at is enough for {until}"
    fewest = min(needs.values())
    return f"{does(chosen, [agent for agent in needs if needs[agent] == fewest], 'need')} the fewest servers: {fewest}"


def _sizes(chosen: FigureData) -> pl.DataFrame:
    """Read the answer beside the runs."""
    sizes = answer(chosen.results.folder, SIZES, COLUMNS)
    if not len(sizes) or sizes["key"][0] not in chosen.runs.columns:
        remedy = "Run `binwright size` again, and name the folder that it writes, alone."
        raise ResultsError("is of other runs than those beside it", file=chosen.results.folder / SIZES, remedy=remedy)
    return sizes


def _shown(sizes: pl.DataFrame, looked: Sequence[int]) -> tuple[float, float]:
    """Choose the sizes to show: the answers with their intervals, and room beside them."""
    ends = [value for name in ("size", "low", "high") for value in sizes[name].drop_nulls()]
    low, high = min(ends), max(ends)
    room = max(2.0, ROOM * (high - low), ROOM / 2 * low)
    return max(min(looked) - 0.5, low - room), min(max(looked) + 0.5, high + room)


def _curve(
    ax: Axes, chosen: FigureData, agent: str, key: str, metric: Metric, shown: tuple[float, float], scale: float
) -> None:
    """Draw an agent's means with their 95 % intervals, at the sizes that it was looked at."""
    rows = chosen.runs.filter((pl.col("agent") == agent) & pl.col(key).is_between(*shown)).sort(key)
    points = [
        (size[0], *mean_interval(group[metric.name].cast(float).to_numpy()))
        for size, group in rows.group_by(key, maintain_order=True)
    ]
    ends = [metric.ends(mean, half) if half < inf else (mean, mean) for _, mean, half in points]
    colour, marker = chosen.look[agent]
    ax.errorbar(
        [size for size, _, _ in points],
        [scale * mean for _, mean, _ in points],
        yerr=[
            [scale * (mean - low) for (_, mean, _), (low, _) in zip(points, ends, strict=True)],
            [scale * (high - mean) for (_, mean, _), (_, high) in zip(points, ends, strict=True)],
        ],
        color=colour,
        marker=marker,
        markersize=3.5,
        linewidth=1.0,
        elinewidth=0.8,
        capsize=1.5,
    )


def _answer(ax: Axes, place: int, row: dict[str, int | None], look: tuple[str, str], most: int) -> None:
    """Draw the number of servers that an agent needs, with its interval."""
    colour, marker = look
    low, high = row["low"], row["high"]
    if low is not None:
        ax.plot([low, high or most], [place, place], color=colour, linewidth=1.2, solid_capstyle="butt")
    if row["size"] is not None:
        ax.plot([row["size"]], [place], color=colour, marker=marker, markersize=4.5)
        ax.annotate(
            str(row["size"]), (float(high or row["size"]), place), (5, 0), textcoords="offset points", va="center",
            fontsize=points(), color=colour, annotation_clip=False,
        )  # fmt: skip
    else:
        ax.annotate(
            f"> {most:,}", (1.0, place), (-2, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
            ha="right", va="center", fontsize=points(), color=colour,
        )  # fmt: skip
