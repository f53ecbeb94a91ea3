"""Finds which servers may be chosen next: one look at each, since what can be reached is known by rack."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.fabric.multi_server import Filling, has_any
from binwright.fabric.routing import Routes, first_path, weighted_path
from binwright.fabric.topology import Indices, Topology
from binwright.simcore.jit import lean
from binwright.simcore.types import Ints

Flags: TypeAlias = npt.NDArray[np.bool_]


def homes(topology: Topology) -> Indices:
    """Return a server of every rack, int32 [racks]; -1 for a switch without servers among the racks."""
    home = np.full(topology.racks, -1, np.int32)
    home[topology.rack_of[::-1]] = np.arange(topology.servers)[::-1]
    return home


@lean
def narrow(
    routes: Routes,
    home: Indices,
    link_free: Ints,
    room: Filling,
    server: int,
    bandwidth: int,
    weighted: bool,
    reach: Flags,
) -> None:
    """Keep in `reach` only racks that also have a working route to this server's rack, once it was chosen."""
    rack, own = routes.servers[server]
    for j in range(room.counts[0] - 1):
        if routes.servers[room.servers[j], 0] == rack:
            return  # as the other one
    if own >= 0 and link_free[own] < bandwidth:
        reach[:] = False
        return
    for other in range(len(home)):
        if home[other] >= 0 and reach[other] and other != rack:
            if weighted:
                reach[other] = weighted_path(routes, link_free, rack, other, bandwidth) >= 0
            else:
                reach[other] = first_path(routes, link_free, rack, other, bandwidth) >= 0


@lean
def allow(
    routes: Routes,
    free: Ints,
    link_free: Ints,
    room: Filling,
    bandwidth: int,
    reach: Flags,
    narrowed: bool,
    mask: Flags,
) -> bool:
    """Write to `mask` which servers have anything free and are not chosen; tells whether there are any.

    When `narrowed` they must be in a rack of `reach`, and have the bandwidth free on a link of their own.
    """
    stamp, checked = room.counts[3], narrowed and room.counts[0] > 0
    some = False
    for server in range(len(free)):
        allowed = room.chosen[server] != stamp and has_any(free, server)
        if allowed and checked:
            rack, own = routes.servers[server]
            allowed = reach[rack] and (own < 0 or link_free[own] >= bandwidth)
        mask[server] = allowed
        some |= allowed
    return some
