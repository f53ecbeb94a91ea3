"""Finds which servers a request may take by rules of placement that were compiled to arrays.

Every rule that counts is a check of one number: how many requests of some groups the server's domain has. It must lie
between two bounds, which are the same for all servers.
"""

from typing import NamedTuple

import numpy as np

from binwright.fabric.servers import with_room
from binwright.simcore.jit import kernel, lean
from binwright.simcore.types import Amounts, Flags, Ints

WHERE, TAINT, RULES = range(3)
"""What keeps a role from a server: labels, a taint, or a rule, which is its place in the rules more than `RULES`."""
BETWEEN, SKEW, SAME = range(3)
"""What a check asks of the count: that it lies between its bounds; as much, above the smallest count; something, unless
there is none anywhere, and in no more domains than its upper bound.
"""
NO_BOUND = np.iinfo(np.int64).max


class Mask(NamedTuple):
    """Holds rules for kernels, and what they count.

    `closed` int64 [doors, servers] says what keeps out the roles of a door whatever is counted, -1 for nothing; `roles`
    int64 [roles, 3] are a role's door and its checks, first and end. `checks` int64 [n, 8] are what is asked, its
    bounds, the first of its `counts`, its row of `domains`, how many domains there are, the first of the `counts` that
    are taken from these, -1 for none, and what `closed` would say. `domains` int64 [labels, servers]. `adds` int64
    [any, 2] are what requests add to, the first of the counts and the row of `domains`; those of a role's requests
    begin at its `begin` int64 [roles + 1]. Only `counts` int64 [any] are written.
    """

    closed: Ints
    roles: Ints
    checks: Ints
    domains: Ints
    counts: Ints
    begin: Ints
    adds: Ints


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
    is_open: Flags
    mask: Mask
    view: RoleView


@lean
def show(mask: Mask, view: RoleView, role: int, free: Ints) -> None:
    """Write to `view` what a role is shown of `free`, and what keeps it from each server."""
    # Taken out once: within the loops, numba would count references at every access.
    closed, roles, checks, domains, counts, _, _ = mask
    shown, refusing = view
    door, first, end = roles[role, 0], roles[role, 1], roles[role, 2]
    servers, width, out = len(free), free.shape[1] * free.shape[2], closed[door]
    refusing[:] = -1
    for c in range(end - 1, first - 1, -1):  # backwards, as the first that refuses counts
        kind, low, high = checks[c, 0], checks[c, 1], checks[c, 2]
        start, less, rule = checks[c, 3], checks[c, 6], checks[c, 7]
        of, fewest, least, some = domains[checks[c, 4]], NO_BOUND, NO_BOUND, 0
        for domain in range(checks[c, 5] if kind in (SKEW, SAME) else 0):
            fewest = min(fewest, counts[start + domain])
            some += counts[start + domain] != 0
        if kind == SKEW:
            for server in range(servers):
                if out[server] < 0:
                    least = min(least, counts[start + of[server]])
                    if least == fewest:  # no domain has fewer
                        break
            high = high + least if least < NO_BOUND else NO_BOUND
        elif kind == SAME:
            low, high = (0 if some == 0 else 1 if some <= high else NO_BOUND), NO_BOUND
        for server in range(servers):
            number = counts[start + of[server]]
            if less >= 0:
                number -= counts[less + of[server]]
            if not low <= number <= high:
                refusing[server] = rule
    have, into = free.reshape(servers, width), shown.reshape(servers, width)
    for server in range(servers):
        if out[server] >= 0:
            refusing[server] = min(refusing[server], out[server]) if refusing[server] >= 0 else out[server]
        allowed = refusing[server] < 0
        for k in range(width):
            into[server, k] = have[server, k] if allowed else 0


@lean
def count(mask: Mask, server: int, role: int, sign: int) -> None:
    """Count a role's request that was placed on a server, sign 1, or left it, -1, once in each domain."""
    counts, domains, begin, adds = mask.counts, mask.domains, mask.begin, mask.adds
    for k in range(begin[role], begin[role + 1]):
        counts[adds[k, 0] + domains[adds[k, 1], server]] += sign


@kernel
def why_ruled(mask: Mask, view: RoleView, role: int, free: Ints, demand: Amounts, spread: bool) -> int:
    """Return what takes the last server on which a request fits, as rules are looked at in order; -1 for none."""
    show(mask, view, role, free)
    room, last = with_room(free, demand, spread), -1
    for server in range(len(room)):
        if room[server]:
            if view.refusing[server] < 0:
                return -1
            last = max(last, view.refusing[server])
    return last
