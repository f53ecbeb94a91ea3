"""A pure compiled loop of NUMA placement: what the engine's speed is measured against, and where rules are designed.

No clock, no records, no checks: a heap of releases and one kernel of `agents.heuristics` in numba. Two resources.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from simcore.types import Floats, Ints


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]  # numba cannot cache a function of functions
def run(
    scan: Any,
    warm: Any,
    capacity: Ints,
    arrival: Floats,
    duration: Floats,
    demand: Ints,
    spread: npt.NDArray[np.bool_],
    until: float,
    stop: bool,
) -> tuple[int, int]:
    """Offer the requests in turn; returns how many were placed and how many offered after the warm start.

    `scan` decides, `warm` does until that share of the first resource is taken; both are kernels (`Scan`).
    `capacity` int64 [servers, nodes, 2]; `arrival` ascending and `duration` float64 [n]; `demand` int64 [n, 2];
    none is changed. What does not fit is dropped; with `stop`, the first one after the warm start ends the run.
    """
    nodes = capacity.shape[1]
    free = capacity.copy()
    total = capacity[:, :, 0].sum()
    left = total
    held = [(inf, 0, 0)]  # end, request, where: a heap; the first entry types the list and never ends
    warming = until > 0
    placed = offered = 0
    for i in range(len(arrival)):
        while held[0][0] <= arrival[i]:
            _, j, code = heappop(held)
            left += demand[j, 0]
            _move(free, demand, spread, j, code // nodes, code % nodes, 1)
        warming = warming and total - left < until * total
        wanted = (demand[i, 0], demand[i, 1])
        # A branch each, where numba compiles a call of the kernel itself; an expression would call a pointer.
        if warming:  # noqa: SIM108 (see above)
            code = warm(free, capacity, wanted, spread[i])
        else:
            code = scan(free, capacity, wanted, spread[i])
        offered += not warming
        if code >= 0:
            placed += not warming
            left -= demand[i, 0]
            _move(free, demand, spread, i, code // nodes, code % nodes, -1)
            heappush(held, (arrival[i] + duration[i], i, code))
        elif stop and not warming:
            break
    return placed, offered


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]  # numba has no types for it
def _move(free: Ints, demand: Ints, spread: npt.NDArray[np.bool_], i: int, server: int, node: int, sign: int) -> None:
    """Take (sign -1) or give back (1) what request i has there. `free` changes."""
    nodes, resources = free.shape[1:]
    for r in range(resources):
        if spread[i]:
            for n in range(nodes):
                free[server, n, r] += sign * (demand[i, r] // nodes + (n < demand[i, r] % nodes))
        else:
            free[server, node, r] += sign * demand[i, r]
