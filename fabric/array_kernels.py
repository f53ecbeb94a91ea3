"""What kernels do with arrays, in loops: numba's own take seconds to compile, for the errors that they might raise."""

from __future__ import annotations

import numpy as np

from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints


@kernel
def overwrite(target: Ints, source: Ints) -> None:
    """Write one array over another of the same length, both one-dimensional."""
    for place in range(len(source)):
        target[place] = source[place]


@kernel
def ascending(keys: Ints) -> Ints:
    """Sort places by their keys int64 [n], equal ones as they stand: int64 [n], as `np.argsort(keys, kind="stable")`.

    A merge sort from the bottom up.
    """
    size = len(keys)
    order, other = np.empty(size, np.int64), np.empty(size, np.int64)
    for place in range(size):
        order[place] = place
    width = 1
    while width < size:
        for start in range(0, size, 2 * width):
            middle, end = min(start + width, size), min(start + 2 * width, size)
            left, right = start, middle
            for place in range(start, end):
                if left < middle and (right >= end or keys[order[left]] <= keys[order[right]]):
                    other[place] = order[left]
                    left += 1
                else:
                    other[place] = order[right]
                    right += 1
        order, other = other, order
        width *= 2
    return order
