"""Compiles rules of placement to arrays, and finds in them which servers a request may take.

Every rule that counts is a check of one number: how many requests of some groups the server's domain has. It must lie
between two bounds, which are the same for all servers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabric.placement import Apart, AtMost, Drain, Near, Rule, ServerLabels, Spread, Together, expanded
from simcore.jit import inlined, kernel
from simcore.roles import Role
from simcore.vocabulary import Ints

WHERE, TAINT, RULES = range(3)
"""What keeps a role from a server: labels, a taint, or a rule, which is its place in the rules more than `RULES`."""
AT_MOST, SPREAD, NONE, SAME, SOME = range(5)
"""What a check asks of the count: at most its limit; at most its limit above the smallest; nothing; something unless
there is none anywhere; something.
"""
NO_BOUND = np.iinfo(np.int64).max


class Mask(NamedTuple):
    """Holds rules for kernels, and what they count.

    `closed` int64 [doors, servers] says what keeps out the roles of a door whatever is counted, -1 for nothing; `roles`
    int64 [roles, 3] are a role's door and its checks, first and end. `checks` int64 [n, 7] are what is asked, the first
    of its `counts`, its row of `domains`, the limit, its place in `totals`, how many domains there are, and the first
    of its `live`; `rules` int64 [n] says of each what `closed` says. `domains` int64 [labels, servers]. `live` bool
    [doors, domains of all labels] tells which domains have a server that is not closed.

    Written are `counts` int64 [any] and `totals` int64 [counters], and as scratch `bounds` int64 [n, 2].
    """

    closed: Ints
    roles: Ints
    checks: Ints
    rules: Ints
    domains: Ints
    live: npt.NDArray[np.bool_]
    counts: Ints
    totals: Ints
    bounds: Ints


class Counter(NamedTuple):
    """Names what a number is: the requests of `groups` in each domain of a label."""

    groups: tuple[str, ...]
    label: str


class Compiled(NamedTuple):
    """Holds a mask, and for each role what its requests add to: (first of the counts, row of domains, total)."""

    mask: Mask
    adds: list[list[tuple[int, int, int]]]


def checks_of(rule: Rule, group: str) -> list[tuple[int, Counter, int]]:
    """Return what a rule asks of a request of this group: a kind of check, the counter, and the limit."""
    match rule:
        case AtMost(count, of, per) if of == group:
            return [(AT_MOST, Counter((of,), per), count)]
        case Spread(of, over, skew) if of == group:
            return [(SPREAD, Counter((of,), over), skew)]
        case Apart(groups, per) if group in groups:
            return [(NONE, Counter(tuple(other for other in groups if other != group), per), 0)]
        case Together(groups, per) if group in groups:
            return [(SAME, Counter(groups, per), 0)]
        case Near(of, groups, per) if of == group:
            return [(SOME, Counter(groups, per), 0)]
    return []


def compiled(
    labels: ServerLabels, rules: Sequence[Rule], roles: Sequence[Role], drains: Mapping[int, npt.NDArray[np.bool_]]
) -> Compiled:
    """Compile rules for these roles. Nothing is counted yet.

    `drains` are the servers, bool [servers], that each rule among those that empty servers empties now.
    """
    rows: dict[str, int] = {}
    domains: list[Ints] = []
    sizes: list[int] = []
    for rule in rules:
        label = "" if isinstance(rule, Drain) else rule.over if isinstance(rule, Spread) else rule.per
        if label and label not in rows:
            places, _ = labels.domains(label)
            rows[label] = len(domains)
            domains.append(places)
            sizes.append(int(places.max(initial=-1)) + 1)
    starts = np.cumsum([0, *sizes]).tolist()
    doors = {door: number for number, door in enumerate(dict.fromkeys(role[1:] for role in roles))}
    closed = np.full((len(doors), labels.servers), -1, np.int64)
    for (where, tolerates), number in doors.items():
        for place in sorted(drains, reverse=True):
            closed[number, drains[place]] = RULES + place
        closed[number, ~labels.tolerated(tolerates)] = TAINT
        closed[number, ~labels.matching(where)] = WHERE
    live = np.zeros((len(doors), starts[-1]), np.bool_)
    for row, places in enumerate(domains):
        for number in range(len(doors)):
            live[number, starts[row] + places[closed[number] < 0]] = True
    counters: dict[Counter, int] = {}
    checks: list[list[int]] = []
    theirs: list[int] = []
    spans: list[list[int]] = []
    by_group: dict[str, tuple[int, int]] = {}
    ordered = expanded(rules, roles)
    for role in roles:
        if role.group not in by_group:
            first = len(checks)
            for place, rule in ordered:
                for kind, counter, limit in checks_of(rule, role.group):
                    number = counters.setdefault(counter, len(counters))
                    row = rows[counter.label]
                    checks.append([kind, number, row, limit, number, sizes[row], starts[row]])
                    theirs.append(RULES + place)
            by_group[role.group] = first, len(checks)
        spans.append([doors[role[1:]], *by_group[role.group]])
    firsts = np.cumsum([0, *(sizes[rows[counter.label]] for counter in counters)]).tolist()
    table = np.array(checks, np.int64).reshape(-1, 7)
    table[:, 1] = np.array(firsts, np.int64)[table[:, 1]]
    mask = Mask(
        closed,
        np.array(spans, np.int64).reshape(-1, 3),
        table,
        np.array(theirs, np.int64),
        np.array(domains, np.int64).reshape(len(domains), labels.servers),
        live,
        np.zeros(firsts[-1], np.int64),
        np.zeros(len(counters), np.int64),
        np.zeros((len(table), 2), np.int64),
    )
    adds = [
        [
            (firsts[number], rows[counter.label], number)
            for counter, number in counters.items()
            if role.group in counter.groups
        ]
        for role in roles
    ]
    return Compiled(mask, adds)


@kernel
def _bound(mask: Mask, role: int) -> None:
    """Write to `bounds` between which numbers the count of each check of a role must lie."""
    door = mask.roles[role, 0]
    for c in range(mask.roles[role, 1], mask.roles[role, 2]):
        kind, first, limit = mask.checks[c, 0], mask.checks[c, 1], mask.checks[c, 3]
        low, high = 0, NO_BOUND
        if kind == AT_MOST:
            high = limit - 1
        elif kind == SPREAD:
            least, live = NO_BOUND, mask.checks[c, 6]
            for domain in range(mask.checks[c, 5]):
                if mask.live[door, live + domain]:
                    least = min(least, mask.counts[first + domain])
            high = least + limit - 1 if least < NO_BOUND else NO_BOUND
        elif kind == NONE:
            high = 0
        elif kind == SAME:
            low = 1 if mask.totals[mask.checks[c, 4]] > 0 else 0
        else:
            low = 1
        mask.bounds[c, 0], mask.bounds[c, 1] = low, high


@inlined
def _keeps(checks: Ints, domains: Ints, counts: Ints, bounds: Ints, c: int, server: int) -> bool:
    """Tell whether a server's domain keeps a check, whose bounds are known."""
    number = counts[checks[c, 1] + domains[checks[c, 2], server]]
    return bool(bounds[c, 0] <= number <= bounds[c, 1])


@kernel
def show(mask: Mask, role: int, free: Ints, shown: Ints) -> None:
    """Write to `shown`, of the shape of `free`, what is free where a role may lie, and 0 elsewhere."""
    _bound(mask, role)
    # Unpacked once: within the loop, numba would count references at every access.
    closed, roles, checks, _, domains, _, counts, _, bounds = mask
    door, first, end = roles[role, 0], roles[role, 1], roles[role, 2]
    for server in range(len(free)):
        may = closed[door, server] < 0
        for c in range(first, end):
            if may:
                may = _keeps(checks, domains, counts, bounds, c, server)
        for node in range(free.shape[1]):
            for r in range(free.shape[2]):
                shown[server, node, r] = free[server, node, r] if may else 0


@kernel
def refusing(mask: Mask, role: int, server: int) -> int:
    """Return what keeps a role from a server, the first of the rules as they are written; -1 for nothing."""
    _bound(mask, role)
    return _first(mask, role, server)


@kernel
def _first(mask: Mask, role: int, server: int) -> int:
    closed = int(mask.closed[mask.roles[role, 0], server])
    for c in range(mask.roles[role, 1], mask.roles[role, 2]):
        if not _keeps(mask.checks, mask.domains, mask.counts, mask.bounds, c, server):
            rule = int(mask.rules[c])
            return min(closed, rule) if closed >= 0 else rule
    return closed


@kernel
def last_refusing(mask: Mask, role: int, room: npt.NDArray[np.bool_]) -> int:
    """Return what takes the last server with `room` bool [servers], as rules are looked at in order; -1 for none."""
    last = -1
    _bound(mask, role)
    for server in range(len(room)):
        if room[server]:
            here = _first(mask, role, server)
            if here < 0:
                return -1
            last = max(last, here)
    return last
