"""Intervals of means, paired tests, and whether seeds are independent. Samples lie along the last axis."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

from binwright.simcore.extras import pl
from binwright.simcore.types import Floats

CONFIDENCE, ALPHA = 0.95, 0.05
FEWEST = 5
"""Fewer paired differences are not tested: what they say hangs on their being normal, which shares of requests are not.
"""
EXACT = 50
"""Up to so many pairs the signed-rank test is exact, beyond them the normal approximation is."""
NOISE = 40
"""Differences are told to so many bits of the values: what is smaller is what floats round."""
SMALLEST = -900
"""The exponent of values that count as 0: a difference must still be a normal float."""


def by_count(matrix: Floats, statistic: Callable[[Floats], tuple[Any, ...]], outputs: int) -> list[Floats]:
    """Apply a statistic to the numbers of each row, which may have none (NaN is none); outputs are float64 [rows].

    `statistic` gets [k, n] without NaN, once for every n, and so needs to know nothing of what is missing.
    """
    result = np.full((outputs, len(matrix)), np.nan)
    present = ~np.isnan(matrix)
    count = present.sum(axis=1)
    for n in np.unique(count[count > 0]):
        rows = np.flatnonzero(count == n)
        result[:, rows] = statistic(matrix[rows][present[rows]].reshape(len(rows), n))
    return list(result)


def mean_interval(values: Floats) -> tuple[Any, Any]:
    """Compute the mean and half of its 95 % t interval's width, each [...]; that of a single value is infinite.

    Values that are all the same give a half width of 0, NaN anywhere gives NaN.
    """
    n = values.shape[-1]
    if n == 0:
        return np.full(values.shape[:-1], np.nan)[()], np.full(values.shape[:-1], np.nan)[()]
    mean = np.mean(values, axis=-1)
    if n == 1:
        return mean, np.full(values.shape[:-1], np.inf)[()]
    return mean, stdtrit(n - 1, (1 + CONFIDENCE) / 2) * _deviation(values) / np.sqrt(n)


def _deviation(values: Floats) -> Any:
    """Compute the standard deviation, [...]: 0 of values that are all the same, whose mean floats would round."""
    same = values.max(axis=-1) == values.min(axis=-1)
    return np.where(same, 0.0, np.std(values, axis=-1, ddof=1))[()]


def differences(values: Floats, others: Floats) -> Floats:
    """Subtract pair by pair, [..., n], rounding to 2^-40 of the largest value, so that equal differences are equal.

    As floats, .3 - .2 and .2 - .1 differ: ties would break, and no difference would be one. NaN stays NaN.
    """
    largest = np.fmax.reduce(np.fmax(abs(values), abs(others)), axis=-1, keepdims=True, initial=0)
    step = np.ldexp(1.0, np.maximum(np.frexp(largest)[1], SMALLEST) - NOISE)
    rounded: Floats = np.round((values - others) / step) * step
    return rounded


def paired_t(difference: Floats) -> Any:
    """Compute the two-sided p of the paired t-test, [...]: 1 when nothing differs.

    When all of n differ by the same, nothing is known of their variance, and p is that of their signs: 2^(1 - n).
    """
    n = difference.shape[-1]
    if n < 2:
        return np.full(difference.shape[:-1], np.nan)[()]
    mean = abs(np.mean(difference, axis=-1))
    error = _deviation(difference) / np.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(error == 0, 2.0 ** (1 - n), 2 * stdtr(n - 1, -mean / error))
        return np.where(mean == 0, 1.0, p)[()]


def signed_rank(difference: Floats) -> Any:
    """Compute the two-sided p of Wilcoxon's signed-rank test of [k, n] differences, float64 [k].

    Zeros are left out, and ties share their ranks.

    Exact, ties included, for up to `EXACT` pairs: all 2^n signs are equally likely, and the sums of ranks that they
    give are counted. 1 when nothing differs.
    """
    twice = _ranks(abs(difference))
    total = twice.sum(axis=1)
    positive = (twice * (difference > 0)).sum(axis=1)
    larger = np.maximum(positive, total - positive)
    if difference.shape[1] <= EXACT:
        patterns, pattern = np.unique(np.sort(twice, axis=1), axis=0, return_inverse=True)
        return np.minimum(1.0, 2 * _tails(patterns)[pattern.reshape(-1), larger])
    with np.errstate(invalid="ignore"):
        z = (larger - total / 2) / np.sqrt((twice.astype(np.float64) ** 2).sum(axis=1) / 4)
    return np.where(total == 0, 1.0, 2 * ndtr(-z))


def corrected_ends(difference: Floats, level: float, *, ranks: bool) -> tuple[float, float]:
    """Compute the ends of the shifts of differences [n] that a test does not reject at this level.

    They are those of the signed-rank test where `ranks`, found by bisection from the median of all pairs' means, and
    else those of the t-test: 0 lies outside where the test of the differences is significant at the level.
    """
    if not ranks:
        mean, n = float(np.mean(difference)), len(difference)
        half = float(stdtrit(n - 1, 1 - level / 2) * _deviation(difference) / np.sqrt(n))
        return mean - half, mean + half
    middle = float(np.median((difference[:, None] + difference) / 2))
    ends = []
    for outer in (float(difference.min()), float(difference.max())):
        inner = middle
        for _ in range(50):
            shift = (inner + outer) / 2
            rejects = signed_rank(difference[None] - shift)[0] <= level
            inner, outer = (inner, shift) if rejects else (shift, outer)
        ends.append(outer)
    return ends[0], ends[1]


def _ranks(sizes: Floats) -> Any:
    """Rank each size [k, n] in its row: twice the rank, int64, 2 for the smallest, 0 for size zero; ties share."""
    twice = np.zeros(sizes.shape, np.int64)
    for row, ranks in zip(sizes, twice, strict=True):
        ordered = np.sort(row[row > 0])
        ranks[row > 0] = (np.searchsorted(ordered, row, "left") + np.searchsorted(ordered, row, "right") + 1)[row > 0]
    return twice


def _tails(ranks: Any) -> Floats:
    """Compute the chance that [k, n] ranks with random signs sum to s or more, float64 [k, largest sum + 1]."""
    chance = np.zeros((len(ranks), int(ranks.sum(axis=1).max(initial=0)) + 1))
    chance[:, 0] = 1
    sums = np.arange(chance.shape[1])
    for rank in ranks.T:
        before = sums - rank[:, None]
        chance = (chance + np.where(before < 0, 0, np.take_along_axis(chance, np.maximum(before, 0), axis=1))) / 2
    tails: Floats = chance[:, ::-1].cumsum(axis=1)[:, ::-1]
    return tails


def holm(p: Floats) -> Floats:
    """Holm's step-down correction of a family of p-values [m]; NaN is not a member of it and stays NaN."""
    adjusted = np.full(len(p), np.nan)
    order = np.argsort(p, kind="stable")[: int((~np.isnan(p)).sum())]  # NaN comes last
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


Rows = Sequence[tuple[int, int]]
"""Of a seed's windows: first row, and the row after the last."""
WORTH_SAYING = 0.05
"""The least share of requests met twice that is said."""
SENTENCE = (
    "The windows of these {:,} seeds overlap: {:.0f} % of a seed's requests are met by another one too. So seeds are "
    "not independent, and intervals and p-values promise more than they can keep. Draw from more of the trace, or take "
    "windows that do not overlap: start: {{apart: [first, last]}} (page 'Traces and generated workloads')."
)


def overlap(seeds: Sequence[Rows]) -> float:
    """Compute the share of a seed's requests that another one met too; what a seed's own windows share counts once."""
    rows = [np.unique(np.concatenate([np.arange(*window) for window in windows])) for windows in seeds]
    _, seeds_met = np.unique(np.concatenate([np.zeros(0, np.int64), *rows]), return_counts=True)
    return float(seeds_met[seeds_met > 1].sum() / max(int(seeds_met.sum()), 1))


def overlap_of(runs: pl.DataFrame, keys: Sequence[str]) -> str:
    """Say the largest overlap at a point of finished runs; "" if it is not worth saying.

    Of agents that met more or less of the same windows, the one that met most counts.
    """
    if "windows" not in runs.columns:
        return ""
    points: dict[object, dict[int, Rows]] = {}
    done = runs.filter(pl.col("status") == "done", pl.col("windows").is_not_null())
    for *point, seed, text in done.select(*keys, "seed", "windows").unique(maintain_order=True).iter_rows():
        rows = [(int(first), int(last) + 1) for first, _, last in (part.partition("-") for part in text.split())]
        met = points.setdefault(tuple(point), {})
        met[seed] = max(rows, met.get(seed, rows), key=lambda some: sum(end - first for first, end in some))
    share, count = max(((overlap([*seeds.values()]), len(seeds)) for seeds in points.values()), default=(0.0, 0))
    return SENTENCE.format(count, 100 * share) if share >= WORTH_SAYING else ""
