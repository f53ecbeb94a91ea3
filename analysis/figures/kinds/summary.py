"""What the seeds can tell, as a figure: the paired differences to a baseline, then the table, a panel per metric."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from analysis.compare.table import Entry, Table
from analysis.figures import entries
from analysis.figures.chosen import Chosen, Options
from analysis.figures.entries import Panel
from analysis.figures.kind import figure
from analysis.measure.metric import Metric
from simcore.errors import ResultsError


@figure(meaning="paired differences to the baseline, then the table, a panel per metric", needs="what differs")
def draw(chosen: Chosen, options: Options) -> Figure:
    """Draw the summary; refuses where nothing differs, or where a sweep of more than a number has too many rows."""
    asked = [chosen.metric(name) for name in dict.fromkeys(options.metrics)]
    table = Table(chosen.results, asked)
    found = [(metric, [row.entries[number] for row in table.rows]) for number, metric in enumerate(table.metrics)]
    panels = [Panel(metric, values) for metric, values in found if asked or _differ(metric, values)]
    if panels:
        panels = [*_first(chosen, table, panels[0].metric), *panels]
    return entries.draw(chosen, table, table.rows, panels if asked else entries.few(table, panels))


def _differ(metric: Metric, values: Sequence[Entry | None]) -> bool:
    """Tell whether the agents differ in a metric of the simulation."""
    return not metric.timed and len({entry.mean for entry in values if entry}) > 1


def _first(chosen: Chosen, table: Table, metric: Metric) -> list[Panel]:
    """Compare by the first metric, if there is anything to compare."""
    try:
        return entries.differences(chosen, table, [metric])
    except ResultsError:
        return []
