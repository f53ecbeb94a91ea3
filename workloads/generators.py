"""Requests that are drawn of a mix of flavours, and the columns of all that are drawn.

Every column has a random stream of its own, and every request takes one uniform of each, whatever the distributions
are: a change of one part moves no other, and more requests continue fewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from binwright.simcore.errors import WorkloadError
from binwright.simcore.memmap import blocks, zeros
from binwright.simcore.rng import stream
from binwright.simcore.roles import NO_ROLE, Role, Roles
from binwright.simcore.types import QUANTUM, Floats, Ints, Workload
from binwright.workloads.arrivals import Arrivals
from binwright.workloads.lifetimes import Lifetimes, pick
from binwright.workloads.parts import Parts, gangs_of


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


@dataclass(frozen=True, slots=True)
class Flavour:
    """One size of request: `demand` in units per resource, drawn in proportion to `weight`. Nothing is checked here.

    Without `lifetimes` of its own it takes the workload's. `role` is what its requests are to rules of placement, and
    `parts` says how many parts each has.
    """

    demand: Mapping[str, float]
    weight: float = 1.0
    lifetimes: Lifetimes | None = None
    role: Role = NO_ROLE
    parts: Parts | None = None


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A generated workload of `requests` requests."""

    requests: int
    arrivals: Arrivals
    flavours: tuple[Flavour, ...]
    lifetimes: Lifetimes | None = None

    @property
    def drawn(self) -> bool:
        """Whether the requests depend on the seed: flavours do, and times of all distributions but `fixed`."""
        parts = [self.arrivals, *(kind.lifetimes or self.lifetimes for kind in self.flavours)]
        return len(self.flavours) > 1 or any(getattr(part, "drawn", True) for part in parts)

    def draw(self, resources: tuple[str, ...], seed: int) -> Workload:
        """Draw the workload of a seed, for a cluster's resources; ids are 0, 1, 2, ..."""
        n, columns = self.requests, Columns(seed, self.requests)
        demands = np.zeros((len(self.flavours), len(resources)), np.int64)
        for number, flavour in enumerate(self.flavours):
            for name, amount in flavour.demand.items():
                demands[number, resources.index(name)] = round(amount * QUANTUM)
        weights = tuple(kind.weight for kind in self.flavours)
        roles = tuple(dict.fromkeys(kind.role for kind in self.flavours))
        role_of = np.array([roles.index(kind.role) for kind in self.flavours])
        arrival = self.arrivals.draw(n, stream(seed, "workload", "arrivals"))
        duration, demand = zeros(n, np.float64), zeros((n, len(resources)), np.int64)
        ids, of, role = zeros(n, np.int64), zeros(n, np.int64), zeros(n if len(roles) > 1 else 0, np.int64)
        for rows, (kinds, ends) in columns.in_blocks("flavours", "lifetimes"):
            drawn, lasts = pick(weights, kinds), np.empty(len(kinds))
            for number, flavour in enumerate(self.flavours):
                lifetimes, chosen = flavour.lifetimes or self.lifetimes, drawn == number
                assert lifetimes
                lasts[chosen] = lifetimes.at(ends[chosen])
            _check_times("arrivals", arrival[rows], finite=True)
            _check_times("lifetimes", lasts, finite=False)
            of[rows], duration[rows], demand[rows] = drawn, lasts, demands[drawn]
            ids[rows] = np.arange(rows.start, rows.stop)
            if len(roles) > 1:
                role[rows] = role_of[drawn]
        parts = tuple(kind.parts for kind in self.flavours)
        gangs = gangs_of(parts, of, columns.uniform("parts")) if any(parts) else None
        drawn_roles = None if roles == (NO_ROLE,) else Roles(roles, role if len(roles) > 1 else zeros(n, np.int64))
        return Workload(resources, arrival, duration, demand, ids, roles=drawn_roles, gangs=gangs)


def _check_times(key: str, times: Floats, *, finite: bool) -> None:
    wrong = ~(times >= 0) | (finite & ~np.isfinite(times))
    if wrong.any():
        problem, remedy = f"a draw of {key} is not a time", "Every gap, mean and lifetime is zero or more seconds."
        raise WorkloadError(problem, key=f"workload.{key}", value=float(times[wrong][0]), remedy=remedy)
