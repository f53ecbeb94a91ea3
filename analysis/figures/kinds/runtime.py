"""How long an agent takes for one decision, over the size of the cluster; both axes logarithmic."""

from __future__ import annotations

from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.panels import panels
from binwright.simcore.errors import ResultsError


@figure(meaning="time of a decision over servers", needs="a sweep that changes how many servers there are")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw the time over the servers of points of different size; keys other than `cluster.` have their own panels."""
    sizes = {key: average.mean for key, average in chosen.averages("servers").items()}
    if len(set(sizes.values())) < 2:
        raise ResultsError(
            "the cluster is as large everywhere",
            file=chosen.results.folder,
            remedy="This figure needs a sweep over cluster.servers or cluster.network.topology.",
        )
    keys = [key for key in chosen.swept if key.startswith("cluster.")] or chosen.swept
    return panels(
        chosen,
        chosen.metrics(["decision_us"]),
        sizes,
        keys,
        "servers",
        logarithmic=True,
    )
