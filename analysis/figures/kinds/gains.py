"""Agents x points or scenarios: what each agent gains over the baseline, hatched where not significant."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from binwright.analysis.figures.figure_data import FigureData, Options, verdicts
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import heading, new, points
from binwright.simcore.errors import ResultsError

MOST_CELLS = 300


@figure(
    meaning="agents x points: gains over the baseline (hatched: not significant)", needs="two agents, several points"
)
def draw(chosen: FigureData, options: Options) -> Figure:
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
        hatch = "////" if result.is_tested and (metric.name, (point, agent)) in result.is_same else None
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
