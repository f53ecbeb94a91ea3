"""Draw random numbers in kernels, from a stream that is an array."""

import numpy as np

from binwright.simcore.jit import kernel
from binwright.simcore.splitmix import GAMMA, mixed
from binwright.simcore.types import Floats


@kernel
def drawn(stream: Floats) -> float:
    """Return the next number of a stream, in [0, 1); changes `stream` float64 [2], a seed and a count.

    Whole numbers below 2**53, so that floats hold them exactly.
    """
    stream[1] += 1.0
    return float(mixed(np.uint64(stream[0]) + np.uint64(stream[1]) * GAMMA) >> np.uint64(11)) / 2.0**53
