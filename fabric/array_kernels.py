"""What kernels do with arrays, in loops: numba's own take seconds to compile, for the errors that they might raise.

A heap of what ends next is two arrays: of times, and of whom they belong to.
"""

import numpy as np

from binwright.simcore.jit import kernel, lean
from binwright.simcore.types import Floats, Ints


@kernel
def ascending(keys: Ints) -> Ints:
    """Sort places by their keys int64 [n], equal ones as they stand: int64 [n], as `np.argsort(keys, kind="stable")`.

    A merge sort from the bottom up, of blocks that are sorted by insertion.
    """
    size, width = len(keys), 16
    order, other = np.empty(size, np.int64), np.empty(size, np.int64)
    for each in range(size):
        place = each
        while place % width and keys[order[place - 1]] > keys[each]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = each
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


@lean
def lower_bound(times: Floats, length: int, time: float) -> int:
    """Return the place of the first of so many ascending times that is not before `time`; `length` if there is none."""
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@lean
def push(due: Floats, holder: Ints, length: int, time: float, row: int) -> None:
    """Add to a heap of this length; changes `due` float64 [any] and `holder` int64 [any]."""
    place = length
    while place > 0:
        parent = (place - 1) // 2
        if due[parent] < time or (due[parent] == time and holder[parent] <= row):
            break
        due[place], holder[place] = due[parent], holder[parent]
        place = parent
    due[place], holder[place] = time, row


@lean
def pop(due: Floats, holder: Ints, length: int) -> None:
    """Remove the first entry of a heap, which has this length afterwards; changes both arrays."""
    time, row, place = due[length], holder[length], 0
    while 2 * place + 1 < length:
        child = 2 * place + 1
        other = child + 1
        if other < length and (due[other] < due[child] or (due[other] == due[child] and holder[other] < holder[child])):
            child = other
        if due[child] > time or (due[child] == time and holder[child] >= row):
            break
        due[place], holder[place] = due[child], holder[child]
        place = child
    due[place], holder[place] = time, row
