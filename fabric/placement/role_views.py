"""Writes what a role is shown of the servers: what is free where no rule of placement keeps it away, else nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.placement.mask import NO_BOUND, SPREAD, Mask, bounds_of
from binwright.fabric.servers import with_room
from binwright.simcore.jit import kernel, lean
from binwright.simcore.types import Amounts, Ints


class RoleView(NamedTuple):
    """Holds what `show` wrote last.

    `free` int64 [servers, nodes, resources] is what the role is shown; `refusing` int64 [servers] what keeps it from
    a server, the first of the rules as they are written, -1 for nothing.
    """

    free: Ints
    refusing: Ints


class Ruling(NamedTuple):
    """Holds the rules of a run for a compiled loop.

    `roles` int64 [n] are the roles of the workload's requests; `is_open` bool [roles] tells which of them no rule keeps
    from anywhere.
    """

    roles: Ints
    is_open: npt.NDArray[np.bool_]
    mask: Mask
    view: RoleView


def view_for(free: Ints) -> RoleView:
    """Make room for what a role is shown; `free` int64 [servers, nodes, resources]."""
    return RoleView(np.zeros_like(free), np.full(len(free), -1))


@lean
def show(mask: Mask, view: RoleView, role: int, free: Ints) -> None:
    """Write to `view` what a role is shown of `free`, and what keeps it from each server."""
    # Taken out once: within the loops, numba would count references at every access.
    closed, roles, checks, rules, domains, live, counts, totals, _, _ = mask
    shown, refusing = view
    door, first, end = roles[role, 0], roles[role, 1], roles[role, 2]
    servers, width = len(free), free.shape[1] * free.shape[2]
    refusing[:] = -1
    for c in range(end - 1, first - 1, -1):  # backwards, as the first that refuses counts
        least, start, less, rule = NO_BOUND, checks[c, 1], checks[c, 7], rules[c]
        if checks[c, 0] == SPREAD:
            for domain in range(checks[c, 5]):
                if live[door, checks[c, 6] + domain]:
                    least = min(least, counts[start + domain])
        low, high = bounds_of(checks[c, 0], checks[c, 3], least, totals[checks[c, 4]])
        of = domains[checks[c, 2]]
        for server in range(servers):
            number = counts[start + of[server]]
            if less >= 0:
                number -= counts[less + of[server]]
            if not low <= number <= high:
                refusing[server] = rule
    out, have, into = closed[door], free.reshape(servers, width), shown.reshape(servers, width)
    for server in range(servers):
        if out[server] >= 0:
            refusing[server] = min(refusing[server], out[server]) if refusing[server] >= 0 else out[server]
        there = refusing[server] < 0
        for k in range(width):
            into[server, k] = have[server, k] if there else 0


@lean
def count(mask: Mask, server: int, role: int, sign: int) -> None:
    """Count a role's request that was placed on a server, sign 1, or left it, -1, as `mask.add` does for several."""
    counts, totals, domains, to, adds = mask.counts, mask.totals, mask.domains, mask.to, mask.adds
    for place in range(to[role, 0], to[role, 1]):
        cell = adds[place, 0] + domains[adds[place, 1], server]
        before = counts[cell]
        counts[cell] = before + sign
        totals[adds[place, 2]] += int(before + sign != 0) - int(before != 0)


@lean
def last_refusing(view: RoleView, room: npt.NDArray[np.bool_]) -> int:
    """Return what takes the last server with `room` bool [servers], as rules are looked at in order; -1 for none."""
    last = -1
    for server in range(len(room)):
        if room[server]:
            if view.refusing[server] < 0:
                return -1
            last = max(last, view.refusing[server])
    return last


@kernel
def why_ruled(mask: Mask, view: RoleView, role: int, free: Ints, demand: Amounts, spread: bool) -> int:
    """Return what `last_refusing` does for a request that has room on some server, whatever the rules say."""
    show(mask, view, role, free)
    return last_refusing(view, with_room(free, demand, spread))
