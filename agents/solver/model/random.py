"""Draw random numbers by counter: number i of a stream is a hash of (stream, i).

So every back end draws the same numbers, however many lanes it has and in whatever order they run. A stream is keyed by
(seed, group, attempt). `tests/reference/random.py` has the functions in plain Python.
"""

import numpy as np

from binwright.simcore.jit import kernel
from binwright.simcore.splitmix import GAMMA, mixed

PLACING, IMPROVING = -2, -3
"""The groups in the keys of local searches: no group of bins has them."""


@kernel
def stream_kernel(seed: int, group: int, attempt: int) -> np.uint64:
    """Return where a stream starts; numbers have 64 bits, with or without a sign."""
    z = mixed(np.uint64(seed) + GAMMA)
    z = mixed(z + np.uint64(group) + GAMMA)
    return mixed(z + np.uint64(attempt) + GAMMA)


@kernel
def bits_kernel(start: np.uint64, counter: int) -> np.uint64:
    """Return number `counter` of a stream: 64 bits."""
    return mixed(start + np.uint64(counter + 1) * GAMMA)


@kernel
def below_kernel(start: np.uint64, counter: int, n: int) -> int:
    """Return number `counter` of a stream in 0, ..., n - 1, an int64, with n up to 2^32.

    Some numbers are more frequent than others by n / 2^32 at most.
    """
    return int(np.int64(((bits_kernel(start, counter) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)))
