"""Allocation over the share that was allocated when the run began."""

from __future__ import annotations

from matplotlib.figure import Figure

from analysis.figures.chosen import Chosen
from analysis.figures.kinds.sweep import over_key


def draw(chosen: Chosen) -> Figure:
    """A panel per resource; needs a sweep over `warm_start.until`."""
    return over_key(chosen, "warm_start.until", [f"allocation_{name}" for name in chosen.results.resources])
