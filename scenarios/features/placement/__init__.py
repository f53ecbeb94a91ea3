"""Placement: where requests may lie, by labels and taints, what requests say, and rules; some empty servers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field

from binwright.fabric.placement.rules import EVERY, SERVER, AtMost, Drain, Rule, Spread
from binwright.scenarios.features.feature import Feature
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Keys, Model, Names, Number, Shown, Text, Where, together, wrong
from binwright.simcore.roles import Role, where_of
from binwright.simcore.unions import ByKey


def _labels(values: Any) -> Any:
    """Leave out labels that are null."""
    return {name: value for name, value in values.items() if value is not None} if isinstance(values, dict) else values


Labels: TypeAlias = Annotated[
    dict[str, Text],
    BeforeValidator(_labels),
    Shown("{label: text}"),
]


def _priority(value: Any) -> Any:
    """Read a number or a class as the only one of a mix."""
    if isinstance(value, dict):
        return {str(key): each for key, each in value.items()}
    if isinstance(value, str | int) and not isinstance(value, bool):
        return {str(value): 1}
    remedy = "Write a whole number, a class of `priorities`, or {class: weight}."
    raise wrong("is no priority", remedy, (), value)


PriorityMix: TypeAlias = Annotated[
    dict[str, Number],
    BeforeValidator(_priority),
    Shown("whole number, class, or {class: weight}"),
]


class Placed(Model):
    """What requests say to the rules of placement."""

    group: Text = Field(default="", description="The group, for rules of `placement`.", examples=["web"])
    where: Where = Field(
        default_factory=dict,
        description="Labels that the server must have, each with one of these values.",
        examples=["{zone: [a, b], kind: large}"],
    )
    tolerates: Names = Field(default=(), description="Taints of servers that it tolerates.", examples=["[spot]"])
    priority: PriorityMix = Field(
        default_factory=dict,
        description="A number, higher is more urgent, a class of `priorities`, or several, drawn by weight; by "
        "default the label `priority`, or 0.",
        examples=["production", "{production: 1, batch: 3}"],
    )

    @property
    def role(self) -> Role:
        """What the requests are to rules of placement."""
        tolerates = tuple(sorted(set(self.tolerates)))
        return Role(self.group, where_of(self.where), tolerates, tuple(self.priority.items()))


class WeightedRole(Placed):
    """What some of the requests say to the rules of placement."""

    weight: Number = Field(default=1, description="How often, in relation to the others.", examples=[3])


PlacementRule: TypeAlias = Annotated[
    Rule,
    ByKey(
        ("at_most", "spread", "apart", "together", "near", "drain"), "says no rule", "{at_most: 2, of: web, per: zone}"
    ),
]

Values: TypeAlias = Mapping[str, set[str] | None]
"""Of every label the values that servers have; `None` where a file says them."""


def check_where(where: Mapping[str, Iterable[str]], values: Values, at: Keys) -> None:
    """Refuse labels that no server has, and values that none has of them."""
    for label, wanted in where.items():
        if label == SERVER:
            remedy = "Rules go by it in `per` and `over`. Give the servers a label of another name."
            raise wrong("is reserved for single servers", remedy, (*at, label))
        if label not in values:
            raise wrong("the servers have no such label", suggest(label, values), (*at, label))
        known = values[label]
        for value in wanted if known is not None else ():
            if value not in (known or ()):
                raise wrong(f"no server has this {label}", suggest(value, known or ()), (*at, label), value)


def check_servers(
    servers: Sequence[int] | Mapping[str, Iterable[str]], values: Values, size: int | None, at: Keys
) -> None:
    """Refuse servers that there are not, by their numbers or by labels; `size` is None where a file says it."""
    if isinstance(servers, Mapping):
        return check_where(servers, values, at)
    for server in servers:
        if size is not None and server >= size:
            raise wrong("there is no such server", f"Servers are 0 to {size - 1}.", at, server)
    return None


def check_role(placed: Placed, values: Values, taints: set[str] | None, at: Keys) -> None:
    """Refuse what requests say of labels and taints that there are not; `taints` are None where a file says them."""

    def tolerated(taint: str) -> None:
        if taints is not None and taint not in taints:
            raise wrong("no server has this taint", suggest(taint, taints), (*at, "tolerates"), taint)

    where = partial(check_where, placed.where, values, (*at, "where"))
    together(where, *(partial(tolerated, taint) for taint in placed.tolerates))


def check_rule(
    spec: Any, at: Keys, values: Values, everywhere: set[str] | None, groups: set[str] | None, size: int | None
) -> None:
    """Refuse a rule about what there is not.

    `everywhere` are the labels that all servers have, `groups` those of the requests, `size` the number of servers;
    each None where a file says it.
    """
    if isinstance(spec, Drain):
        return check_servers(spec.drain, values, size, (*at, "drain"))
    checks: list[Callable[[], None]] = []
    for key in ("of", "spread", "apart", "together", "near"):
        named = getattr(spec, key, ())
        for group in [named] if isinstance(named, str) else named:
            every = group == EVERY and (key == "spread" or isinstance(spec, AtMost) or named == (EVERY,))
            checks.append(partial(_known_group, group, every and key != "near", groups, (*at, key)))
    key = "over" if isinstance(spec, Spread) else "per"
    checks.append(partial(known_label, getattr(spec, key), values, everywhere, (*at, key)))
    return together(*checks)


def _known_group(group: str, every: bool, groups: set[str] | None, at: Keys) -> None:
    if group == EVERY and not every:
        raise wrong("does not stand for every group here", "Name the groups.", at, group)
    if group != EVERY and groups is not None and group not in groups:
        raise wrong("no request is of this group", suggest(group, groups), at, group)


def known_label(label: str, values: Values, everywhere: set[str] | None, at: Keys) -> None:
    """Refuse a label that servers lack; `everywhere` are those that all have, None where a file says it."""
    if label == SERVER:
        return
    if label not in values:
        raise wrong("the servers have no such label", suggest(label, [*values, SERVER]), at, label)
    if everywhere is not None and label not in everywhere:
        raise wrong("some servers have no such label", "Give it to all servers, or take another.", at, label)


class _Keys(Model):
    placement: tuple[PlacementRule, ...] = Field(
        default=(),
        description="Rules for where requests may lie. Labels and taints need none.",
        examples=["[{at_most: 2, of: web, per: zone}, {spread: db, over: rack}, {apart: [web, db], per: server}]"],
    )


class _Feature(Feature):
    key, keys = "placement", {"": _Keys}

    def section(self, scenario: Any) -> bool:
        return bool(scenario.ruled_by) or any(each.where or each.tolerates for _, each in scenario.workload.placed)

    def check(self, scenario: Any) -> None:
        written = [str(rule) for rule in scenario.placement]
        for number, text in enumerate(written):
            if (before := written.index(text)) < number:
                remedy = "Remove one of the two."
                raise wrong(f"says the same as placement.{before}", remedy, ("placement", number))
        cluster = scenario.cluster
        size = None if scenario.grows else cluster.size
        check_placed(scenario, cluster.values, cluster.everywhere, cluster.taints, size)


def check_placed(
    scenario: Any, values: Values, everywhere: set[str] | None, taints: set[str] | None, size: int | None
) -> None:
    """Refuse what rules and requests of a scenario say of what there is not.

    `values` are those of every label, `everywhere` the labels that all servers have, and `size` is how many servers
    there are; what is None is not known yet.
    """
    rules, workload = scenario.placement, scenario.workload
    together(
        *(
            partial(check_rule, rule, ("placement", number), values, everywhere, workload.groups, size)
            for number, rule in enumerate(rules)
        ),
        *(partial(check_role, placed, values, taints, ("workload", *at)) for at, placed in workload.placed),
        *(
            partial(known_label, label, values, everywhere, ("workload", *at, *keys))
            for at, parts in workload.gangs
            for label, keys in parts.labels.items()
        ),
    )


FEATURE = _Feature()
