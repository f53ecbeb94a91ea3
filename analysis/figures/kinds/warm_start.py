"""Allocation over the share that was allocated when the run began."""

from __future__ import annotations

from matplotlib.figure import Figure

from analysis.figures.figure_data import FigureData, Options
from analysis.figures.kind import figure
from analysis.figures.panels import over_key


@figure(meaning="allocation over the warm-start ratio", needs="a sweep over warm_start.until")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a panel per resource; needs a sweep over `warm_start.until`."""
    return over_key(chosen, "warm_start.until", [f"allocation_{name}" for name in chosen.results.resources])
