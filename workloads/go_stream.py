"""The random numbers of Go's math/rand, so that runs published by programs in Go meet the same requests here.

It is an additive lagged Fibonacci generator: x[n] = x[n - 607] + x[n - 273] modulo 2^64. A seed fills the 607 words
from the Lehmer generator x -> 48271 x modulo 2^31 - 1, and adds (without carry) the state that seed 1 leads to after
7.8 x 10^12 steps. That state is computed here by squaring polynomials modulo x^607 - x^334 - 1, in a fifth of a second.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

LENGTH, TAP = 607, 273
STEPS = 7_800_000_000_000
MODULUS = 2**31 - 1
WORD = 2**64 - 1

Words = npt.NDArray[np.uint64]


class GoStream:
    """A stream of one seed; each method draws as that of the same name in Go does."""

    def __init__(self, seed: int) -> None:
        self._state = [
            one ^ other for one, other in zip(_filled(seed % MODULUS or 89482311, 40, 20), _far(), strict=True)
        ]
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


def _filled(seed: int, upper: int, lower: int) -> list[int]:
    """Fill the words from a seed: three numbers for each, two of them shifted up by so many bits."""
    drawn, words = seed, []
    for place in range(-20, LENGTH):
        drawn = drawn * 48271 % MODULUS
        if place >= 0:
            word = drawn << upper
            drawn = drawn * 48271 % MODULUS
            word ^= drawn << lower
            drawn = drawn * 48271 % MODULUS
            words.append((word ^ drawn) & WORD)
    return words


@cache
def _far() -> tuple[int, ...]:
    """Compute the words that seed 1 leads to after `STEPS` steps."""
    start = np.array(_filled(1, 20, 10), np.uint64)
    places = (LENGTH - TAP - 1 - np.arange(LENGTH)) % LENGTH  # where the words of successive steps lie
    history = np.zeros(2 * LENGTH, np.uint64)
    history[:LENGTH] = start[places]
    for step in range(LENGTH, 2 * LENGTH):
        history[step] = history[step - LENGTH : step - LENGTH + 1].sum() + history[step - TAP]
    power = np.zeros(LENGTH, np.uint64)
    power[0] = 1
    for bit in f"{STEPS:b}":
        power = _times(power, power)
        if bit == "1":
            power = _reduced(np.concatenate([np.zeros(1, np.uint64), power]))
    words = np.zeros(LENGTH, np.uint64)
    for step in range(LENGTH):
        words[(LENGTH - TAP - 1 - STEPS - step) % LENGTH] = (power * history[step : step + LENGTH]).sum()
    return tuple(words.tolist())


def _times(one: Words, other: Words) -> Words:
    product = np.zeros(2 * LENGTH - 1, np.uint64)
    for place in np.flatnonzero(one):
        product[place : place + LENGTH] += one[place] * other
    return _reduced(product)


def _reduced(polynomial: Words) -> Words:
    """Reduce modulo x^607 - x^334 - 1, over the numbers modulo 2^64."""
    found = polynomial.copy()
    for power in range(len(found) - 1, LENGTH - 1, -1):
        term = found[power : power + 1].copy()  # arrays wrap around without a warning
        found[power - LENGTH : power - LENGTH + 1] += term
        found[power - TAP : power - TAP + 1] += term
    return found[:LENGTH]
