"""Any metric over a swept number, or over a metric that the sweep changes: the load, the servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import itemgetter

from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import MOST, Average, FigureData, Options, Row, curve
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import heading, legend, panel_axes, tidy
from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import ResultsError, suggest
from binwright.simcore.units import TIME

TICKS = 8
"""More values than that have ticks at round numbers instead."""


@figure(meaning="metrics over a swept number, or over a metric such as load_cpu", needs="a sweep over numbers")
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
        ax.set_title(chosen.said(facets, dict(zip(facets, panel, strict=True))))
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
    if TIME.base in units:  # in the unit that people would say it in
        factor, unit = Metric(key, key, "s").scale(max(value for value, _ in numbers.values()))
        units = {unit.strip(): None}
    x = {(point, agent): factor * numbers[point[place]][0] for point in chosen.points for agent in chosen.agents}
    return x, [key], (" " if "%" in units else ", ").join([chosen.results.short(key), *units])


def _over_metric(chosen: FigureData, name: str) -> tuple[Mapping[Row, float], Sequence[str], str]:
    """Place every point at the mean of a metric that the sweep changes."""
    if name not in chosen.runs.columns or not chosen.swept:
        remedy = suggest(name, chosen.swept or [metric.name for metric in chosen.results.metrics])
        raise ResultsError("was not swept", file=chosen.results.folder, key=f"--x {name}", remedy=remedy)
    averages = chosen.averages(name)
    scale, label = chosen.metric(name).axis(max((abs(each.mean) for each in averages.values()), default=1.0))
    x = {row: scale * each.mean for row, each in averages.items()}
    if len({round(value, 6) for value in x.values()}) < 2:
        remedy = "Draw over one that the sweep changes."
        raise ResultsError("is the same everywhere", file=chosen.results.folder, key=f"--x {name}", remedy=remedy)
    keys = [key for key in chosen.swept if key.startswith(("workload.", "cluster."))] or chosen.swept
    return x, keys, label
