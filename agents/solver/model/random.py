"""Draw random numbers by counter: number i of a stream is a hash of (stream, i).

So every back end draws the same numbers, however many lanes it has and in whatever order they run. A stream is keyed by
(seed, group, attempt). The hash is the finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
generators, OOPSLA 2014), in unsigned arithmetic modulo 2^64.
`tests/reference/random.py` has the functions in plain Python.
"""

import numpy as np

from binwright.simcore.jit import kernel

U_GAMMA = np.uint64(0x9E3779B97F4A7C15)
U_FIRST, U_SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
PLACING, IMPROVING = -2, -3
"""The groups in the keys of local searches: no group of bins has them."""


def word(number: int) -> int:
    """Convert a number to one that is the same to `stream_kernel` and fits the signed 64 bits that kernels take."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


@kernel
def mix_kernel(z: np.uint64) -> np.uint64:
    """Hash 64 bits; no two inputs have the same hash.

    All numbers are unsigned: numba adds a signed and an unsigned one as floats.
    """
    z = (z ^ (z >> np.uint64(30))) * U_FIRST
    z = (z ^ (z >> np.uint64(27))) * U_SECOND
    return z ^ (z >> np.uint64(31))


@kernel
def stream_kernel(seed: int, group: int, attempt: int) -> np.uint64:
    """Return where a stream starts; numbers have 64 bits, with or without a sign."""
    z = mix_kernel(np.uint64(seed) + U_GAMMA)
    z = mix_kernel(z + np.uint64(group) + U_GAMMA)
    return mix_kernel(z + np.uint64(attempt) + U_GAMMA)


@kernel
def bits_kernel(start: np.uint64, counter: int) -> np.uint64:
    """Return number `counter` of a stream: 64 bits."""
    return mix_kernel(start + np.uint64(counter + 1) * U_GAMMA)


@kernel
def below_kernel(start: np.uint64, counter: int, n: int) -> int:
    """Return number `counter` of a stream in 0, ..., n - 1, an int64, with n up to 2^32.

    Some numbers are more frequent than others by n / 2^32 at most.
    """
    return int(np.int64(((bits_kernel(start, counter) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)))
