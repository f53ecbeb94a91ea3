"""Holm's correction, and all comparisons of a metric as one family: slow and plain."""

from __future__ import annotations

from itertools import combinations
from typing import Any, TypeAlias

from scipy import stats

Values: TypeAlias = dict[tuple[Any, ...], dict[str, dict[int, float]]]
"""A metric by point, agent and seed."""
Verdicts: TypeAlias = dict[tuple[tuple[Any, ...], str, str], tuple[float | None, bool]]
"""The corrected p (None: not tested) and whether they differ, by point and the two agents, either way round."""


def holm_slowly(p: list[float]) -> list[float]:
    """Correct as Holm (1979) has it: the k-th smallest of m times m - k + 1, and none below a smaller one's."""
    there = sorted(one for one in p if one == one)
    m = len(there)
    return [min(1.0, max((m - k) * there[k] for k in range(m) if there[k] <= one)) if one == one else one for one in p]


def values_of(runs: list[dict[str, Any]], metric: str, swept: list[str]) -> Values:
    """Sort the values of finished runs."""
    found: Values = {}
    for run in runs:
        if run["status"] == "done" and run.get(metric) is not None:
            at = found.setdefault(tuple(run[key] for key in swept), {})
            at.setdefault(run["agent"], {})[run["seed"]] = float(run[metric])
    return found


def slow_verdicts(values: Values) -> Verdicts:
    """Compare every two agents at every point, where nothing is exact."""
    pairs = [(point, *two) for point, agents in values.items() for two in combinations(agents, 2)]
    differences = {}
    for point, one, other in pairs:
        mine, theirs = values[point][one], values[point][other]
        differences[point, one, other] = [round(mine[seed] - theirs[seed], 10) for seed in mine if seed in theirs]
    tested = [pair for pair in pairs if len(differences[pair]) >= 5]
    p = [slow_p(differences[pair], len(tested)) for pair in tested]
    corrected = dict(zip(tested, holm_slowly(p), strict=True))
    found: Verdicts = {}
    for point, one, other in pairs:
        mine_p = corrected.get((point, one, other))
        found[point, one, other] = found[point, other, one] = (mine_p, mine_p is not None and mine_p <= 0.05)
    return found


def slow_p(difference: list[float], family: int) -> float:
    """Test one comparison of so many: by ranks, where they could tell anything, else by t."""
    n = len(difference)
    if not any(difference):
        return 1.0
    if family * 2.0 ** (1 - n) <= 0.05:
        there = [one for one in difference if one]
        signs = stats.PermutationMethod(n_resamples=100_000)
        return float(stats.wilcoxon(there, method=signs).pvalue)
    return 2.0 ** (1 - n) if len(set(difference)) == 1 else float(stats.ttest_1samp(difference, 0).pvalue)
