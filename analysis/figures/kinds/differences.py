"""How agents differ: paired differences and values of every metric, and gains at many points."""

from collections.abc import Mapping
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from binwright.analysis.figures.figure_data import BARS, Average, FigureData, Options, Row, named_rows, verdicts
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import GREY, Look, heading, letters, new, panel_axes, points, tidy
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results.escaping import cut
from binwright.simcore.errors import ResultsError

PANELS, MANY = 6, 16
"""So many panels are drawn where no metrics were asked for; half of them above so many rows, which are a page high."""


@figure(meaning="paired differences to the best agent, or a baseline, then values; dots: seeds", needs="any results")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a row per point and agent, hollow where it does not differ significantly from the baseline."""
    metrics = chosen.metrics([*chosen.headlines[:1], *chosen.harm, *chosen.headlines[1:]])
    result = verdicts(chosen, metrics) if len(chosen.agents) > 1 else None
    panels: list[tuple[Metric, Mapping[Row, Average], str]]
    panels = [(metric, chosen.averages(metric.name), "") for metric in metrics]
    rows = [(point, agent) for point in chosen.points for agent in chosen.by_mean(metrics[0])]
    rows = [row for row in rows if any(row in means for _, means, _ in panels)]
    chosen.check_few(len(rows), BARS, f"{BARS} rows at most")
    if result:
        panels.insert(0, (metrics[0], result.means, chosen.heading(result.baseline)))
    if not options.metrics:
        panels = panels[: PANELS if len(rows) <= MANY else PANELS // 2]
    height = 0.8 + 0.15 * (len(rows) + 1.3 * len(chosen.points) * bool(chosen.swept))
    figure, axes, columns = panel_axes(options.width, len(panels), 3, height, beyond=0.5)
    beside = 0.6 * points() * max(len(chosen.heading(agent)) for _, agent in rows)
    room = letters(figure, columns, beside)
    for number, (ax, (metric, means, baseline)) in enumerate(zip(axes, panels, strict=True)):
        scale, unit = metric.scale(max((abs(mean.mean) for mean in means.values()), default=1.0))
        tidy(ax)
        for y, row in zip(named_rows(ax, chosen, rows, named=number % columns == 0), rows, strict=True):
            if row in means:
                hollow = result is not None and (metric.name, row) in result.is_same
                _mark(ax, y, means[row], scale, chosen.look[row[1]], hollow=hollow)
        ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.get_major_formatter().set_useOffset(False)
        if baseline:
            ax.axvline(0, color=GREY, linewidth=0.8, zorder=0)
        ax.set_xlabel(_label(metric, unit, baseline, room))
    notes = ["dots: seeds"] * (chosen.runs["seed"].n_unique() > 1)
    if result:
        notes += ["differences: intervals at Holm's levels"] * bool(result.family)
        notes.append(result.caption("hollow", chosen.heading(result.baseline)))
    heading(figure, chosen.finding(metrics[0]), chosen.captioned(*notes))
    return figure


def _label(metric: Metric, unit: str, baseline: str, room: int) -> str:
    lines = [metric.heading + (unit and f",{unit}")]
    if baseline:
        if metric.unit == "%":
            lines = [f"{metric.heading.removesuffix(' %')}, percentage points"]
        lines.append(f"difference to {cut(baseline, room)}")
    lines += ["(lower is better)"] * (metric.better == "lower")
    return "\n".join(fill(line, room, break_on_hyphens=False, break_long_words=False) for line in lines)


def _mark(ax: Axes, y: float, mean: Average, scale: float, look: Look, *, hollow: bool) -> None:
    """Draw a mean with its interval, and every seed behind it."""
    (colour, marker), seeds = look, mean.seeds
    if len(seeds) > 1:
        ax.plot(scale * seeds, np.full(len(seeds), y), "o", color=colour, markersize=1.8, alpha=0.35, zorder=1)
    arms = np.reshape(mean.arms(scale), (2, 1)) if len(seeds) > 1 else None
    face = ax.get_facecolor() if hollow else None
    look_of: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.0, "capsize": 1.5}
    ax.errorbar(scale * mean.mean, y, xerr=arms, markerfacecolor=face, **look_of)


MOST_CELLS = 300


@figure(
    meaning="agents x points: gains over the baseline (hatched: not significant)", needs="two agents, several points"
)
def gains(chosen: FigureData, options: Options) -> Figure:
    """Draw a cell per agent and point, for the first metric: green where the agent is better, purple where worse."""
    metric = chosen.metrics(chosen.headlines)[0]
    result = verdicts(chosen, [metric]) if len(chosen.agents) > 1 else None
    points_of, agents_of = zip(*result.means, strict=True) if result else ((), ())
    places = [point for point in chosen.points if point in points_of]
    agents = [agent for agent in chosen.by_mean(metric) if agent in agents_of]
    if result is None or len(places) < 2 or len(places) * len(agents) > MOST_CELLS:
        raise ResultsError(
            f"two points or more, and {MOST_CELLS} cells at most, can be drawn, not {len(places)} x {len(agents)}",
            file=chosen.results.folder,
            remedy="Name several folders or a sweep; choose with --where and --agents.",
        )
    figure = new(options.width or "page", 1.1 + 0.24 * len(places))
    ax = figure.subplots()
    sign = -1 if metric.better == "lower" else 1
    most = max(abs(mean.mean) for mean in result.means.values()) or 1.0
    unit = metric.scale(most)[1]
    scheme, norm = colormaps["PRGn"], Normalize(-2.2 * most, 2.2 * most)  # light enough for black text
    for (point, agent), mean in result.means.items():
        x, y, colour = agents.index(agent), places.index(point), scheme(norm(sign * mean.mean))
        hatch = "////" if (metric.name, (point, agent)) in result.is_same else None
        cell: dict[str, Any] = {"facecolor": colour, "hatch": hatch, "edgecolor": "#999999", "linewidth": 0}
        ax.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, **cell))
        text = metric.between(mean.mean, None, None, sign="+").removesuffix(unit)
        back = {"facecolor": colour, "edgecolor": "none", "pad": 0.6}
        ax.text(x, y, text, ha="center", va="center", fontsize=points(), color="#000000", bbox=back)
    ax.set_xlim(-0.5, len(agents) - 0.5)
    ax.set_ylim(len(places) - 0.5, -0.5)
    named = [chosen.heading(agent) for agent in agents]
    ax.set_xticks(np.arange(len(agents)), named)
    if 72 * figure.get_figwidth() / len(agents) < 0.6 * points() * max(map(len, named)):
        ax.tick_params(axis="x", labelrotation=30)
    ax.set_yticks(np.arange(len(places)), [chosen.name(point) for point in places])
    ax.tick_params(length=0, labelsize=points())
    ax.spines[:].set_visible(False)
    count = chosen.runs["seed"].n_unique()
    what, base = "percentage points" if metric.unit == "%" else unit.strip(), chosen.heading(result.baseline)
    notes = [
        f"{chosen.title}: means of differences paired by seed, over {f'{count} seeds' if count > 1 else 'one seed'}"
    ]
    notes += [f"{metric.heading.removesuffix(' %')} less that of {base}{what and f', {what}'}"]
    notes += ["green: better" if metric.better != "neither" else "green: more", result.caption("hatched", base)]
    heading(figure, chosen.finding(metric), "; ".join(notes))
    return figure
