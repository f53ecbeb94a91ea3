"""Results as people use them: read from their folder, and shown as a table, a comparison, a figure or a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binwright.analysis.results.folder import ResultsFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from binwright.analysis.compare.comparison import Comparison
    from binwright.analysis.compare.table import Table


class Results(ResultsFolder):
    """Shows a folder of results as a table, a comparison, a figure or a report, each imported when it is asked for."""

    def table(self) -> Table:
        """Make a table: agents as rows, metrics as columns, means with intervals over the seeds."""
        from binwright.analysis.compare.table import Table

        return Table(self)

    def compare(
        self,
        baseline: str | None = None,
        metrics: Sequence[str] | str | None = None,
    ) -> Comparison:
        """Compare every agent with the baseline (default: the first agent), paired by seed."""
        from binwright.analysis.compare.comparison import Comparison

        return Comparison(self, baseline, metrics)

    def figure(self, kind: str, **options: Any) -> Figure:
        """Draw a figure of these results: its kind is a name in `analysis.figures.FIGURES`, or `file.py:function`.

        Options are those of `binwright.analysis.figures.figure_data.Options`.
        """
        from binwright.analysis.figures.kind import draw

        return draw(self, kind, **options)

    def report(self, path: str | Path | None = None) -> Path:
        """Write one HTML file with all of it (default: report.html in the folder); returns its path."""
        from binwright.analysis.report.page import write

        return write(self, path)


def load_many(folders: Iterable[str | Path]) -> list[Results]:
    """Read the results in several folders, in this order; a folder that is named twice is read once."""
    return [Results(folder) for folder in dict.fromkeys(map(Path, folders))]
