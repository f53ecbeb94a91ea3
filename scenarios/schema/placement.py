"""The schema of where requests may lie: labels, taints, what requests say, and `placement:`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from fabric.placement import EVERY, SERVER, Apart, AtMost, Drain, Near, Rule, Spread, Together
from simcore.errors import suggest
from simcore.fields import SOME_TEXTS, WHERE, Count, Index, Model, Number, Shown, Text, Time, Where, together, wrong
from simcore.roles import Role, where_of

_TEXT, _SOME = {"type": "string"}, SOME_TEXTS


def _listed(value: Any) -> Any:
    """Turn one text into a list of it."""
    return [value] if isinstance(value, str) else value


def _labels(values: Any) -> Any:
    """Leave out labels that are null."""
    return {name: value for name, value in values.items() if value is not None} if isinstance(values, dict) else values


Names: TypeAlias = Annotated[
    tuple[Text, ...],
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}),
    Shown("text, or list of text"),
]
SomeNames: TypeAlias = Annotated[
    tuple[Text, ...],
    Field(min_length=1),
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": _SOME}),
    Shown("text, or list of text"),
]
Labels: TypeAlias = Annotated[
    dict[str, Text],
    BeforeValidator(_labels),
    WithJsonSchema({"type": "object", "additionalProperties": {"anyOf": [_TEXT, {"type": "null"}]}}),
    Shown("{label: text}"),
]


class Placed(Model):
    """What requests say to the rules of placement."""

    group: Text = Field(default="", description="The group that rules of `placement` name it by.", examples=["web"])
    where: Where = Field(
        default_factory=dict,
        description="Labels that the server must have, with a value or the values of which it must have one.",
        examples=["{zone: [a, b], kind: large}"],
    )
    tolerates: Names = Field(default=(), description="Taints of servers that it may lie on.", examples=["[spot]"])

    @property
    def role(self) -> Role:
        """What the requests are to rules of placement."""
        return Role(self.group, where_of(self.where), tuple(sorted(set(self.tolerates))))


class WeightedRole(Placed):
    """What some of the requests say to the rules of placement."""

    weight: Number = Field(default=1, description="How often, in relation to the others.", examples=[3])

    def __hash__(self) -> int:
        """Hash fewer keys than are compared: mappings among them have no hash."""
        return hash((self.weight, self.role))


class AtMostRule(Model):
    """At most so many requests of a group per domain."""

    at_most: Count = Field(description="How many.", examples=[2])
    of: Text = Field(description="The group, or `*` for every group by itself.", examples=["web"])
    per: Text = Field(description="The label whose values are the domains, or `server`.", examples=["zone"])

    @property
    def rule(self) -> Rule:
        """The rule as the ledger has it."""
        return AtMost(self.at_most, self.of, self.per)


class SpreadRule(Model):
    """A group is spread over domains: none has more than `skew` requests above the one that has fewest."""

    spread: Text = Field(description="The group, or `*` for every group by itself.", examples=["web"])
    over: Text = Field(description="The label whose values are the domains, or `server`.", examples=["zone"])
    skew: Count = Field(default=1, description="How many more than in the domain that has fewest.", examples=[1])

    @property
    def rule(self) -> Rule:
        """The rule as the ledger has it."""
        return Spread(self.spread, self.over, self.skew)


class ApartRule(Model):
    """No domain has requests of two of these groups."""

    apart: SomeNames = Field(
        description="Two groups or more, or `*` for all groups; requests of the same group may meet.",
        examples=["[web, db]"],
    )
    per: Text = Field(description="The label whose values are the domains, or `server`.", examples=["server"])

    @model_validator(mode="after")
    def _different(self) -> Self:
        if len(self.apart) == 1 and self.apart != (EVERY,):
            raise wrong("names one group alone", 'Name two groups or more, or "*" for all.', ("apart",))
        if len(set(self.apart)) < len(self.apart):
            remedy = "Name every group once. Requests of one group stay apart by {at_most: 1, ...}."
            raise wrong("names a group twice", remedy, ("apart",))
        return self

    @property
    def rule(self) -> Rule:
        """The rule as the ledger has it."""
        return Apart(tuple(sorted(self.apart)), self.per)


class TogetherRule(Model):
    """All requests of these groups that are there at a time are in one domain."""

    together: SomeNames = Field(
        description="A group or several, or `*` for every group by itself.", examples=["web", "[web, cache]"]
    )
    per: Text = Field(description="The label whose values are the domains, or `server`.", examples=["rack"])

    @property
    def rule(self) -> Rule:
        """The rule as the ledger has it."""
        return Together(tuple(sorted(set(self.together))), self.per)


class NearRule(Model):
    """Requests of a group go only to a domain that has a request of one of some other groups."""

    near: SomeNames = Field(description="The other groups.", examples=["db"])
    of: Text = Field(description="The group.", examples=["web"])
    per: Text = Field(description="The label whose values are the domains, or `server`.", examples=["zone"])

    @model_validator(mode="after")
    def _others(self) -> Self:
        if self.of in self.near:
            raise wrong("is the group itself", "Requests of one group stay together by {together: ...}.", ("near",))
        return self

    @property
    def rule(self) -> Rule:
        """The rule as the ledger has it."""
        return Near(self.of, tuple(sorted(set(self.near))), self.per)


def _servers_or_where(value: Any) -> str:
    return "<where>" if isinstance(value, Mapping) else "<servers>"


SomeServers: TypeAlias = Annotated[
    Annotated[tuple[Index, ...], Field(min_length=1), Tag("<servers>")]
    | Annotated[Where, Field(min_length=1), WithJsonSchema({**WHERE, "minProperties": 1}), Tag("<where>")],
    Discriminator(_servers_or_where),
    Shown("list of whole number from 0, or {label: value, or list of values}"),
]


class DrainRule(Model):
    """Servers that take no more requests from a time on; what is there stays to its end."""

    drain: SomeServers = Field(description="The servers, by number or by labels.", examples=["[3, 4]", "{zone: a}"])
    at: Time = Field(default=0.0, description="From when on, counted from the first request.", examples=["1 d"])

    @property
    def rule(self) -> Rule:
        """The rule as the ledger has it."""
        if isinstance(self.drain, dict):
            return Drain(where=where_of(self.drain), at=self.at)
        return Drain(self.drain, at=self.at)


def empties(specs: Sequence[Any]) -> bool:
    """Tell whether any of these rules empties servers while a run goes on."""
    return any(isinstance(spec, DrainRule) and spec.at > 0 for spec in specs)


_FORMS = {
    "at_most": AtMostRule,
    "spread": SpreadRule,
    "apart": ApartRule,
    "together": TogetherRule,
    "near": NearRule,
    "drain": DrainRule,
}


def _form_of_rule(value: Any) -> str:
    for key, kind in _FORMS.items():
        if isinstance(value, kind) or (isinstance(value, Mapping) and value.get(key) is not None):
            return f"<{key}>"
    return "<other>"


def _no_rule(value: Any) -> Any:
    raise wrong("says no rule", f"Give one of {', '.join(_FORMS)}, like {{at_most: 2, of: web, per: zone}}.")


PlacementRule: TypeAlias = Annotated[
    Annotated[AtMostRule, Tag("<at_most>")]
    | Annotated[SpreadRule, Tag("<spread>")]
    | Annotated[ApartRule, Tag("<apart>")]
    | Annotated[TogetherRule, Tag("<together>")]
    | Annotated[NearRule, Tag("<near>")]
    | Annotated[DrainRule, Tag("<drain>")]
    | Annotated[Any, BeforeValidator(_no_rule), WithJsonSchema({"not": {}}), Tag("<other>")],
    Discriminator(_form_of_rule),
    Shown(
        "[AtMostRule](#atmostrule), [SpreadRule](#spreadrule), [ApartRule](#apartrule), "
        "[TogetherRule](#togetherrule), [NearRule](#nearrule) or [DrainRule](#drainrule)"
    ),
]

Keys: TypeAlias = tuple[str | int, ...]
Values: TypeAlias = Mapping[str, set[str] | None]
"""Of every label the values that servers have; `None` where a file says them."""


def check_where(where: Mapping[str, Iterable[str]], values: Values, at: Keys) -> None:
    """Refuse labels that no server has, and values that none has of them."""
    for label, wanted in where.items():
        if label == SERVER:
            remedy = "Rules go by it in `per` and `over`. Give the servers a label of another name."
            raise wrong("is what each server is by itself", remedy, (*at, label))
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
    checks: list[Callable[[], None]] = [partial(check_where, placed.where, values, (*at, "where"))]

    def tolerated(taint: str) -> None:
        if taints is not None and taint not in taints:
            raise wrong("no server has this taint", suggest(taint, taints), (*at, "tolerates"), taint)

    together(*checks, *(partial(tolerated, taint) for taint in placed.tolerates))


def check_rule(
    spec: Any, at: Keys, values: Values, everywhere: set[str] | None, groups: set[str] | None, size: int | None
) -> None:
    """Refuse a rule about what there is not.

    `everywhere` are the labels that all servers have, `groups` those of the requests, `size` the number of servers;
    each None where a file says it.
    """
    if isinstance(spec, DrainRule):
        return check_servers(spec.drain, values, size, (*at, "drain"))
    checks: list[Callable[[], None]] = []
    for key in ("of", "spread", "apart", "together", "near"):
        named = getattr(spec, key, ())
        for group in [named] if isinstance(named, str) else named:
            every = group == EVERY and (key == "spread" or isinstance(spec, AtMostRule) or named == (EVERY,))
            checks.append(partial(_known_group, group, every and key != "near", groups, (*at, key)))
    key = "over" if isinstance(spec, SpreadRule) else "per"
    checks.append(partial(_known_label, getattr(spec, key), values, everywhere, (*at, key)))
    return together(*checks)


def check_rules(specs: Sequence[Any], values: Values, everywhere: set[str] | None, size: int | None) -> None:
    """Refuse rules that keep requests out for ever: each could be kept, but not all of them."""
    closed: set[int] = set()
    for number, spec in enumerate(specs):
        if isinstance(spec, DrainRule) and not spec.at:
            if isinstance(spec.drain, dict):
                known = {label: values.get(label) for label in spec.drain if label in (everywhere or ())}
                whole = all((known.get(label) or {label, ""}) <= {*wanted} for label, wanted in spec.drain.items())
            else:
                closed |= {*spec.drain}
                whole = size is not None and len(closed) == size
            if whole:
                remedy = "Leave some out, or let it begin later, as at: 1 d."
                raise wrong("leaves no server that takes requests", remedy, ("placement", number, "drain"))
    near = [(number, spec) for number, spec in enumerate(specs) if isinstance(spec, NearRule)]
    late = {spec.of for _, spec in near}
    """The groups of which none can be the first."""
    while True:
        wait = {spec.of for _, spec in near if late.issuperset(spec.near)}
        if wait == late:
            break
        late = wait
    for number, spec in near:
        if spec.of in late and late.issuperset(spec.near):
            names = " and ".join(sorted(late))
            remedy = "Let the first of one of these groups go where it likes: take out one of the rules."
            raise wrong(f"none can be the first of {names}, which wait for one another", remedy, ("placement", number))


def _known_group(group: str, every: bool, groups: set[str] | None, at: Keys) -> None:
    if group == EVERY and not every:
        raise wrong("does not stand for every group here", "Name the groups.", at, group)
    if group != EVERY and groups is not None and group not in groups:
        raise wrong("no request is of this group", suggest(group, groups), at, group)


def _known_label(label: str, values: Values, everywhere: set[str] | None, at: Keys) -> None:
    if label == SERVER:
        return
    if label not in values:
        raise wrong("the servers have no such label", suggest(label, [*values, SERVER]), at, label)
    if everywhere is not None and label not in everywhere:
        raise wrong("some servers have no such label", "Give it to all servers, or take another.", at, label)
