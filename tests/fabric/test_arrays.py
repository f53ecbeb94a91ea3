"""What kernels do with arrays, beside numpy's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabric.array_kernels import ascending, overwrite


@given(st.lists(st.integers(-5, 5), max_size=70))
def test_places_are_sorted_as_numpy_does(keys: list[int]) -> None:
    array = np.array(keys, np.int64)
    assert ascending(array).tolist() == np.argsort(array, kind="stable").tolist()
    assert array.tolist() == keys


def test_an_array_is_written_over_another() -> None:
    target = np.zeros((2, 3), np.int64)
    overwrite(target[1], np.arange(3))
    assert target.tolist() == [[0, 0, 0], [0, 1, 2]]
