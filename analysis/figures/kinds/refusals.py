"""Why requests were refused: of each reason the share of the offered, a stacked bar per agent."""

from __future__ import annotations

from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.panels import stacked
from binwright.analysis.figures.style import heading
from binwright.analysis.results.folder import refused_shares
from binwright.simcore.errors import ResultsError

MOST, OTHERS = 5, "others"
"""Reasons of their own; the others are one."""


@figure(meaning="refusals by cause, a stacked bar per agent", needs="requests that were refused")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw means over the seeds, in % of what acceptance is a share of; of many reasons the most frequent."""
    shares, total = refused_shares(chosen.runs, [*chosen.swept, "agent"])
    if not total:
        raise ResultsError(
            "no request was refused for a reason that was noted",
            file=chosen.results.folder,
            remedy="Draw another kind.",
        )
    named = [reason for reason, _ in total.most_common(MOST)]
    names = [*named, OTHERS] if len(total) > len(named) else named
    parts = {
        (group[:-1], str(group[-1])): [
            [
                sum(share for one, share in run.items() if name in (one, OTHERS if one not in named else one))
                for name in names
            ]
            for run in runs
        ]
        for group, runs in shares.items()
    }
    figure = stacked(chosen, options, parts, names, "refused, % of requests")
    first, count = total.most_common(1)[0]
    share = 100 * count / total.total()
    is_sent_back = "lost" in chosen.runs.columns and bool(chosen.runs["lost"].sum())
    sent_back = ["of the requests offered, and of interrupted ones that got no new place"] * is_sent_back
    heading(figure, f"{share:.0f} % of all refusals: {first}", chosen.captioned(*sent_back))
    return figure
