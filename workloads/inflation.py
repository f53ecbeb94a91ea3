"""Shuffles the requests of a trace, and repeats some of them until they ask for so much: nothing ends.

The random numbers are those of Go's math/rand, so that seeds have the requests of FGD's experiments (Weng and others
2023). That is an additive lagged Fibonacci generator: x[n] = x[n - 607] + x[n - 273] modulo 2^64. A seed fills the 607
words from the Lehmer generator x -> 48271 x modulo 2^31 - 1, and adds (without carry) the state that seed 1 leads to
after 7.8 x 10^12 steps: `go_words.npy`, uint64 [607], which Go's source lists as `rngCooked`.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from binwright.simcore.errors import WorkloadError
from binwright.simcore.types import QUANTUM, Ints
from binwright.simcore.workload import Workload

LENGTH, TAP = 607, 273
MODULUS = 2**31 - 1
WORD = 2**64 - 1
FGD_WATCHES = 10
"""Numbers that the simulator of FGD draws between the requests and the order of the servers: its watches' timeouts."""


@dataclass(frozen=True)
class Inflated:
    """Requests of a workload in random order, then random ones of them again.

    They go on while all together ask for at most `until` x `total` units of `resource`, which may be before any is
    repeated; a second lies between any two, and none ends.
    """

    base: Workload
    resource: str
    total: float
    until: float

    def draw(self, seed: int) -> Workload:
        rows = np.array(self.rows(GoStream(seed)), np.int64)
        base, order = self.base, np.arange(len(rows))
        return Workload(
            base.resources,
            order.astype(np.float64),
            np.full(len(rows), np.inf),
            base.demand[rows],
            order,
            models=None if base.models is None else base.models[rows],
            usual=len(base),
            roles=None if base.roles is None else base.roles.take(rows),
            labels={name: words[rows] for name, words in base.labels.items()},
        )

    def rows(self, go: GoStream) -> list[int]:
        """Draw rows of the base: all of them, shuffled, and then any of them up to the first that would be too much.

        Of the last one, all but one whole device may be too much, as published. A base is refused of which nothing
        asks for the resource, or one request for more than all may.
        """
        amounts: list[int] = self.base.demand[:, self.base.resources.index(self.resource)].tolist()
        largest, most, key = max(amounts), self.until * self.total * QUANTUM, "workload.inflate"
        if not largest:
            remedy = "Name a resource that they ask for."
            raise WorkloadError("the requests ask for none", key=f"{key}.of", value=self.resource, remedy=remedy)
        if largest > most:
            problem = f"is less than one of the requests asks for: {largest / QUANTUM:g} {self.resource}"
            remedy = f"Give {100 * largest / QUANTUM / max(self.total, 1):.0f} % or more, or more servers."
            raise WorkloadError(problem, key=f"{key}.until", value=f"{100 * self.until:.0f} %", remedy=remedy)
        by_name: list[int] = np.argsort(self.base.id, kind="stable").tolist()
        go.int63()
        rows = by_name.copy()
        go.shuffle(rows)
        sums = np.cumsum(np.array(amounts)[rows])
        if sums[-1] > most:
            return rows[: int(np.searchsorted(sums, most, side="right"))]
        total = sum(amounts)
        while True:
            row = by_name[go.intn(len(amounts))]
            if total + min(amounts[row], QUANTUM) > most:
                return rows
            total += amounts[row]
            rows.append(row)


def fgd_order(servers: int, seed: int, inflated: Inflated) -> Ints:
    """Return the order in which the experiments of FGD number the servers with a seed, int64 [servers]."""
    go = GoStream(seed)
    inflated.rows(go)
    for _ in range(FGD_WATCHES):
        go.int63()
    return np.argsort(go.perm(servers))


class GoStream:
    """A stream of one seed; each method draws as that of the same name in Go does."""

    def __init__(self, seed: int) -> None:
        self._state = [
            filled ^ other for filled, other in zip(_filled(seed % MODULUS or 89482311), _cooked(), strict=True)
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
        result = [0] * n
        for place in range(n):
            other = self.intn(place + 1)
            result[place], result[other] = result[other], place
        return result

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
    drawn = [seed]
    for _ in range(20 + 3 * LENGTH):
        drawn.append(drawn[-1] * 48271 % MODULUS)
    high, middle, low = (drawn[first::3] for first in (21, 22, 23))
    return [(top << 40 ^ two << 20 ^ three) & WORD for top, two, three in zip(high, middle, low, strict=True)]


@cache
def _cooked() -> list[int]:
    """Read the words that seed 1 leads to after many steps."""
    with files("binwright.workloads").joinpath("go_words.npy").open("rb") as file:
        words: list[int] = np.load(file).tolist()
    return words
