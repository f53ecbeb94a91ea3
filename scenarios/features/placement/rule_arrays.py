"""Compiles rules of placement to arrays, which `fabric.mask` looks at."""

from collections.abc import Mapping, Sequence

import numpy as np

from binwright.fabric.mask import RULES, TAINT, WHERE, Mask
from binwright.scenarios.features.placement.rules import EVERY, Drain, Rule
from binwright.scenarios.features.server_labels import ServerLabels
from binwright.simcore.roles import Role
from binwright.simcore.types import Flags, Ints


def compiled(
    labels: ServerLabels,
    rules: Sequence[Rule],
    roles: Sequence[Role],
    drains: Mapping[int, Flags],
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
