"""Differences to a baseline, paired by seed, and which of them are significant, as `binwright compare` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from binwright.analysis.compare.differences import SAME, UNTESTED, Differences
from binwright.analysis.compare.statistics import FEWEST, differences
from binwright.analysis.figures.figure_data import Average, FigureData, Point
from binwright.analysis.measure.metric import Metric
from binwright.simcore.types import Floats

Row = tuple[Point, str]
"""A point of the sweep and an agent."""


@dataclass(frozen=True)
class Verdicts:
    """Holds of one metric the differences to `baseline`, and of several the rows that `is_same` (metric, row) has.

    `seeds` float64 [pairs] by row are the differences on each seed, `means` their averages. `family` says what p-values
    are corrected for; it is "" where nothing was tested.
    """

    baseline: str
    seeds: Mapping[Row, Floats]
    means: Mapping[Row, Average]
    is_same: frozenset[tuple[str, Row]]
    family: str
    is_tested: bool

    def caption(self, mark: str, baseline: str) -> str:
        """Say what the mark means that rows have which do not differ."""
        if not self.is_tested:
            return f"not tested: {FEWEST} seeds are needed"
        if not self.family:
            return f"{mark}: equal to {baseline}; exact, as nothing is random"
        return f"{mark}: not significantly different from {baseline} (p > .05, {self.family})"


def verdicts(chosen: FigureData, metrics: Sequence[Metric]) -> Verdicts | None:
    """Compare with the baseline asked for, or the best by the first metric; None where there is nobody to compare."""
    first = metrics[0]
    baseline = chosen.options.baseline or chosen.by_mean(first)[0]
    comparison = _comparison(chosen, metrics, baseline)
    values = chosen.by_seed(first.name)
    found: dict[Row, Floats] = {}
    for (point, agent), mine in values.items():
        base = values.get((point, baseline), {})
        both = [seed for seed in mine if seed in base]
        if agent != baseline and both:
            found[point, agent] = differences(
                np.array([mine[seed] for seed in both]), np.array([base[seed] for seed in both])
            )
    if not found:
        return None
    keys = ["results" if key == "scenario" else key for key in chosen.swept]
    same = comparison.frame.filter(comparison.frame["verdict"].is_in([SAME, UNTESTED, "equal"]))
    rows = same.select("metric", "agent", *keys).rows()
    return Verdicts(
        baseline,
        found,
        {row: Average.of(seeds, first.difference) for row, seeds in found.items()},
        frozenset((metric, (tuple(point), agent)) for metric, agent, *point in rows),
        comparison.family,
        bool(comparison.frame["test"].is_not_null().any()),
    )


def _comparison(chosen: FigureData, metrics: Sequence[Metric], baseline: str) -> Differences:
    """Test by every metric; a baseline that the results chose is corrected for all pairs."""
    results = copy(chosen.results)
    if "scenario" in results.swept:  # a name that the comparison has a use of its own for
        results.runs = results.runs.rename({"scenario": "results"})
        swept = tuple("results" if key == "scenario" else key for key in results.swept)
        results.columns = replace(results.columns, swept=swept)
    names = [metric.name for metric in metrics]
    return Differences(results, baseline, names, all_pairs=chosen.options.baseline is None)
