"""Mixes 64 bits by the finaliser of SplitMix64 (Steele, Lea and Flood 2014, OOPSLA), for random numbers in kernels."""

import numpy as np

from binwright.simcore.jit import inlined

GAMMA, FIRST, SECOND = (np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@inlined
def mixed(z: np.uint64) -> np.uint64:
    """Mix bits so that each depends on all. All is unsigned: numba adds a signed and an unsigned number as floats."""
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))
