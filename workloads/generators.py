"""Requests drawn from a mix of flavours. Arrivals, flavours and lifetimes have a random stream each.

Every request takes one uniform for its flavour and one for its lifetime, whatever the distributions are: a change
of one part moves no other, and more requests continue fewer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from binwright.simcore.errors import WorkloadError
from binwright.simcore.memmap import blocks, zeros
from binwright.simcore.rng import stream
from binwright.simcore.roles import NO_ROLE, Role, Roles
from binwright.simcore.types import QUANTUM, Floats, Workload
from binwright.workloads.arrivals import Arrivals
from binwright.workloads.lifetimes import Lifetimes, pick
from binwright.workloads.parts import WHOLE, Parts, gangs_of


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
    parts: Parts = WHOLE


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
        n = self.requests
        demands = np.zeros((len(self.flavours), len(resources)), np.int64)
        for number, flavour in enumerate(self.flavours):
            for name, amount in flavour.demand.items():
                demands[number, resources.index(name)] = round(amount * QUANTUM)
        arrival = self.arrivals.draw(n, stream(seed, "workload", "arrivals"))
        weights = tuple(kind.weight for kind in self.flavours)
        lifetimes = [kind.lifetimes or self.lifetimes for kind in self.flavours]
        roles = tuple(dict.fromkeys(kind.role for kind in self.flavours))
        plays = np.array([roles.index(kind.role) for kind in self.flavours])
        duration, demand, ids = zeros(n, np.float64), zeros((n, len(resources)), np.int64), zeros(n, np.int64)
        role = None if roles == (NO_ROLE,) else zeros(n, np.int64)
        gangs, of = None, zeros(n, np.int64)
        kinds, ends = stream(seed, "workload", "flavours"), stream(seed, "workload", "lifetimes")
        for rows in blocks(n):
            count = rows.stop - rows.start
            drawn, uniform, lasts = pick(weights, kinds.random(count)), ends.random(count), np.empty(count)
            for number, each in enumerate(lifetimes):
                assert each
                chosen = drawn == number
                lasts[chosen] = each.at(uniform[chosen])
            _check_times("arrivals", arrival[rows], finite=True)
            _check_times("lifetimes", lasts, finite=False)
            of[rows] = drawn
            duration[rows], demand[rows], ids[rows] = lasts, demands[drawn], np.arange(rows.start, rows.stop)
            if role is not None:
                role[rows] = plays[drawn]
        said = None if role is None else Roles(roles, role)
        parts = tuple(kind.parts for kind in self.flavours)
        if any(kind != WHOLE for kind in parts):
            gangs = gangs_of(parts, of, stream(seed, "workload", "parts").random(n))
        return Workload(resources, arrival, duration, demand, ids, roles=said, gangs=gangs)


def _check_times(key: str, times: Floats, *, finite: bool) -> None:
    wrong = ~(times >= 0) | (finite & ~np.isfinite(times))
    if wrong.any():
        raise WorkloadError(
            f"a draw of {key} is not a time",
            key=f"workload.{key}",
            value=float(times[wrong][0]),
            remedy="Every gap, mean and lifetime is zero or more seconds.",
        )
