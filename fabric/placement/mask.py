"""Compiles rules of placement to arrays, and finds in them which servers a request may take.

Every rule that counts is a check of one number: how many requests of some groups the server's domain has. It must lie
between two bounds, which are the same for all servers.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.fabric.placement.rules import EVERY, NO_BOUND, SAME, SPREAD, Drain, Rule, ServerLabels
from binwright.fabric.servers import with_room
from binwright.simcore.jit import kernel, lean
from binwright.simcore.roles import Role
from binwright.simcore.types import Amounts, Ints

Bools: TypeAlias = npt.NDArray[np.bool_]
WHERE, TAINT, RULES = range(3)
"""What keeps a role from a server: labels, a taint, or a rule, which is its place in the rules more than `RULES`."""


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
    is_open: Bools
    mask: Mask
    view: RoleView


def compiled(
    labels: ServerLabels,
    rules: Sequence[Rule],
    roles: Sequence[Role],
    drains: Mapping[int, Bools],
    several: bool,
) -> Mask:
    """Compile rules for these roles. Nothing is counted yet.

    `drains` are the servers, bool [servers], that each rule among those that empty servers empties now. `several` is
    whether a request may lie in several domains.
    """
    counting = [(number, rule) for number, rule in enumerate(rules) if not isinstance(rule, Drain)]
    rows = {label: row for row, label in enumerate(dict.fromkeys(rule.per for _, rule in counting))}
    domains = [labels.domains(label) for label in rows]
    sizes = [int(places.max(initial=-1)) + 1 for places in domains]
    doors = {door: number for number, door in enumerate(dict.fromkeys(role[1:3] for role in roles))}
    closed = np.full((len(doors), labels.servers), -1, np.int64)
    for (where, tolerates), number in doors.items():
        for place in sorted(drains, reverse=True):
            closed[number, drains[place]] = RULES + place
        closed[number, ~labels.tolerated(tolerates)] = TAINT
        closed[number, ~labels.matching(where)] = WHERE
    firsts, size = dict[tuple[tuple[str, ...], str], int](), 0  # of the groups that are counted, by a label

    def counts_of(groups: tuple[str, ...], label: str) -> int:
        nonlocal size
        if (groups, label) not in firsts:
            firsts[groups, label], size = size, size + sizes[rows[label]]
        return firsts[groups, label]

    checks, ends = list[list[int]](), dict[str, tuple[int, int]]()
    for group in dict.fromkeys(role.group for role in roles):
        begin = len(checks)
        for number, rule in counting if group else ():
            if check := rule.check(group, several):
                row, first = rows[rule.per], counts_of(check.groups, rule.per)
                less = counts_of((check.but,), rule.per) if check.but else -1
                checks.append([check.kind, check.low, check.high, first, row, sizes[row], less, RULES + number])
        ends[group] = begin, len(checks)
    adds = [
        [(first, rows[label]) for (groups, label), first in firsts.items() if group in groups or EVERY in groups]
        if group
        else []
        for group, *_ in roles
    ]
    return Mask(
        closed,
        np.array([(doors[role[1:3]], *ends[role.group]) for role in roles], np.int64).reshape(-1, 3),
        np.array(checks, np.int64).reshape(-1, 8),
        np.array(domains, np.int64).reshape(len(domains), labels.servers),
        np.zeros(size, np.int64),
        np.cumsum([0, *map(len, adds)]),
        np.array([each for of_role in adds for each in of_role], np.int64).reshape(-1, 2),
    )


def add(mask: Mask, servers: Ints, role: int, sign: int) -> None:
    """Count a role's request on these servers, once in each domain; sign -1 takes it out."""
    for first, row in mask.adds[mask.begin[role] : mask.begin[role + 1]].tolist():
        mask.counts[first + np.unique(mask.domains[row, servers])] += sign


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
        for domain in range(checks[c, 5] if kind in (SPREAD, SAME) else 0):
            fewest = min(fewest, counts[start + domain])
            some += counts[start + domain] != 0
        if kind == SPREAD:
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
    """Count a role's request that was placed on a server, sign 1, or left it, -1, as `add` does for several."""
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
