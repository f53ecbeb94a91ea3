"""Compiles rules of placement to arrays, and finds in them which servers a request may take.

Every rule that counts is a check of one number: how many requests of some groups the server's domain has. It must lie
between two bounds, which are the same for all servers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.fabric.placement.rules import (
    EVERY,
    Apart,
    AtMost,
    Drain,
    Near,
    Rule,
    ServerLabels,
    Spread,
    Together,
    expanded,
)
from binwright.simcore.jit import inlined
from binwright.simcore.roles import Role
from binwright.simcore.types import Ints

WHERE, TAINT, RULES = range(3)
"""What keeps a role from a server: labels, a taint, or a rule, which is its place in the rules more than `RULES`."""
AT_MOST, SPREAD, NONE, SAME, SOME = range(5)
"""What a check asks of the count: at most its limit; at most its limit above the smallest; nothing; something, unless
there is none anywhere, and in no more domains than its limit; something.
"""
NO_BOUND = np.iinfo(np.int64).max


class Mask(NamedTuple):
    """Holds rules for kernels, and what they count.

    `closed` int64 [doors, servers] says what keeps out the roles of a door whatever is counted, -1 for nothing; `roles`
    int64 [roles, 3] are a role's door and its checks, first and end. `checks` int64 [n, 8] are what is asked, the first
    of its `counts`, its row of `domains`, the limit, its place in `totals`, how many domains there are, the first of
    its `live`, and the first of the `counts` that are taken from these, -1 for none; `rules` int64 [n] says of each
    what `closed` says. `domains` int64 [labels, servers]. `live` bool [doors, domains of all labels] tells which
    domains have a server that is not closed. What a role's requests add to are rows `to` int64 [roles, 2], first and
    end, of `adds` int64 [any, 3]: the first of the counts, the row of `domains`, and the place in `totals`.

    Written are `counts` int64 [any], and `totals` int64 [counters]: how many domains have a count that is not 0.
    """

    closed: Ints
    roles: Ints
    checks: Ints
    rules: Ints
    domains: Ints
    live: npt.NDArray[np.bool_]
    counts: Ints
    totals: Ints
    to: Ints
    adds: Ints


class Counter(NamedTuple):
    """Names what a number is: the requests of `groups` in each domain of a label; `EVERY` stands for all groups."""

    groups: tuple[str, ...]
    label: str

    def counts(self, group: str) -> bool:
        """Tell whether a request of this group is one of them."""
        return group in self.groups or (bool(group) and EVERY in self.groups)


class Check(NamedTuple):
    """Says what is asked of a count: a kind, the counter, the limit, and another counter that is taken from it."""

    kind: int
    counter: Counter
    limit: int
    less: Counter | None = None


def checks_of(rule: Rule, group: str, several: bool) -> list[Check]:
    """Return what a rule asks of a request of this group.

    Where one request may lie in `several` domains, those of `together` may, too; where not, such a group is in two
    domains only while one of it moves from the one to the other, and nobody joins it before it has arrived.
    """
    match rule:
        case AtMost(count, of, per) if of == group:
            return [Check(AT_MOST, Counter((of,), per), count)]
        case Spread(of, over, skew) if of == group:
            return [Check(SPREAD, Counter((of,), over), skew)]
        case Apart(groups, per) if groups == (EVERY,) and group:
            return [Check(NONE, Counter((EVERY,), per), 0, Counter((group,), per))]
        case Apart(groups, per) if group in groups:
            return [Check(NONE, Counter(tuple(other for other in groups if other != group), per), 0)]
        case Together(groups, per) if group in groups:
            return [Check(SAME, Counter(groups, per), NO_BOUND if several else 1)]
        case Near(of, groups, per) if of == group:
            return [Check(SOME, Counter(groups, per), 0)]
    return []


def compiled(
    labels: ServerLabels,
    rules: Sequence[Rule],
    roles: Sequence[Role],
    drains: Mapping[int, npt.NDArray[np.bool_]],
    several: bool,
) -> Mask:
    """Compile rules for these roles. Nothing is counted yet.

    `drains` are the servers, bool [servers], that each rule among those that empty servers empties now. `several` is
    whether a request may lie in several domains.
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
    doors = {door: number for number, door in enumerate(dict.fromkeys(role[1:3] for role in roles))}
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
                for kind, counter, limit, less in checks_of(rule, role.group, several):
                    number = counters.setdefault(counter, len(counters))
                    row, other = rows[counter.label], -1
                    if less is not None:
                        other = counters.setdefault(less, len(counters))
                    checks.append([kind, number, row, limit, number, sizes[row], starts[row], other])
                    theirs.append(RULES + place)
            by_group[role.group] = first, len(checks)
        spans.append([doors[role[1:3]], *by_group[role.group]])
    firsts = np.cumsum([0, *(sizes[rows[counter.label]] for counter in counters)]).tolist()
    table = np.array(checks, np.int64).reshape(-1, 8)
    for column in (1, 7):
        table[:, column] = np.where(table[:, column] < 0, -1, np.array(firsts, np.int64)[table[:, column]])
    adds = [
        [
            (firsts[number], rows[counter.label], number)
            for counter, number in counters.items()
            if counter.counts(role.group)
        ]
        for role in roles
    ]
    ends = np.cumsum([len(some) for some in adds])
    return Mask(
        closed,
        np.array(spans, np.int64).reshape(-1, 3),
        table,
        np.array(theirs, np.int64),
        np.array(domains, np.int64).reshape(len(domains), labels.servers),
        live,
        np.zeros(firsts[-1], np.int64),
        np.zeros(len(counters), np.int64),
        np.column_stack([ends - [len(some) for some in adds], ends]),
        np.array([one for some in adds for one in some], np.int64).reshape(-1, 3),
    )


def add(mask: Mask, servers: Ints, role: int, sign: int) -> None:
    """Count a role's request on these servers, once in each domain; sign -1 takes it out."""
    for first, row, total in mask.adds[slice(*mask.to[role])].tolist():
        cells = first + np.unique(mask.domains[row, servers])
        before = np.count_nonzero(mask.counts[cells])
        mask.counts[cells] += sign
        mask.totals[total] += np.count_nonzero(mask.counts[cells]) - before


def open_roles(mask: Mask) -> list[bool]:
    """Tell which roles no rule keeps from anywhere, whatever is counted."""
    return [first == end and not (mask.closed[door] >= 0).any() for door, first, end in mask.roles.tolist()]


@inlined
def bounds_of(kind: int, limit: int, least: int, total: int) -> tuple[int, int]:
    """Return between which numbers the count of a domain must lie.

    `least` is the smallest of the domains that are not closed, and `total` how many domains have some.
    """
    low, high = 0, NO_BOUND
    if kind == AT_MOST:
        high = limit - 1
    elif kind == SPREAD:
        high = least + limit - 1 if least < NO_BOUND else NO_BOUND
    elif kind == NONE:
        high = 0
    elif kind == SAME:
        low = 0 if total == 0 else 1 if total <= limit else NO_BOUND
    else:
        low = 1
    return low, high
