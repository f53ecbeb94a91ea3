"""Agents x points or scenarios: what each agent gains over the baseline, hatched where not significant."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from binwright.analysis.figures import entries
from binwright.analysis.figures.chosen_style import points
from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import heading, new
from binwright.simcore.errors import ResultsError

MOST_CELLS = 300


@figure(
    meaning="agents x points: gains over the baseline (hatched: not significant)", needs="two agents, several points"
)
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a cell per agent and point, for the first metric: green where the agent is better, purple where worse."""
    metric, table = chosen.metrics(chosen.headlines)[0], chosen.table
    [panel] = (found := entries.compared(chosen, table, [metric])).panels
    agents = [agent for agent in chosen.by_mean(metric) if agent != panel.baseline]
    places = list(dict.fromkeys(row.point for row in table.rows))
    if len(places) < 2 or not agents or len(places) * len(agents) > MOST_CELLS:
        raise ResultsError(
            f"two points or more, and {MOST_CELLS} cells at most, can be drawn, not {len(places)} x {len(agents)}",
            file=chosen.results.folder,
            remedy="Name several folders or a sweep; choose with --where and --agents.",
        )
    figure = new(options.width or "page", 1.1 + 0.24 * len(places))
    ax = figure.subplots()
    sign = -1 if metric.better == "lower" else 1
    most = max((abs(entry.mean) for entry in panel.entries if entry), default=1.0) or 1.0
    unit = metric.scale(most)[1]
    scheme, norm = colormaps["PRGn"], Normalize(-1.4 * most, 1.4 * most)
    for row, entry, hollow in zip(table.rows, panel.entries, panel.hollow, strict=True):
        if entry is None or row.agent == panel.baseline:
            continue
        x, y = agents.index(row.agent), places.index(row.point)
        hatch = "////" if hollow else None
        ax.add_patch(
            Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=scheme(norm(sign * entry.mean)), hatch=hatch,
                      edgecolor="#999999", linewidth=0)
        )  # fmt: skip
        text = metric.difference.between(entry.mean, None, None, sign="+").removesuffix(unit)
        back = {"facecolor": scheme(norm(sign * entry.mean)), "edgecolor": "none", "pad": 0.6}
        ax.text(x, y, text, ha="center", va="center", fontsize=points(), color="#000000", bbox=back)
    ax.set_xlim(-0.5, len(agents) - 0.5)
    ax.set_ylim(len(places) - 0.5, -0.5)
    narrow = 72 * figure.get_figwidth() / len(agents) < 0.6 * points() * max(len(chosen.heading(a)) for a in agents)
    ax.set_xticks(np.arange(len(agents)), [chosen.heading(agent) for agent in agents])
    for label in ax.get_xticklabels() if narrow else ():
        label.set(rotation=30, ha="right")
    ax.set_yticks(
        np.arange(len(places)),
        [chosen.said(table.swept, dict(zip(table.swept, point, strict=True))) for point in places],
    )
    ax.tick_params(length=0, labelsize=points())
    ax.spines[:].set_visible(False)
    what = "percentage points" if metric.unit == "%" else unit.strip()
    said = f"{metric.heading.removesuffix(' %')} less that of {chosen.heading(panel.baseline)}{what and f', {what}'}"
    averaged = f"{chosen.title}: means of differences paired by seed, over {chosen.seeds}"
    notes = [averaged, said, "green: better" if metric.better != "neither" else "green: more", found.hatched]
    heading(figure, chosen.finding(metric), "; ".join(notes))
    return figure
