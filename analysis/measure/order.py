"""Tells after which decisions something was there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from binwright.simcore import memmap
from binwright.simcore.types import Floats, Ints


class Order:
    """Knows the order of decisions: `answered` int32 [k] are the rows in it, `decided` float64 [rows] their times."""

    def __init__(self, answered: npt.NDArray[np.int32], decided: Floats) -> None:
        self._answered, count = answered, len(answered)
        parts = (answered[some.start : some.stop + 1] for some in memmap.blocks(count))
        self._ascends = all((part[1:] > part[:-1]).all() for part in parts)
        self._times = decided
        if not self._ascends or count < len(decided):
            self._times = memmap.zeros(count, np.float64)
            for some in memmap.blocks(count):
                self._times[some] = decided[answered[some]]
        if not self._ascends:
            self._place = np.empty(answered.max(initial=0) + 1, np.int64)
            self._place[answered] = np.arange(count)

    def lasting(self, held: Ints, end: Floats) -> tuple[Ints, Ints]:
        """Find the decision right after which each request is there first, and that after which it is no more.

        `held` int64 [h] are rows that got a place, with their `end` float64 [h]; what is returned is int64 [h].
        """
        # Of another type it would be searched in a copy of all of them.
        row = held.astype(self._answered.dtype)
        first = np.searchsorted(self._answered, row) if self._ascends else self._place[row]
        after = np.searchsorted(self._times, end, side="left")
        return first, np.maximum(after, first + 1, out=after)
