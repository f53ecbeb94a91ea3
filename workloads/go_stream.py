"""The random numbers of Go's math/rand, so that runs published by programs in Go meet the same requests here.

It is an additive lagged Fibonacci generator: x[n] = x[n - 607] + x[n - 273] modulo 2^64. A seed fills the 607 words
from the Lehmer generator x -> 48271 x modulo 2^31 - 1, and adds (without carry) the state that seed 1 leads to after
7.8 x 10^12 steps: `go_words.npy`, uint64 [607], which Go's source lists as `rngCooked`.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

LENGTH, TAP = 607, 273
MODULUS = 2**31 - 1
WORD = 2**64 - 1


class GoStream:
    """A stream of one seed; each method draws as that of the same name in Go does."""

    def __init__(self, seed: int) -> None:
        self._state = [one ^ other for one, other in zip(_filled(seed % MODULUS or 89482311), _cooked(), strict=True)]
        self._tap, self._feed = 0, LENGTH - TAP

    def int63(self) -> int:
        """Draw a number below 2^63."""
        self._tap, self._feed = (self._tap - 1) % LENGTH, (self._feed - 1) % LENGTH
        word = self._state[self._feed] = (self._state[self._feed] + self._state[self._tap]) & WORD
        return word & (2**63 - 1)

    def intn(self, n: int) -> int:
        """Draw a number below n, which is below 2^31."""
        if n & (n - 1) == 0:
            return self.int63() >> 32 & (n - 1)
        most = MODULUS - 2**31 % n
        while (drawn := self.int63() >> 32) > most:
            pass
        return drawn % n

    def shuffle(self, items: MutableSequence[Any]) -> None:
        for place in range(len(items) - 1, 0, -1):
            other = self._below(place + 1)
            items[place], items[other] = items[other], items[place]

    def perm(self, n: int) -> list[int]:
        """Draw a permutation of 0 to n - 1."""
        found = [0] * n
        for place in range(n):
            other = self.intn(place + 1)
            found[place] = found[other]
            found[other] = place
        return found

    def _below(self, n: int) -> int:
        """Draw a number below n, as shuffle does: the upper word of a product."""
        product = (self.int63() >> 31) * n
        if product & 0xFFFFFFFF < n:
            least = (2**32 - n) % n
            while product & 0xFFFFFFFF < least:
                product = (self.int63() >> 31) * n
        return product >> 32


def _filled(seed: int) -> list[int]:
    """Fill the words from a seed: three numbers for each, two of them shifted up."""
    drawn, words = seed, []
    for place in range(-20, LENGTH):
        drawn = drawn * 48271 % MODULUS
        if place >= 0:
            word = drawn << 40
            drawn = drawn * 48271 % MODULUS
            word ^= drawn << 20
            drawn = drawn * 48271 % MODULUS
            words.append((word ^ drawn) & WORD)
    return words


@cache
def _cooked() -> list[int]:
    """Read the words that seed 1 leads to after many steps."""
    with files("binwright.workloads").joinpath("go_words.npy").open("rb") as file:
        words: list[int] = np.load(file).tolist()
    return words
