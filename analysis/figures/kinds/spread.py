"""How far apart the servers of a placement are: the share of each span, a bar per agent."""

from __future__ import annotations

from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.panels import stacked
from binwright.analysis.figures.style import SHADES, heading
from binwright.fabric.network import SPANS
from binwright.simcore.errors import ResultsError


@figure(meaning="share of placements by span, a bar per agent", needs="a network")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw stacked bars of the means over the seeds, from one server to beyond the pod."""
    names = [f"span_{number}" for number in range(len(SPANS))]
    if names[0] not in chosen.runs.columns:
        raise ResultsError(
            "these placements have no spread: the cluster has no network",
            file=chosen.results.folder,
            remedy="Write `cluster: {network: ...}` into the scenario.",
        )
    parts: dict[tuple[tuple[object, ...], str], list[list[float]]] = {}
    for *point, agent, a, b, c, d in chosen.runs.drop_nulls(names).select(*chosen.swept, "agent", *names).iter_rows():
        parts.setdefault((tuple(point), agent), []).append([100 * a, 100 * b, 100 * c, 100 * d])
    figure = stacked(chosen, options, parts, SPANS, "% of the placed requests", SHADES, told=0)
    first = {row: sum(run[0] for run in runs) / len(runs) for row, runs in parts.items()}
    (_, agent), share = max(first.items(), key=lambda pair: pair[1])
    title = f"{chosen.heading(agent)} keeps most on one server: {share:.0f} %"
    heading(figure, title, chosen.captioned("spread of placements"))
    return figure
