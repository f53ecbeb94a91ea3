"""Stacked bars of shares, one per agent: why requests were refused, and how far apart placements are spread."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.figures.figure_data import BARS, FigureData, Options, Row, named_rows
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import BLACK, SHADES, heading, narrow, new, tidy
from binwright.analysis.results.folder import refused_shares
from binwright.fabric.network import SPANS
from binwright.simcore.errors import ResultsError

MOST = 5
"""Reasons of their own; the others are one."""


@figure(meaning="refusals by cause, a stacked bar per agent", needs="requests that were refused")
def refusals(chosen: FigureData, options: Options) -> Figure:
    """Draw means over the seeds, in % of what acceptance is a share of; of many reasons the most frequent."""
    names, shares, total = refused_shares(chosen.runs, [*chosen.swept, "agent"], MOST)
    if not total:
        problem = "no request was refused for a reason that was noted"
        raise ResultsError(problem, file=chosen.results.folder, remedy="Draw another kind.")
    parts = {(group[:-1], str(group[-1])): runs for group, runs in shares.items()}
    colours = [to_hex(colormaps["YlGnBu"](shade)) for shade in np.linspace(0.95, 0.2, len(names))]
    figure = _stacked(chosen, options, parts, names, "refused, % of requests", colours, with_interval=-1)
    first, count = total.most_common(1)[0]
    is_sent_back = "lost" in chosen.runs.columns and bool(chosen.runs["lost"].sum())
    sent_back = ["of the requests offered, and of interrupted ones that got no new place"] * is_sent_back
    title = f"{100 * count / total.total():.0f} % of all refusals: {first}"
    heading(figure, title, chosen.captioned(*sent_back))
    return figure


@figure(meaning="share of placements by span, a bar per agent", needs="a network")
def spread(chosen: FigureData, options: Options) -> Figure:
    """Draw stacked bars of the means over the seeds, from one server to beyond the pod."""
    names = [f"span_{number}" for number in range(len(SPANS))]
    if names[0] not in chosen.runs.columns:
        problem = "these placements have no spread: the cluster has no network"
        remedy = "Write `cluster: {network: ...}` into the scenario."
        raise ResultsError(problem, file=chosen.results.folder, remedy=remedy)
    parts: dict[Row, list[list[float]]] = {}
    for *point, agent, a, b, c, d in chosen.runs.drop_nulls(names).select(*chosen.swept, "agent", *names).iter_rows():
        parts.setdefault((tuple(point), agent), []).append([100 * a, 100 * b, 100 * c, 100 * d])
    figure = _stacked(chosen, options, parts, SPANS, "% of the placed requests", SHADES, with_interval=0)
    first = {row: sum(run[0] for run in runs) / len(runs) for row, runs in parts.items()}
    (_, agent), share = max(first.items(), key=lambda pair: pair[1])
    title = f"{chosen.heading(agent)} keeps most on one server: {share:.0f} %"
    heading(figure, title, chosen.captioned("spread of placements"))
    return figure


def _stacked(
    chosen: FigureData,
    options: Options,
    parts: Mapping[Row, Sequence[Sequence[float]]],
    names: Sequence[str],
    label: str,
    colours: Sequence[str],
    *,
    with_interval: int,
) -> Figure:
    """Draw a bar of stacked means per point and agent: `parts` has for each row its runs, with a % per name.

    A whisker is the 95 % interval of where the part `with_interval` ends.
    """
    rows = [(point, agent) for point in chosen.points for agent in chosen.agents if (point, agent) in parts]
    chosen.check_few(len(rows), BARS, f"{BARS} bars at most")
    figure = new(options.width or "column", 1.0 + 0.19 * (len(rows) + 1.3 * len(chosen.points)))
    ax = figure.subplots()
    tidy(ax, grid="x")
    for place, row in zip(named_rows(ax, chosen, rows), rows, strict=True):
        ends = np.array(parts[row]).cumsum(axis=1)
        mean = ends.mean(axis=0)
        ax.barh([place] * len(names), np.diff(mean, prepend=0), left=[0, *mean[:-1]], height=0.8, color=colours)
        end, half = mean_interval(ends[:, with_interval])
        if np.isfinite(half) and half > 0:
            ax.errorbar(end, place, xerr=half, fmt="none", ecolor=BLACK, elinewidth=0.8, capsize=1.5)
    ax.set_xlim(0)
    ax.set_xlabel(label)
    columns = 1 if narrow(figure) and max(map(len, names)) > 18 else 2
    patches = [Patch(color=colour) for colour in colours]
    figure.legend(patches, names, loc="outside lower center", ncols=columns, frameon=False, columnspacing=1.2)
    return figure
