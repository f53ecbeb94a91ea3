"""Shuffles the requests of a trace, and repeats some of them until they ask for so much: nothing ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from binwright.simcore.errors import WorkloadError
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Ints, Workload
from binwright.workloads.go_stream import GoStream

Draws = Literal["ours", "fgd"]
"""Whose random numbers: ours, or those of the experiments of FGD, whose seeds then have the same requests here."""
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
    draws: Draws = "ours"

    def draw(self, seed: int) -> Workload:
        rows = np.array(_ours(self, seed) if self.draws == "ours" else _fgd(self, GoStream(seed)), np.int64)
        base, count = self.base, len(rows)
        return Workload(
            base.resources,
            np.arange(count, dtype=np.float64),
            np.full(count, np.inf),
            base.demand[rows],
            np.arange(count),
            models=None if base.models is None else base.models[rows],
            usual=len(base),
            roles=None if base.roles is None else base.roles.take(rows),
            labels={name: words[rows] for name, words in base.labels.items()},
        )

    @property
    def amounts(self) -> Ints:
        """The quanta of the resource that each request of the base asks for, int64 [n]."""
        amounts: Ints = self.base.demand[:, self.base.resources.index(self.resource)]
        return amounts

    @property
    def most(self) -> float:
        """The quanta that all requests together may ask for."""
        return self.until * self.total * QUANTUM

    def check(self) -> None:
        """Refuse a base of which nothing asks for the resource, or one request for more than all may."""
        most = int(self.amounts.max())
        if not most:
            remedy = "Name a resource that they ask for."
            raise WorkloadError(
                "the requests ask for none", key="workload.inflate.of", value=self.resource, remedy=remedy
            )
        if most > self.most:
            problem = f"is less than one of the requests asks for: {most / QUANTUM:g} {self.resource}"
            remedy = f"Give {most / QUANTUM / max(self.total, 1):.0%} or more, or more servers."
            raise WorkloadError(problem, key="workload.inflate.until", value=f"{self.until:.0%}", remedy=remedy)

    def whole(self, rows: list[int]) -> list[int] | None:
        """Return those of these rows that come before too much is asked for; None if all of them may come."""
        asked = self.amounts[rows].cumsum()
        return None if asked[-1] <= self.most else rows[: int(np.searchsorted(asked, self.most, side="right"))]


def fgd_order(servers: int, seed: int, asked: Inflated) -> Ints:
    """Return the order in which the experiments of FGD number the servers with a seed, int64 [servers]."""
    stream = GoStream(seed)
    _fgd(asked, stream)
    for _ in range(FGD_WATCHES):
        stream.int63()
    return np.argsort(stream.perm(servers))


def _ours(asked: Inflated, seed: int) -> list[int]:
    """Return rows of the base: all of them, shuffled, and then drawn ones up to the first that would be too much."""
    asked.check()
    rng, amounts = stream(seed, "workload", "inflated"), asked.amounts
    rows: list[int] = [int(row) for row in rng.permutation(len(amounts))]
    if (some := asked.whole(rows)) is not None:
        return some
    left = asked.most - int(amounts.sum())
    while (left := left - int(amounts[drawn := int(rng.integers(len(amounts)))])) >= 0:
        rows.append(drawn)
    return rows


def _fgd(asked: Inflated, stream: GoStream) -> list[int]:
    """Return rows as `_ours`, drawn as the simulator of FGD does: the last one may be too much by whole devices."""
    asked.check()
    amounts = asked.amounts.tolist()
    order = np.argsort(asked.base.id, kind="stable").tolist()  # by name, before they are shuffled
    stream.int63()
    rows: list[int] = order.copy()
    stream.shuffle(rows)
    if (some := asked.whole(rows)) is not None:
        return some
    total = sum(amounts)
    while True:
        drawn = order[stream.intn(len(order))]
        if total + min(amounts[drawn], QUANTUM) > asked.most:
            return rows
        total += amounts[drawn]
        rows.append(drawn)
