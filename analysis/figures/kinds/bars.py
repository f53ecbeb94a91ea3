"""Stacked bars of shares, one per agent: why requests were refused, and how far apart placements are spread."""

from __future__ import annotations

from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.panels import stacked
from binwright.analysis.figures.style import SHADES, heading
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
    figure = stacked(chosen, options, parts, names, "refused, % of requests")
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
    parts: dict[tuple[tuple[object, ...], str], list[list[float]]] = {}
    for *point, agent, a, b, c, d in chosen.runs.drop_nulls(names).select(*chosen.swept, "agent", *names).iter_rows():
        parts.setdefault((tuple(point), agent), []).append([100 * a, 100 * b, 100 * c, 100 * d])
    figure = stacked(chosen, options, parts, SPANS, "% of the placed requests", SHADES, told=0)
    first = {row: sum(run[0] for run in runs) / len(runs) for row, runs in parts.items()}
    (_, agent), share = max(first.items(), key=lambda pair: pair[1])
    title = f"{chosen.heading(agent)} keeps most on one server: {share:.0f} %"
    heading(figure, title, chosen.captioned("spread of placements"))
    return figure
