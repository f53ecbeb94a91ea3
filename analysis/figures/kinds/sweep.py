"""Metrics over a swept number, over one another, and over sizes of the cluster."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from textwrap import fill
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from binwright.analysis.compare.table import and_
from binwright.analysis.figures.figure_data import MOST, Average, FigureData, Options, Row, curve
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import (
    GREY,
    heading,
    label_outside,
    legend,
    letters,
    new,
    panel_axes,
    points,
    tidy,
)
from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import ResultsError, suggest
from binwright.simcore.units import BANDWIDTH, CPU, DATA, SHARE, TIME

TICKS = 8
"""More values than that have ticks at round numbers instead."""


@figure(meaning="metrics over a swept number, or over a metric such as allocation_cpu", needs="a sweep over numbers")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw acceptance (scheduled requests where runs stop) and harm, or the metrics asked for, a line per agent.

    What else varies has panels of its own. A line joins what differs in numbers, and not what differs in names: of
    other demands, say, or topologies. An axis is logarithmic where its values span three decades.
    """
    key = options.x or _number(chosen)
    x, keys, label = _over_key(chosen, key) if key in chosen.swept else _over_metric(chosen, key)
    metrics, facets = chosen.metrics([chosen.headlines[0], *chosen.harm]), chosen.facets(keys)
    names = [key for key in keys if chosen.numbers(key) is None]
    values = {point: dict(zip(chosen.swept, point, strict=True)) for point in chosen.points}
    panel_of, line_of = (
        {point: tuple(of[key] for key in apart) for point, of in values.items()} for apart in (facets, names)
    )
    shown = [(metric, panel) for metric in metrics for panel in dict.fromkeys(panel_of.values())]
    chosen.check_few(len(shown), MOST, f"{MOST} panels at most")
    width = options.width or ("column" if len(shown) == 1 else "page")
    beside = len(shown) // len(metrics)
    most = beside if 1 < beside <= 4 else 3  # a row of panels has one metric, and one scale
    shared = len(metrics) == 1 or ("row" if width == "page" and beside > 1 else False)
    figure, axes, _ = panel_axes(width, len(shown), most, 1.8, beyond=0.8, sharey=shared)
    for ax, (metric, panel) in zip(axes, shown, strict=True):
        tidy(ax)
        averages = {row: average for row, average in chosen.averages(metric.name).items() if row in x}
        ticks = sorted({x[row] for row in averages})
        if spans_decades(ticks):
            ax.set_xscale("log")
        elif apart_enough(ticks):
            ax.set_xticks(ticks, [f"{value:.4g}" for value in ticks])
        if spans_decades([average.mean for average in averages.values()]):
            ax.set_yscale("log")
        scale, beside_it = metric.axis(max((abs(average.mean) for average in averages.values()), default=1.0))
        for agent in chosen.agents:
            lines: dict[object, list[tuple[float, Average]]] = {}
            for (point, name), average in averages.items():
                if name == agent and panel_of[point] == panel:
                    lines.setdefault(line_of[point], []).append((x[point, name], average))
            for line in lines.values():
                curve(ax, sorted(line, key=itemgetter(0)), scale, chosen.look[agent])
        ax.set_xlabel(label)
        ax.set_ylabel(beside_it)
        ax.set_title(chosen.label(facets, dict(zip(facets, panel, strict=True))))
    legend(figure, chosen.agents, chosen.look, named=chosen.heading)
    heading(figure, chosen.finding(metrics[0]), chosen.captioned())
    return figure


def apart_enough(values: Sequence[float]) -> bool:
    """Tell whether there is room for a tick at each of these values, in their order."""
    gaps = [after - before for before, after in pairwise(values)]
    return 1 < len(values) <= TICKS and min(gaps) >= (values[-1] - values[0]) / (2 * TICKS)


def spans_decades(values: Sequence[float]) -> bool:
    """Tell whether values are to be read on a logarithmic axis."""
    return bool(values) and 0 < min(values) <= max(values) / 1000


def _number(chosen: FigureData) -> str:
    """Return the swept key with the most values, of those that are numbers."""
    if numeric := [key for key in chosen.swept if chosen.numbers(key)]:
        return max(numeric, key=lambda key: chosen.runs[key].n_unique())
    remedy = "Write `sweep: {product: {KEY: [1, 2, 3]}}` and run it."
    raise ResultsError("no number was swept", file=chosen.results.folder, remedy=remedy)


def _over_key(chosen: FigureData, key: str) -> tuple[Mapping[Row, float], Sequence[str], str]:
    """Place every point at its value of a swept key; returns the places, what they go by, and the axis's label."""
    numbers = chosen.numbers(key)
    if numbers is None:
        raise ResultsError("has values that are not numbers", file=chosen.results.folder, key=key)
    place, factor = chosen.swept.index(key), 1.0
    units = dict.fromkeys(unit for _, unit in numbers.values() if unit)
    named, unit = _without_unit(chosen.results.short(key))
    if TIME.base in units:  # in the heading's unit, or else the one that people would say it in
        if unit in TIME.factors:
            factor = float(1 / TIME.factors[unit])
        else:
            factor, unit = Metric(key, key, "s").scale(max(value for value, _ in numbers.values()))
        units = {unit.strip(): None}
    x = {(point, agent): factor * numbers[point[place]][0] for point in chosen.points for agent in chosen.agents}
    return x, [key], (" " if "%" in units else ", ").join([named, *units])


def _without_unit(heading: str) -> tuple[str, str]:
    """Part a heading from the unit at its end, as an axis has one: `Time between arrivals (s)`; "" for none."""
    name, _, end = heading.rpartition(" (")
    unit = end.removesuffix(")")
    is_unit = any(unit in measure.factors for measure in (SHARE, TIME, DATA, CPU, BANDWIDTH))
    return (name, unit) if is_unit else (heading, "")


def _over_metric(chosen: FigureData, name: str) -> tuple[Mapping[Row, float], Sequence[str], str]:
    """Place every point at the mean of a metric that the sweep changes."""
    if name not in chosen.runs.columns or not chosen.swept:
        remedy = suggest(name, chosen.swept or [metric.name for metric in chosen.results.metrics])
        raise ResultsError("was not swept", file=chosen.results.folder, key=f"--x {name}", remedy=remedy)
    averages = chosen.averages(name)
    scale, label = chosen.metric(name).axis(max((abs(each.mean) for each in averages.values()), default=1.0))
    x = {row: scale * each.mean for row, each in averages.items()}
    keys = [key for key in chosen.swept if key.startswith(("workload.", "cluster."))] or chosen.swept
    return x, keys, label


WAYS = {"higher": ("right", "up"), "lower": ("left", "down")}


@figure(meaning="two metrics against each other, with the agents that none is better than in both", needs="two metrics")
def pareto(chosen: FigureData, options: Options) -> Figure:
    """Draw a panel per point, a mark per agent, or one panel with the points of the only agent; pale off the front."""
    across, up = _two(chosen)
    xs, ys = chosen.averages(across.name), chosen.averages(up.name)
    rows = [row for row in xs if row in ys]
    is_alone = len(chosen.agents) == 1 and len(chosen.points) > 1
    panels = [("", rows)]
    if not is_alone:
        panels = [(chosen.name(point), [row for row in rows if row[0] == point]) for point in chosen.few_points()]
    beyond = 1.0 if is_alone else 0.9
    figure, axes, columns = panel_axes(options.width, len(panels), 3, 2.0, beyond=beyond, sharex=True, sharey=True)
    (x, x_label), (y, y_label) = (
        metric.axis(max((abs(average.mean) for average in averages.values()), default=1.0))
        for metric, averages in ((across, xs), (up, ys))
    )
    label_outside(axes, columns, x_label, y_label)
    for ax, (title, shown) in zip(axes, panels, strict=True):
        tidy(ax)
        ax.locator_params("x", nbins=4)
        ax.set_title(fill(title, letters(figure, columns)))
        places = [(xs[row].mean, ys[row].mean) for row in shown]
        best = front(places, (across.better, up.better))
        line = sorted((x * places[number][0], y * places[number][1]) for number in best)
        ax.plot(*zip(*line, strict=True), "--", color=GREY, linewidth=0.8, zorder=0)
        for number, (point, agent) in enumerate(shown):
            a, b, (colour, marker) = xs[point, agent], ys[point, agent], chosen.look[agent]
            ax.errorbar(
                x * a.mean, y * b.mean, np.reshape(b.arms(y), (2, 1)), np.reshape(a.arms(x), (2, 1)), color=colour,
                marker=marker, alpha=1.0 if number in best else 0.4, markersize=4.5, elinewidth=0.8, capsize=1.5,
            )  # fmt: skip
            if is_alone:
                at = x * a.mean, y * b.mean
                ax.annotate(chosen.name(point), at, (4, 4), textcoords="offset points", fontsize=points())
    if is_alone:
        title = f"{chosen.heading(chosen.agents[0])}: {up.heading} and {across.heading} at {len(rows)} points"
    else:
        legend(figure, chosen.agents, chosen.look, lines=False, named=chosen.heading)
        title = chosen.finding(across)
    better = f"{WAYS[up.better][1]} and to the {WAYS[across.better][0]} is better"
    heading(figure, title, chosen.captioned(better, f"pale: another {'point ' * is_alone}is better in both"))
    return figure


def _two(chosen: FigureData) -> tuple[Metric, Metric]:
    """Return the two metrics that were asked for, or the first two of the table that are better one way."""
    shown = [metric for metric in [*chosen.choice.first, *chosen.choice.others] if not metric.timed]
    metrics = chosen.metrics([metric.name for metric in shown if metric.better in WAYS][:2])
    if len(metrics) != 2 or any(metric.better not in WAYS for metric in metrics):
        problem = "it needs two metrics of which higher or lower is better"
        raise ResultsError(problem, file=chosen.results.folder, remedy="Name two: --metric acceptance --metric cost.")
    return metrics[0], metrics[1]


def front(places: Sequence[tuple[float, float]], better: tuple[str, str]) -> list[int]:
    """Return the numbers of the places that none is better than: as good in both, and better in one; in their order.

    `better` says of either coordinate whether `higher` or `lower` is.
    """
    signs = [1 if way == "higher" else -1 for way in better]
    good = [(signs[0] * x, signs[1] * y) for x, y in places]
    return [
        number for number, (x, y) in enumerate(good) if not any(a >= x and b >= y and (a, b) != (x, y) for a, b in good)
    ]


SIZES = "sizes.csv"
COLUMNS = ("agent", "size", "low", "high", "until", "key", "metric", "target", "most")
ROOM = 0.3
"""The share of the range of the answers that is shown beside it."""


@figure(meaning="how many servers each agent needs for a target, and where it is met", needs="binwright size")
def size(chosen: FigureData, options: Options) -> Figure:
    """Draw the metric over the sizes with the target, and below it each agent's answer with its interval."""
    sizes = _sizes(chosen)
    until, key, target, most = sizes.select("until", "key", "target", "most").row(0)
    metric = chosen.metric(sizes["metric"][0])
    result = {row["agent"]: row for row in sizes.iter_rows(named=True)}
    agents = [agent for agent in chosen.agents if agent in result]
    figure = new(options.width or "column", 2.4 + 0.17 * len(agents))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1.9, 0.1 + 0.17 * len(agents)))
    ends = [value for name in ("size", "low", "high") for value in sizes[name].drop_nulls()]
    room = max(2.5, ROOM * (max(ends) - min(ends)))
    low, high = min(ends) - room, max(ends) + room
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
    below.set_xlim(low - room / 8, high + room / 8)  # markers are whole
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    below.set_xlabel(chosen.results.short(key))
    below_it = f"below: how many each agent needs until {until}, with the 95 % interval"
    heading(figure, _finding(chosen, result), chosen.captioned(below_it))
    return figure


def _finding(chosen: FigureData, result: dict[str, dict[str, Any]]) -> str:
    """Say which agents need the fewest servers, and how many these are."""
    needs = {agent: row["size"] for agent, row in result.items() if row["size"] is not None}
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
    except (pl.exceptions.PolarsError, OSError):
        problem = "has no answer of binwright size"
    remedy = "Run `binwright size`, and name the folder that it writes, alone."
    raise ResultsError(problem, file=file, remedy=remedy)


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
