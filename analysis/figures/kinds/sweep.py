"""Any metric over a swept number, or over a metric that the sweep changes: the load, the servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import FigureData, Options, Point
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.panels import panels
from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import ResultsError, suggest
from binwright.simcore.units import TIME

Places = Mapping[tuple[Point, str], float]


@figure(meaning="metrics over a swept number, or over a metric such as load_cpu", needs="a sweep over numbers")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw acceptance (scheduled requests where runs stop) and harm, or the metrics asked for, a line per agent."""
    key = options.x or _number(chosen)
    x, keys, label = _over_key(chosen, key) if key in chosen.swept else _over_metric(chosen, key)
    return panels(chosen, chosen.metrics([chosen.headlines[0], *chosen.harm]), x, keys, label)


def _number(chosen: FigureData) -> str:
    """Return the swept key with the most values, of those that are numbers."""
    if numeric := [key for key in chosen.swept if chosen.numbers(key)]:
        return max(numeric, key=lambda key: chosen.runs[key].n_unique())
    remedy = "Write `sweep: {product: {KEY: [1, 2, 3]}}` and run it."
    raise ResultsError("no number was swept", file=chosen.results.folder, remedy=remedy)


def _over_key(chosen: FigureData, key: str) -> tuple[Places, Sequence[str], str]:
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


def _over_metric(chosen: FigureData, name: str) -> tuple[Places, Sequence[str], str]:
    """Place every point at the mean of a metric that the sweep changes."""
    if name not in chosen.runs.columns or not chosen.swept:
        remedy = suggest(name, chosen.swept or [metric.name for metric in chosen.results.metrics])
        raise ResultsError("was not swept", file=chosen.results.folder, key=f"--x {name}", remedy=remedy)
    averages = chosen.averages(name)
    scale, label = chosen.metric(name).axis(max((abs(one.mean) for one in averages.values()), default=1.0))
    x = {row: scale * one.mean for row, one in averages.items()}
    if len({round(value, 6) for value in x.values()}) < 2:
        remedy = "Draw over one that the sweep changes."
        raise ResultsError("is the same everywhere", file=chosen.results.folder, key=f"--x {name}", remedy=remedy)
    keys = [key for key in chosen.swept if key.startswith(("workload.", "cluster."))] or chosen.swept
    return x, keys, label
