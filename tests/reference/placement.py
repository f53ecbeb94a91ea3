"""Where requests may lie, as slow, obvious rules: who lies where is a list, and every rule counts in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fabric.placement import Apart, AtMost, Drain, Near, Rule, ServerLabels, Spread, Together
from simcore.roles import Role


class Lies(NamedTuple):
    """A request that holds something: its server and its role."""

    server: int
    role: Role


def refused_by(
    labels: ServerLabels, rules: Sequence[Rule], lie: Sequence[Lies], role: Role, server: int, now: float = 0.0
) -> int:
    """The first that refuses: 0 labels, 1 a taint, 2 + n rule n; -1 for none."""
    if not _matches(labels, role.where, server):
        return 0
    if any(there[server] and taint not in role.tolerates for taint, there in labels.taints.items()):
        return 1
    for number, rule in enumerate(rules):
        if not _keeps(labels, rules, rule, lie, role, server, now):
            return 2 + number
    return -1


def _keeps(
    labels: ServerLabels,
    rules: Sequence[Rule],
    rule: Rule,
    lie: Sequence[Lies],
    role: Role,
    server: int,
    now: float,
) -> bool:
    group = role.group

    def there(groups: Sequence[str], per: str, server: int) -> int:
        """How many requests of these groups are in the domain of a server?"""
        return sum(
            one.role.group in groups and _domain(labels, per, one.server) == _domain(labels, per, server) for one in lie
        )

    if isinstance(rule, Drain):
        return not (rule.at <= now and _drained(labels, rule, server))
    if isinstance(rule, AtMost):
        return group == "" or rule.of not in (group, "*") or there([group], rule.per, server) < rule.count
    if isinstance(rule, Spread):
        if group == "" or rule.of not in (group, "*"):
            return True
        may = [
            other
            for other in range(labels.servers)
            if refused_by(labels, [one for one in rules if isinstance(one, Drain)], [], role, other, now) < 0
        ]
        fewest = min((there([group], rule.over, other) for other in may), default=0)
        return not may or there([group], rule.over, server) + 1 - fewest <= rule.skew
    if isinstance(rule, Apart):
        others = [other for other in rule.groups if other != group]
        return group not in rule.groups or there(others, rule.per, server) == 0
    if isinstance(rule, Together):
        groups = (group,) if rule.groups == ("*",) and group else rule.groups
        anywhere = any(one.role.group in groups for one in lie)
        return group not in groups or not anywhere or there(groups, rule.per, server) > 0
    assert isinstance(rule, Near)
    return group != rule.of or there(rule.groups, rule.per, server) > 0


def _matches(labels: ServerLabels, where: Sequence[tuple[str, tuple[str, ...]]], server: int) -> bool:
    return all(str(labels.labels[label][server]) in values for label, values in where)


def _domain(labels: ServerLabels, per: str, server: int) -> object:
    return server if per == "server" else str(labels.labels[per][server])


def _drained(labels: ServerLabels, rule: Drain, server: int) -> bool:
    return _matches(labels, rule.where, server) if rule.where else server in rule.servers
