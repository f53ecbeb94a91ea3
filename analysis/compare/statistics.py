"""Intervals of means, paired tests, and whether seeds are independent. Samples lie along the last axis."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

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


def mean_interval(values: Floats) -> tuple[Any, Any]:
    """Compute the mean and half of its 95 % t interval's width, each [...]; that of a single value is infinite.

    Values that are all the same give a half width of 0. NaN is no value; without any, both are NaN.
    """
    n, mean, deviation = _moments(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = stdtrit(n - 1, (1 + CONFIDENCE) / 2) * deviation / np.sqrt(n)
    return mean, np.where(n == 1, np.inf, half)[()]


def _moments(values: Floats) -> tuple[Any, Any, Any]:
    """Count what is not NaN, and compute its mean and standard deviation, each [...].

    The latter is 0 where all values are the same, as floats would round their mean.
    """
    values = np.asarray(values, np.float64)  # whole numbers know no infinity
    is_value = ~np.isnan(values)
    n = is_value.sum(axis=-1)
    same = np.fmax.reduce(values, axis=-1, initial=-np.inf) == np.fmin.reduce(values, axis=-1, initial=np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(is_value, values, 0.0).sum(axis=-1) / n
        squares = np.where(is_value, (values - mean[..., None]) ** 2, 0.0).sum(axis=-1)
        return n, mean, np.where(same, 0.0, np.sqrt(squares / (n - 1)))[()]


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
    n, mean, deviation = _moments(difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = deviation / np.sqrt(n)
        p = np.where(error == 0, 2.0 ** (1 - n), 2 * stdtr(n - 1, -abs(mean) / error))
    return np.where(n < 2, np.nan, np.where(mean == 0, 1.0, p))[()]


def signed_rank(difference: Floats) -> Any:
    """Compute the two-sided p of Wilcoxon's signed-rank test of [k, n] differences, float64 [k].

    Zeros are left out, as is NaN, and ties share their ranks.

    Exact, ties included, for up to `EXACT` pairs: all 2^n signs are equally likely, and the sums of ranks that they
    give are counted. 1 when nothing differs.
    """
    twice = _ranks(abs(difference))
    total = twice.sum(axis=1)
    positive = (twice * (difference > 0)).sum(axis=1)
    larger = np.maximum(positive, total - positive)
    with np.errstate(invalid="ignore"):
        z = (larger - total / 2) / np.sqrt((twice.astype(np.float64) ** 2).sum(axis=1) / 4)
    p = np.where(total == 0, 1.0, 2 * ndtr(-z))
    exact = (~np.isnan(difference)).sum(axis=1) <= EXACT
    if exact.any():
        patterns, pattern = np.unique(np.sort(twice[exact], axis=1), axis=0, return_inverse=True)
        p[exact] = np.minimum(1.0, 2 * _tails(patterns)[pattern.reshape(-1), larger[exact]])
    return p


def corrected_ends(difference: Floats, level: float, *, ranks: bool) -> tuple[float, float]:
    """Compute the ends of the shifts of differences [n] that a test does not reject at this level.

    They are those of the t-test, or where `ranks` of the signed-rank test: the sum of positive ranks is the number of
    pairs, each with itself too, whose mean is above the shift. Ties count as if they were none.
    """
    n = len(difference)
    if not ranks:
        _, mean, deviation = _moments(difference)
        half = float(stdtrit(n - 1, 1 - level / 2) * deviation / np.sqrt(n))
        return float(mean - half), float(mean + half)
    means = np.sort((difference[:, None] + difference)[np.triu_indices(n)] / 2)
    rank = np.arange(1, n + 1)
    if n <= EXACT:
        rejected = int((2 * _tails(rank[None])[0] > level).sum())  # the smallest sum of ranks that is
    else:
        rejected = int(np.ceil(len(means) / 2 - ndtri(level / 2) * np.sqrt((rank**2).sum() / 4)))
    below = max(len(means) - rejected, 0)
    return float(means[below]), float(means[-1 - below])


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


WORTH_SAYING = 0.05
"""The least share of requests met twice that is said."""
SENTENCE = (
    "The windows of these {:,} seeds overlap: {:.0f} % of a seed's requests are met by another one too. So seeds are "
    "not independent, and intervals and p-values promise more than they can keep. Draw from more of the trace, or take "
    "windows that do not overlap: start: {{apart: [first, last]}} (page 'Traces and generated workloads')."
)


def overlap_of(runs: pl.DataFrame, keys: Sequence[str]) -> str:
    """Say the largest overlap at a point of finished runs; "" if it is not worth saying.

    What any agent met of its windows counts.
    """
    if "windows" not in runs.columns:
        return ""
    done = runs.filter(pl.col("status") == "done", pl.col("windows").is_not_null())
    windows = done.select(*keys, "seed", window=pl.col("windows").str.split(" ")).explode("window").unique()
    ends = windows.with_columns(pl.col("window").str.split_exact("-", 1).struct.rename_fields(["first", "last"]))
    first, last = (pl.col("window").struct.field(name).cast(pl.Int64) for name in ("first", "last"))
    rows = ends.select(*keys, "seed", row=pl.int_ranges(first, last + 1)).explode("row").unique()
    seeds = pl.len().over(*keys, "row")
    met_twice = (
        rows.with_columns(twice=seeds > 1).group_by(keys or pl.lit(0)).agg(pl.col("twice").mean(), pl.n_unique("seed"))
    )
    share, count = met_twice.select("twice", "seed").sort("twice").rows()[-1] if len(rows) else (0.0, 0)
    return SENTENCE.format(count, 100 * share) if share >= WORTH_SAYING else ""
