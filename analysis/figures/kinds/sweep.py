"""Any metric over a swept number, a line per agent; warm-start ratio, servers and load are special cases."""

from __future__ import annotations

from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.panels import over_key
from binwright.simcore.errors import ResultsError, suggest


@figure(meaning="any metric over a swept number, a line per agent", needs="a sweep over numbers")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw acceptance (scheduled requests where runs stop) and harm, or the metrics asked for, over the number."""
    return over_key(chosen, _key(chosen), [chosen.headlines[0], *chosen.harm])


def _key(chosen: FigureData) -> str:
    """Return the swept key that was asked for, or of those that are numbers the one with the most values."""
    folder = chosen.results.folder
    if chosen.options.x:
        if chosen.options.x not in chosen.swept:
            remedy = suggest(chosen.options.x, chosen.swept)
            raise ResultsError("was not swept", file=folder, key=f"--x {chosen.options.x}", remedy=remedy)
        return chosen.options.x
    numeric = [key for key in chosen.swept if chosen.numbers(key)]
    if not numeric:
        remedy = "Write `sweep: {product: {KEY: [1, 2, 3]}}` and run it."
        raise ResultsError("no number was swept", file=folder, remedy=remedy)
    return max(numeric, key=lambda key: chosen.runs[key].n_unique())
