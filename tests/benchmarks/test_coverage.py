"""Intervals over windows apart cover the truth, and over overlapping ones not: docs/guides/traces.md says so."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage import BLOCK, REQUESTS, WAYS, blocks, covered, trace, truth


def test_moving_blocks_keep_requests_whole() -> None:
    table = trace(np.random.default_rng(3), 400)
    drawn = blocks(REQUESTS)(table, 7)
    assert len(drawn) == REQUESTS
    for first in range(0, REQUESTS, BLOCK):
        some = slice(first, first + BLOCK)
        [row] = np.flatnonzero(table["lifetime"] == drawn.duration[first])
        assert (drawn.duration[some] == table["lifetime"][row : row + BLOCK]).all()
        gaps = np.diff(table["arrival"][row : row + BLOCK])
        np.testing.assert_allclose(np.diff(drawn.arrival[some]), gaps, atol=1e-6)


@pytest.mark.long
def test_windows_apart_cover_and_overlapping_ones_do_not() -> None:
    mean = truth(800)
    apart, narrow = (next(name for name in WAYS if name.startswith(word)) for word in ("windows apart", "random"))
    for share in covered(apart, mean, 120):
        assert 0.89 <= share <= 1
    for share in covered(narrow, mean, 60):
        assert share < 0.7
