"""Differences to a baseline, paired by seed, and which of them are significant, as `binwright compare` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from binwright.analysis.compare.comparison import EQUAL, SAME, UNTESTED, Comparison
from binwright.analysis.compare.statistics import ALPHA, FEWEST, corrected_ends, differences
from binwright.analysis.figures.figure_data import Average, FigureData, Point
from binwright.analysis.measure.metric import Metric
from binwright.simcore.types import Floats

Row = tuple[Point, str]
"""A point of the sweep and an agent."""


@dataclass(frozen=True)
class Verdicts:
    """Holds of one metric the differences to `baseline`, and of several the rows that `is_same` (metric, row) has.

    `seeds` float64 [pairs] by row are the differences on each seed, `means` their averages, with intervals that have 0
    within where a difference is not significant. `family` says what p-values
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
    names = [metric.name for metric in metrics]
    # A baseline that the results chose is corrected for all pairs.
    comparison = Comparison(chosen.results, baseline, names, all_pairs=chosen.options.baseline is None)
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
    frame = comparison.frame.filter(comparison.frame["metric"] == first.name)
    columns = frame.select(*chosen.swept, "agent", "test", "p", "p_alone").rows()
    tests = {(tuple(point), agent): (test, p, alone) for *point, agent, test, p, alone in columns}
    same = comparison.frame.filter(comparison.frame["verdict"].is_in([SAME, UNTESTED, EQUAL]))
    rows = same.select("metric", "agent", *chosen.swept).rows()
    return Verdicts(
        baseline,
        found,
        {row: _average(seeds, tests.get(row), comparison.families[first.name]) for row, seeds in found.items()},
        frozenset((metric, (tuple(point), agent)) for metric, agent, *point in rows),
        comparison.family,
        bool(comparison.frame["test"].is_not_null().any()),
    )


def _average(seeds: Floats, tested: tuple[str | None, float | None, float | None] | None, family: int) -> Average:
    """Average differences, with the interval that agrees with their verdict: of its test, at the corrected level."""
    found = Average.of(seeds)
    test, p, alone = tested or (None, None, None)
    if p is None or alone is None or not p:
        return found
    level = ALPHA / family if p == 1 else ALPHA * alone / p  # Holm multiplied by so much
    low, high = corrected_ends(seeds, level, ranks=test == "wilcoxon")
    return replace(found, low=min(low, found.mean), high=max(high, found.mean))
