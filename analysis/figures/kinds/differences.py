"""By how much agents differ from a baseline, paired by seed, with the intervals of the differences."""

from __future__ import annotations

from matplotlib.figure import Figure

from binwright.analysis.compare.table import Table
from binwright.analysis.figures import entries
from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.simcore.errors import ResultsError


@figure(meaning="paired differences to a baseline, a panel per metric", needs="two agents on the same seeds")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw agent less baseline over the seeds that both finished, hollow where they do not differ significantly."""
    table = Table(chosen.results, [chosen.metric(name) for name in dict.fromkeys(options.metrics)])
    metrics = table.metrics if options.metrics else [metric for metric in table.metrics if not metric.timed]
    found = entries.compared(chosen, table, metrics) if metrics else entries.Compared()
    panels = [panel for panel in found.panels if any(panel.entries)]
    if not options.metrics:
        panels = entries.few(table, [one for one in panels if any(entry and entry.mean for entry in one.entries)])
    if not panels:
        remedy = "Run two agents or more on the same seeds, or name a metric in which they differ with --metric."
        raise ResultsError("there is no difference to draw", file=chosen.results.folder, remedy=remedy)
    return entries.draw(chosen, table, panels, found, without=panels[0].baseline)
