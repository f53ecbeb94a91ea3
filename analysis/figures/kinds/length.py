"""Scheduled length over the number of servers: how many requests got a place before the first that did not."""

from __future__ import annotations

from matplotlib.figure import Figure

from analysis.figures.figure_data import FigureData, Options
from analysis.figures.kind import figure
from analysis.figures.panels import over_key
from simcore.errors import ResultsError


@figure(meaning="scheduled length over servers", needs="overflow: stop, a sweep over cluster.servers")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw scheduled requests over `cluster.servers`; runs must end at the first request that fits nowhere."""
    if chosen.success != "scheduled":
        raise ResultsError(
            "no run was stopped by a request that fits nowhere",
            file=chosen.results.folder,
            remedy="Write `overflow: stop` into the scenario, or draw --kind sweep.",
        )
    return over_key(chosen, "cluster.servers", ["scheduled"])
