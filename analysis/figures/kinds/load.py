"""Acceptance over the load: what the requests would hold if all of them were placed, of what is installed."""

from __future__ import annotations

from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.panels import panels
from binwright.simcore.errors import ResultsError


@figure(meaning="acceptance over the load", needs="a sweep that changes the load")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw acceptance and harm over the load of the first resource, measured in every run; a sweep must change it."""
    resource = chosen.results.resources[0]
    loads = {key: 100 * average.mean for key, average in chosen.averages(f"load_{resource}").items()}
    if len({round(load, 4) for load in loads.values()}) < 2 or not chosen.swept:
        raise ResultsError(
            "the load is the same everywhere",
            file=chosen.results.folder,
            remedy="This figure needs a sweep that changes it: over the pace of arrivals, say, or the servers.",
        )
    return panels(
        chosen,
        chosen.metrics(["acceptance", *chosen.harm]),
        loads,
        _what_loads(chosen),
        f"load: {resource} asked for, % of what is installed",
        ticks=".3g",
    )


def _what_loads(chosen: FigureData) -> list[str]:
    """Return the swept keys that make the workload or the size; lines run over them."""
    keys = [key for key in chosen.swept if key.startswith(("workload.", "cluster."))]
    return keys or list(chosen.swept)
