"""Keeps what ends next in a run: a binary heap of times, then of the rows they belong to, in two arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.simcore.jit import lean
from binwright.simcore.types import Floats

Rows: TypeAlias = npt.NDArray[np.integer[Any]]


@lean
def push(due: Floats, holder: Rows, length: int, time: float, row: int) -> None:
    """Add to a heap of this length; changes `due` float64 [any] and `holder`, integers [any]."""
    place = length
    while place > 0:
        parent = (place - 1) // 2
        if due[parent] < time or (due[parent] == time and holder[parent] <= row):
            break
        due[place], holder[place] = due[parent], holder[parent]
        place = parent
    due[place], holder[place] = time, row


@lean
def pop(due: Floats, holder: Rows, length: int) -> None:
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
