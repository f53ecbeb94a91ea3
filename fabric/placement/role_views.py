"""Writes what a role is shown of the servers: what is free where no rule of placement keeps it away, else nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.placement.mask import NO_BOUND, SPREAD, Mask, bounds_of
from binwright.fabric.servers import with_room
from binwright.simcore.jit import inlined, kernel, lean
from binwright.simcore.types import Amounts, Ints


class RoleView(NamedTuple):
    """Holds what `show` wrote last.

    `free` int64 [servers, nodes, resources] is what the role is shown; `refusing` int64 [servers] what keeps it from
    a server, the first of the rules as they are written, -1 for nothing; `bounds` int64 [checks, 2] is scratch.
    """

    free: Ints
    refusing: Ints
    bounds: Ints


class Ruling(NamedTuple):
    """Holds the rules of a run for a compiled loop.

    `roles` int64 [n] are the roles of the workload's requests; `is_open` bool [roles] tells which of them no rule keeps
    from anywhere.
    """

    roles: Ints
    is_open: npt.NDArray[np.bool_]
    mask: Mask
    view: RoleView


class Stage(NamedTuple):
    """Holds the rules as they are from a time on, until the next planned drain; all stages of a run count as one.

    `is_open` is as in `Ruling`.
    """

    since: float
    is_open: npt.NDArray[np.bool_]
    mask: Mask

    def ruling(self, roles: Ints, free: Ints) -> Ruling:
        """Return the rules for a compiled run that is there now, whose requests have these roles."""
        return Ruling(roles, self.is_open, self.mask, view_for(self.mask, free))


def view_for(mask: Mask, free: Ints) -> RoleView:
    """Make room for what a role is shown; `free` int64 [servers, nodes, resources]."""
    checks = max((end - first for _, first, end in mask.roles.tolist()), default=0)
    return RoleView(np.zeros_like(free), np.full(len(free), -1), np.zeros((checks, 2), np.int64))


@inlined
def _count(checks: Ints, counts: Ints, c: int, domain: int) -> int:
    """Return what a check asks of a domain: how many there are."""
    found: int = counts[checks[c, 1] + domain]
    if checks[c, 7] >= 0:
        found -= counts[checks[c, 7] + domain]
    return found


@lean
def show(mask: Mask, view: RoleView, role: int, free: Ints) -> None:
    """Write to `view` what a role is shown of `free`, and what keeps it from each server."""
    # Taken out once: within the loops, numba would count references at every access.
    closed, roles, checks, rules, domains, live, counts, totals, _, _ = mask
    shown, refusing, bounds = view
    door, first, end = roles[role, 0], roles[role, 1], roles[role, 2]
    for c in range(first, end):
        least = NO_BOUND
        if checks[c, 0] == SPREAD:
            for domain in range(checks[c, 5]):
                if live[door, checks[c, 6] + domain]:
                    least = min(least, _count(checks, counts, c, domain))
        low, high = bounds_of(checks[c, 0], checks[c, 3], least, totals[checks[c, 4]])
        bounds[c - first, 0], bounds[c - first, 1] = low, high
    for server in range(len(free)):
        said = closed[door, server]
        for c in range(first, end):
            number = _count(checks, counts, c, domains[checks[c, 2], server])
            if not bounds[c - first, 0] <= number <= bounds[c - first, 1]:
                said = min(said, rules[c]) if said >= 0 else rules[c]
                break
        refusing[server] = said
        for node in range(free.shape[1]):
            for r in range(free.shape[2]):
                shown[server, node, r] = free[server, node, r] if said < 0 else 0


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
