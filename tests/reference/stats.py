"""Holm's correction, and the comparisons at a point as one family; Friedman's test: slow and plain."""

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


def slow_verdicts(values: Values, base: str | None = None) -> Verdicts:
    """Compare every two agents, or all with the baseline, where nothing is exact; each point is a family."""
    found: Verdicts = {}
    for point, agents in values.items():
        pairs = list(combinations(agents, 2))
        differences = {
            (one, other): [round(agents[one][s] - agents[other][s], 10) for s in agents[one] if s in agents[other]]
            for one, other in pairs
        }
        tested = [pair for pair in pairs if len(differences[pair]) >= 5]
        asked = [pair for pair in tested if base is None or base in pair]
        p = [slow_p(differences[pair], len(tested)) for pair in asked]
        corrected = dict(zip(asked, holm_slowly(p), strict=True))
        for one, other in pairs:
            mine = corrected.get((one, other))
            found[point, one, other] = found[point, other, one] = (mine, mine is not None and mine <= 0.05)
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
