"""What draws the columns of generated requests.

Every column has a random stream of its own, and every request takes one uniform of each, whatever the distributions
are: a change of one part moves no other, and more requests continue fewer.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from binwright.simcore.errors import WorkloadError
from binwright.simcore.memmap import blocks
from binwright.simcore.rng import stream
from binwright.simcore.types import Floats, Ints


class Columns(NamedTuple):
    """Draws the columns of the `n` requests of a seed, each from the stream of its name."""

    seed: int
    n: int

    def uniform(self, *name: str) -> Floats:
        """Draw float64 [n] in [0, 1)."""
        return stream(self.seed, "workload", *name).random(self.n)

    def whole(self, name: str, low: int, high: int) -> Ints:
        """Draw int64 [n] from `low` to `high`, both included."""
        return low + (self.uniform(name) * (high - low + 1)).astype(np.int64)

    def in_blocks(self, *names: str) -> Iterator[tuple[slice, list[Floats]]]:
        """Draw uniform columns of these names block by block of rows, where all rows may not fit into memory."""
        streams = [stream(self.seed, "workload", name) for name in names]
        for rows in blocks(self.n):
            yield rows, [each.random(rows.stop - rows.start) for each in streams]


def check_times(key: str, times: Floats, *, finite: bool) -> None:
    """Refuse what somebody else's distribution draws, if it is no times."""
    wrong = ~(times >= 0) | (finite & ~np.isfinite(times))
    if wrong.any():
        problem, remedy = f"a draw of {key} is not a time", "Every gap, mean and lifetime is zero or more seconds."
        raise WorkloadError(problem, key=f"workload.{key}", value=float(times[wrong][0]), remedy=remedy)
