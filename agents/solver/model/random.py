"""Draw random numbers by counter: number i of a stream is a hash of (stream, i).

So every back end draws the same numbers, however many lanes it has and in whatever order they run. A stream is keyed by
(seed, group, attempt). The hash is the finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
generators, OOPSLA 2014), in unsigned arithmetic modulo 2^64. The functions are here in plain Python and as kernels.
"""

from __future__ import annotations

import numpy as np

from binwright.simcore.jit import kernel

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
U_GAMMA, U_FIRST, U_SECOND = np.uint64(GAMMA), np.uint64(FIRST), np.uint64(SECOND)


PLACING, IMPROVING, DEPTH, TENANTS = range(-2, -6, -1)
"""The groups in the keys of searches of ours: no group of bins has them."""


def mix(z: int) -> int:
    """Hash 64 bits; no two inputs have the same hash."""
    z = ((z ^ (z >> 30)) * FIRST) & MASK
    z = ((z ^ (z >> 27)) * SECOND) & MASK
    return z ^ (z >> 31)


def stream(seed: int, group: int, attempt: int) -> int:
    """Return where a stream starts; numbers below zero count as their 64 bits."""
    z = mix((seed + GAMMA) & MASK)
    z = mix((z + group + GAMMA) & MASK)
    return mix((z + attempt + GAMMA) & MASK)


def word(number: int) -> int:
    """Convert a number to one that is the same to `stream` and fits the signed 64 bits that kernels take."""
    return ((number + (1 << 63)) & MASK) - (1 << 63)


def bits(start: int, counter: int) -> int:
    """Return number `counter` of a stream: 64 bits."""
    return mix((start + (counter + 1) * GAMMA) & MASK)


def below(start: int, counter: int, n: int) -> int:
    """Return number `counter` of a stream in 0, ..., n - 1, with n up to 2^32.

    Some numbers are more frequent than others by n / 2^32 at most.
    """
    return ((bits(start, counter) >> 32) * n) >> 32


@kernel
def mix_kernel(z: np.uint64) -> np.uint64:
    """Do the same as `mix`, with unsigned numbers only: numba adds a signed and an unsigned one as floats."""
    z = (z ^ (z >> np.uint64(30))) * U_FIRST
    z = (z ^ (z >> np.uint64(27))) * U_SECOND
    return z ^ (z >> np.uint64(31))


@kernel
def stream_kernel(seed: int, group: int, attempt: int) -> np.uint64:
    """Do the same as `stream`; numbers have 64 bits, with or without a sign."""
    z = mix_kernel(np.uint64(seed) + U_GAMMA)
    z = mix_kernel(z + np.uint64(group) + U_GAMMA)
    return mix_kernel(z + np.uint64(attempt) + U_GAMMA)


@kernel
def bits_kernel(start: np.uint64, counter: int) -> np.uint64:
    """Do the same as `bits`."""
    return mix_kernel(start + np.uint64(counter + 1) * U_GAMMA)


@kernel
def below_kernel(start: np.uint64, counter: int, n: int) -> int:
    """Do the same as `below`; the result is an int64."""
    return int(np.int64(((bits_kernel(start, counter) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)))
