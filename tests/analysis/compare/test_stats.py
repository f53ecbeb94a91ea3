"""The statistics, beside scipy's and slow ones, and by simulation: do they keep what they promise?"""

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from binwright.analysis.compare.statistics import (
    corrected_ends,
    differences,
    holm,
    mean_interval,
    overlap_of,
    paired_t,
    signed_rank,
)
from tests.reference.stats import holm_slowly
from tests.support.results import row

RNG = np.random.default_rng(7)
tenths = st.integers(-20, 20).map(lambda number: number / 10)
samples = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.lists(tenths, min_size=n, max_size=n), min_size=1, max_size=5).map(np.array)
)


# -- many samples at once ----------------------------------------------------------------------------------------------


@given(st.lists(st.lists(tenths | st.just(np.nan), min_size=4, max_size=4), min_size=1, max_size=6).map(np.array))
def test_rows_of_any_length_are_as_if_alone(matrix: Any) -> None:
    mean, half = mean_interval(matrix)
    for number, numbers in enumerate(matrix):
        alone = mean_interval(numbers[~np.isnan(numbers)])
        np.testing.assert_array_equal([mean[number], half[number]], alone)


def test_whole_numbers_have_the_mean_and_interval_of_floats() -> None:
    assert mean_interval(np.array([3, 4, 8])) == mean_interval(np.array([3.0, 4.0, 8.0]))


# -- paired differences ------------------------------------------------------------------------------------------------


def test_equal_differences_are_equal_whatever_floats_say() -> None:
    assert 0.3 - 0.2 != 0.2 - 0.1
    result = differences(np.array([0.3, 0.2, 0.1 + 0.2]), np.array([0.2, 0.1, 0.3]))
    assert result[0] == result[1] == pytest.approx(0.1, rel=1e-11)
    assert result[2] == 0
    assert differences(np.array([1e-320, np.nan]), np.array([0.0, 1.0]))[0] == 0


def test_a_difference_that_never_varies_is_told_and_none_is_not() -> None:
    values = np.array([0.25, 0.5, 0.125, 0.3, 0.7, 0.8])
    assert paired_t(differences(values + 0.1, values)) == 2**-5
    assert paired_t(differences(values, values)) == 1
    for n in range(2, 7):  # as improbable as that all signs agree
        assert paired_t(differences(values + 0.1, values)[:n]) == 2.0 ** (1 - n) == signed_rank(np.full((1, n), 0.1))
    assert paired_t(np.zeros(3)) == 1
    assert np.isnan(paired_t(np.array([1.0])))


@pytest.mark.parametrize("n", [2, 3, 8, 30, 300])
def test_paired_t_is_scipys(n: int) -> None:
    ours, theirs = RNG.normal(0.2, 1, (20, n)), RNG.normal(0, 1, (20, n))
    result = paired_t(differences(ours, theirs))
    np.testing.assert_allclose(result, reference.ttest_rel(ours, theirs, axis=1).pvalue, rtol=1e-8)


# -- Wilcoxon's signed-rank test ---------------------------------------------------------------------------------------


def by_enumeration(difference: list[float]) -> float:
    """The exact p: of all ways to give the ranks signs, how many are as far from the middle?"""
    sizes = [abs(each) for each in difference if each]
    ranks = [sum(each < size for each in sizes) + (sum(each == size for each in sizes) + 1) / 2 for size in sizes]
    signs = [each > 0 for each in difference if each]
    middle = sum(ranks) / 2
    off = abs(sum(rank for rank, up in zip(ranks, signs, strict=True) if up) - middle)
    ways = [
        abs(sum(rank for rank, up in zip(ranks, some, strict=True) if up) - middle) >= off
        for some in product((False, True), repeat=len(ranks))
    ]
    return sum(ways) / len(ways)


@given(samples)
def test_signed_rank_test_is_exact_with_ties_and_zeros(difference: Any) -> None:
    result = signed_rank(difference)
    np.testing.assert_allclose(result, [by_enumeration(row) for row in difference.tolist()])


@pytest.mark.parametrize("n", [6, 20, 50, 51, 200])
def test_signed_rank_test_equals_scipys(n: int) -> None:
    difference = RNG.normal(0.2, 1, (10, n))
    np.testing.assert_allclose(signed_rank(difference), reference.wilcoxon(difference, axis=1).pvalue, rtol=1e-8)


@pytest.mark.parametrize("level", [0.05, 0.05 / 6])
@pytest.mark.parametrize(
    ("n", "test", "ranks"), [(5, reference.ttest_1samp, False), *((n, reference.wilcoxon, True) for n in (9, 30, 70))]
)
def test_scipys_test_rejects_the_shifts_beyond_the_ends_alone(n: int, test: Any, ranks: bool, level: float) -> None:
    difference = RNG.normal(0.2, 1, n)
    how: dict[str, Any] = {"method": "exact" if n <= 50 else "asymptotic"} if ranks else {"popmean": 0}
    for end, outwards in zip(corrected_ends(difference, level, ranks=ranks), (-1e-6, 1e-6), strict=True):
        beyond, within = (test(difference - end - shift, **how).pvalue for shift in (outwards, -outwards))
        assert beyond <= level < within


def test_many_pairs_with_ties_and_zeros_are_scipys_too() -> None:
    difference = RNG.integers(-3, 5, (10, 120)).astype(float)
    comparison = reference.wilcoxon(difference, axis=1, method="asymptotic").pvalue
    np.testing.assert_allclose(signed_rank(difference), comparison, rtol=1e-8)
    assert signed_rank(np.zeros((1, 60))) == signed_rank(np.zeros((1, 6))) == 1


# -- Holm --------------------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.04, 0.3, 1.0, float("nan")]), max_size=8))
def test_holm_is_what_holm_wrote(p: list[float]) -> None:
    np.testing.assert_allclose(holm(np.array(p, float)), holm_slowly(p))


# -- do they keep what they promise? -----------------------------------------------------------------------------------


def covered(values: Any, low: Any, high: Any, truth: float) -> float:
    return float(((low <= truth) & (truth <= high)).mean())


def test_95_of_100_intervals_cover_the_mean() -> None:
    values = np.random.default_rng(1).normal(size=(5000, 8))
    mean, half = mean_interval(values)
    assert covered(values, mean - half, mean + half, 0) == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("test", [paired_t, signed_rank])
def test_five_in_a_hundred_families_without_any_difference_are_told(test: Any) -> None:
    difference = np.random.default_rng(2).normal(size=(3000, 10))
    reported = [(holm(p) <= 0.05).any() for p in test(difference).reshape(-1, 6)]
    assert np.mean(reported) < 0.08


spans = st.tuples(st.integers(0, 30), st.integers(1, 12)).map(lambda some: (some[0], some[0] + some[1]))


@given(st.lists(st.lists(spans, min_size=1, max_size=3), min_size=1, max_size=6))
def test_overlap_equals_counting_rows(seeds: list[list[tuple[int, int]]]) -> None:
    met = [set().union(*(range(first, end) for first, end in rows)) for rows in seeds]
    times = Counter(each for some in met for each in some)
    share = sum(times[each] > 1 for some in met for each in some) / sum(map(len, met))
    windows = [" ".join(f"{first}-{end - 1}" for first, end in rows) for rows in seeds]
    reported = overlap_of(pl.DataFrame([row("a", seed, windows=text) for seed, text in enumerate(windows)]), [])
    assert f" {100 * share:.0f} % " in reported if share >= 0.05 else reported == ""


def test_runs_say_their_windows_and_the_worst_point_counts() -> None:
    rows = [
        row(agent, seed, point={"key": key}, windows=f"{start}-{start + 9}")
        for key, starts in ((1, (0, 10)), (2, (0, 4)))
        for seed, start in enumerate(starts)
        for agent in "ab"
    ]
    rows += [
        row("stops early", seed, point={"key": 2}, windows=f"{start}-{start}") for seed, start in enumerate((0, 4))
    ]
    assert overlap_of(pl.DataFrame(rows), ["key"]).startswith("The windows of these 2 seeds overlap: 60 % of")
    assert overlap_of(pl.DataFrame([row("a", 0)]), []) == ""
    rare = [row("a", seed, windows=f"{start}-{start + 99}") for seed, start in enumerate((0, 99))]
    assert overlap_of(pl.DataFrame(rare), []) == "", "not worth saying"
