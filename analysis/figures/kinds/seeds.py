"""Seeds as paired dots: what every agent reached on each seed, a line joining the same seed."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from binwright.analysis.figures.chosen_style import points
from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import GREY, grid, heading, ink, new, note_value, tidy
from binwright.simcore.types import Floats

PANELS = 6


@figure(meaning="every seed as a dot, joined over the agents", needs="two agents, several seeds")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a panel per point, or of one point a panel per metric; agents are sorted by their mean."""
    metrics = chosen.metrics(chosen.headlines[:3])
    several = len(chosen.points) > 1
    shown = [(metrics[0], point) for point in chosen.few_points(PANELS)] if several else []
    shown = shown or [(metric, chosen.points[0]) for metric in metrics]
    agents = chosen.by_mean(metrics[0])[::-1]
    width = options.width or ("column" if len(shown) == 1 else "page")
    lines, columns = grid(len(shown), 3 if width == "page" else 1)
    figure = new(width, 0.8 + (0.6 + 0.17 * len(agents)) * lines)
    axes = figure.subplots(lines, columns, squeeze=False, sharey=True, sharex=chosen.is_one_series).ravel()
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    for number, (ax, (metric, point)) in enumerate(zip(axes, shown, strict=False)):
        values = _values(chosen, metric.name, point, agents)
        scale, label = metric.axis(float(np.nanmax(abs(values), initial=1e-9)))
        averages = chosen.averages(metric.name)
        tidy(ax, grid="x")
        ax.plot(scale * values, np.arange(len(agents)), color=GREY, linewidth=0.4, alpha=0.5, zorder=1)
        for place, agent in enumerate(agents):
            colour, marker = chosen.look[agent]
            ax.plot(
                scale * values[place], np.full(values.shape[1], place), marker, color=colour, markersize=2.5, alpha=0.6
            )
            if average := averages.get((point, agent)):
                text = chosen.value_text(point, agent, metric, metric.write(average.mean, average.half))
                note_value(ax, scale * average.mean, place - 0.28, text)
                arms = np.reshape(average.arms(scale), (2, 1))
                ax.errorbar(
                    scale * average.mean, place - 0.28, xerr=arms, fmt="|", color=ink(), elinewidth=1, capsize=0
                )
        ax.set_yticks(range(len(agents)), [chosen.heading(agent) for agent in agents])
        ax.tick_params(axis="y", length=0, labelleft=number % columns == 0)
        ax.set_ylim(-0.7, len(agents) - 0.4)
        ax.set_xlabel(label)
        ax.set_title(chosen.panel_title(point, columns) if several else "", fontsize=points())
    heading(
        figure, chosen.finding(metrics[0]), chosen.captioned("dots are seeds; a line joins one seed's", "ticks: means")
    )
    return figure


def _values(chosen: FigureData, metric: str, point: tuple[object, ...], agents: list[str]) -> Floats:
    """Return a metric at a point, float64 [agents, seeds]: NaN where a run has none."""
    seeds = sorted(chosen.runs["seed"].unique())
    found = np.full((len(agents), len(seeds)), np.nan)
    for *where, agent, seed, value in chosen.runs.select(*chosen.swept, "agent", "seed", metric).iter_rows():
        if tuple(where) == point and value is not None:
            found[agents.index(agent), seeds.index(seed)] = value
    return found
