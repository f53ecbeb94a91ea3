"""Where requests may lie, as slow, obvious rules: who lies where is a list, and every rule counts in it."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from binwright.scenarios.features.placement.rules import Apart, AtMost, Drain, Near, Rule, Spread, Together
from binwright.scenarios.features.server_labels import ServerLabels
from binwright.simcore.roles import Role, where_of


class Lies(NamedTuple):
    """A request that holds something: its servers, of which there are several in a network only, and its role.

    One that is being moved also holds its place on the server that it `goes` to.
    """

    servers: tuple[int, ...]
    role: Role
    goes: tuple[int, ...] = ()


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


def broken_by(
    labels: ServerLabels, rules: Sequence[Rule], lie: Sequence[Lies], new: Lies, now: float = 0.0
) -> list[int]:
    """What a request on several servers breaks of what rules mean, numbered as in `refused_by`.

    It looks at the request as a whole, once it is there: which domains it is in, and who else is in them.
    """
    found = []
    if not all(_matches(labels, new.role.where, server) for server in new.servers):
        found.append(0)
    if any(
        there[list(new.servers)].any() and taint not in new.role.tolerates for taint, there in labels.taints.items()
    ):
        found.append(1)
    for number, rule in enumerate(rules):
        if isinstance(rule, Drain):
            whole = not (rule.at <= now < _end(rule) and any(_drained(labels, rule, server) for server in new.servers))
        else:
            whole = _keeps_as_a_whole(labels, rules, rule, lie, new, now)
        if not whole:
            found.append(2 + number)
    return found


def _keeps_as_a_whole(
    labels: ServerLabels, rules: Sequence[Rule], rule: Rule, lie: Sequence[Lies], new: Lies, now: float
) -> bool:
    assert not isinstance(rule, Drain)
    label = rule.over if isinstance(rule, Spread) else rule.per

    def domains(one: Lies) -> set[object]:
        return {_domain(labels, label, server) for server in one.servers}

    def inside(groups: Sequence[str], domain: object, who: Sequence[Lies]) -> int:
        return sum(one.role.group in groups and domain in domains(one) for one in who)

    group, mine, after = new.role.group, domains(new), [*lie, new]
    if isinstance(rule, AtMost):
        named = group != "" and rule.of in (group, "*")
        return not named or all(inside([group], domain, after) <= rule.at_most for domain in mine)
    if isinstance(rule, Spread):
        drains = [one for one in rules if isinstance(one, Drain)]
        may = [s for s in range(labels.servers) if refused_by(labels, drains, [], new.role, s, now) < 0]
        fewest = min((inside([group], _domain(labels, label, server), after) for server in may), default=0)
        named = group != "" and rule.spread in (group, "*") and bool(may)
        return not named or all(inside([group], domain, after) - fewest <= rule.skew for domain in mine)
    if isinstance(rule, Apart):
        groups = _groups(rule.groups, after)
        others = [other for other in groups if other != group]
        return group not in groups or all(inside(others, domain, after) == 0 for domain in mine)
    if isinstance(rule, Together):
        groups = (group,) if rule.groups == ("*",) and group else rule.groups
        theirs = set[object]().union(*(domains(one) for one in lie if one.role.group in groups))
        return group not in groups or not theirs or mine <= theirs
    return group != rule.of or all(inside(rule.groups, domain, lie) > 0 for domain in mine)


def _keeps(
    labels: ServerLabels, rules: Sequence[Rule], rule: Rule, lie: Sequence[Lies], role: Role, server: int, now: float
) -> bool:
    group = role.group

    def there(groups: Sequence[str], per: str, server: int) -> int:
        """How many requests of these groups are in the domain of a server?"""
        domain = _domain(labels, per, server)
        return sum(
            one.role.group in groups and any(_domain(labels, per, other) == domain for other in one.servers + one.goes)
            for one in lie
        )

    if isinstance(rule, Drain):
        return not (rule.at <= now < _end(rule) and _drained(labels, rule, server))
    if isinstance(rule, AtMost):
        return group == "" or rule.of not in (group, "*") or there([group], rule.per, server) < rule.at_most
    if isinstance(rule, Spread):
        if group == "" or rule.spread not in (group, "*"):
            return True
        may = [
            other
            for other in range(labels.servers)
            if refused_by(labels, [one for one in rules if isinstance(one, Drain)], [], role, other, now) < 0
        ]
        fewest = min((there([group], rule.over, other) for other in may), default=0)
        return not may or there([group], rule.over, server) + 1 - fewest <= rule.skew
    if isinstance(rule, Apart):
        groups = _groups(rule.groups, [*lie, Lies((server,), role)])
        others = [other for other in groups if other != group]
        return group not in groups or there(others, rule.per, server) == 0
    if isinstance(rule, Together):
        groups = (group,) if rule.groups == ("*",) and group else rule.groups
        fellows = [one for one in lie if one.role.group in groups]
        beside = there(groups, rule.per, server) > 0 and not any(_between(labels, rule.per, one) for one in fellows)
        return group not in groups or not fellows or beside
    assert isinstance(rule, Near)
    return group != rule.of or there(rule.groups, rule.per, server) > 0


def _groups(named: Sequence[str], who: Sequence[Lies]) -> Sequence[str]:
    """The groups that a rule is about: `*` alone stands for all."""
    return sorted({one.role.group for one in who} - {""}) if named == ("*",) else named


def _between(labels: ServerLabels, per: str, one: Lies) -> bool:
    """Is it on its way from one domain to another? Beside which of the two it will lie is not known yet."""
    return bool({_domain(labels, per, server) for server in one.goes} - {_domain(labels, per, one.servers[0])})


def _matches(labels: ServerLabels, where: Sequence[tuple[str, tuple[str, ...]]], server: int) -> bool:
    return all(str(labels.labels[label][server]) in values for label, values in where)


def _domain(labels: ServerLabels, per: str, server: int) -> object:
    return server if per == "server" else str(labels.labels[per][server])


def _end(rule: Drain) -> float:
    return inf if rule.until is None else rule.until


def _drained(labels: ServerLabels, rule: Drain, server: int) -> bool:
    if isinstance(rule.drain, dict):
        return _matches(labels, where_of(rule.drain), server)
    return server in rule.drain
