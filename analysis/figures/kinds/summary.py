"""What the seeds can tell, as a figure: the paired differences to a baseline, then the table, a panel per metric."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from binwright.analysis.compare.table import Entry, Table
from binwright.analysis.figures import entries
from binwright.analysis.figures.entries import Compared
from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.measure.metric import Metric
from binwright.simcore.errors import ResultsError


@figure(meaning="paired differences to the baseline, then the table, a panel per metric", needs="what differs")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw the summary; refuses where nothing differs, or where a sweep of more than a number has too many rows."""
    asked = [chosen.metric(name) for name in dict.fromkeys(options.metrics)]
    table = Table(chosen.results, asked)
    found = [(metric, [row.entries[number] for row in table.rows]) for number, metric in enumerate(table.metrics)]
    found = [(metric, values) for metric, values in found if asked or _differ(metric, values)]
    compared = _compared(chosen, table, [metric for metric, _ in found])
    first = [panel for panel in compared.panels[:1] if any(panel.entries)]
    panels = [*first, *(compared.values(metric, values) for metric, values in found)]
    return entries.draw(chosen, table, panels if asked else entries.few(table, panels), compared)


def _differ(metric: Metric, values: Sequence[Entry | None]) -> bool:
    """Tell whether the agents differ in a metric of the simulation; what is harm is always shown."""
    means = {entry.mean for entry in values if entry}
    return not metric.timed and (len(means) > 1 or metric.table == "harm")


def _compared(chosen: FigureData, table: Table, metrics: Sequence[Metric]) -> Compared:
    """Compare by all of the metrics, if there is anything to compare."""
    try:
        return entries.compared(chosen, table, metrics) if metrics else Compared()
    except ResultsError:
        return Compared()
