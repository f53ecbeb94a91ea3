"""How much the seeds' windows of a trace overlap, and where it is said."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.analysis.compare.statistics import overlap, overlap_of
from tests.support.results import row

Seeds = list[list[tuple[int, int]]]
spans = st.tuples(st.integers(0, 30), st.integers(1, 12)).map(lambda some: (some[0], some[0] + some[1]))


@given(st.lists(st.lists(spans, min_size=1, max_size=3), min_size=1, max_size=6))
def test_overlap_equals_counting_rows(seeds: Seeds) -> None:
    met = [set().union(*(range(first, end) for first, end in rows)) for rows in seeds]
    times = Counter(one for some in met for one in some)
    total = sum(map(len, met))
    share = sum(times[one] > 1 for some in met for one in some) / total
    assert overlap(seeds) == pytest.approx(share)


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
