"""Placement: where requests may lie, by labels and taints, what requests say, and rules; some empty servers."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple, Self, TypeAlias

from pydantic import BeforeValidator, Field

from binwright.fabric.ledger import MakeBook
from binwright.scenarios.features.feature import Feature, Named
from binwright.scenarios.features.placement.book import RuleBook
from binwright.scenarios.features.placement.rules import Drain, Rule, Spread, groups_of
from binwright.scenarios.features.server_labels import SERVER, ServerLabels
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Keys, Model, Names, Number, Shown, Text, Where, wrong
from binwright.simcore.roles import Role, where_of
from binwright.simcore.unions import ByKey

Labels: TypeAlias = Annotated[dict[str, Text], Shown("{label: text}")]


def _priority(value: Any) -> Any:
    """Read a number or a class as the only one of a mix."""
    return {str(key): each for key, each in (value.items() if isinstance(value, dict) else ((value, 1),))}


PriorityMix: TypeAlias = Annotated[
    dict[str, Number],
    BeforeValidator(_priority),
    Shown("whole number, class, or {class: weight}"),
]


class PlacementKeys(Model):
    """What requests say to the rules of placement."""

    group: Text = Field(default="", description="The group, for rules of `placement`.")
    where: Where = Field(default_factory=dict, examples=["{zone: [a, b], kind: large}"])
    """Labels that the server must have, each with one of these values."""
    tolerates: Names = Field(default=(), description="Taints of servers that it tolerates.", examples=["[spot]"])
    priority: PriorityMix = Field(default_factory=dict, examples=["production", "{production: 1, batch: 3}"])
    """A number, higher is more urgent, a class of `priorities`, or several, drawn by weight; by default the label
    `priority`, or 0."""

    @property
    def role(self) -> Role:
        """What the requests are to rules of placement."""
        tolerates = tuple(sorted(set(self.tolerates)))
        return Role(self.group, where_of(self.where), tolerates, tuple(self.priority.items()))


class WeightedRole(PlacementKeys):
    """What some of the requests say to the rules of placement."""

    weight: Number = Field(default=1, description="How often, in relation to the others.", examples=[3])


KINDS = ("at_most", "spread", "apart", "together", "near", "drain")
PlacementRule: TypeAlias = Annotated[Rule, ByKey(KINDS, "says no rule", "{at_most: 2, of: web, per: zone}")]


class KnownServers(NamedTuple):
    """Says what servers have: the `values` of every label, None where added ones have more; the labels `everywhere`.

    `size` is how many there are, None where that is not known before the run.
    """

    values: Mapping[str, set[str] | None]
    everywhere: set[str]
    taints: set[str]
    size: int | None

    @classmethod
    def of(cls, labels: ServerLabels) -> Self:
        """Read all of it from the labels of servers."""
        values: dict[str, set[str] | None] = {name: {*each.tolist()} - {""} for name, each in labels.labels.items()}
        everywhere = {name for name, each in labels.labels.items() if (each != "").all()}
        return cls(values, everywhere, set(labels.taints), labels.servers)

    def check_where(self, where: Mapping[str, Iterable[str]], at: Keys) -> None:
        """Refuse labels that no server has, and values that none has of them."""
        for label, wanted in where.items():
            if label not in self.values:
                raise wrong("the servers have no such label", suggest(label, self.values), (*at, label))
            known = self.values[label]
            for value in wanted:
                if known is not None and value not in known:
                    raise wrong(f"no server has this {label}", suggest(value, known), (*at, label), value)

    def check_servers(self, servers: Sequence[int] | Mapping[str, Iterable[str]], at: Keys) -> None:
        """Refuse servers that there are not, by their numbers or by labels."""
        if isinstance(servers, Mapping):
            self.check_where(servers, at)
        elif self.size is not None and (more := [server for server in servers if server >= (self.size or 0)]):
            raise wrong("there is no such server", f"Servers are 0 to {self.size - 1}.", at, more[0])

    def check_label(self, label: str, at: Keys) -> None:
        """Refuse a label that some servers lack."""
        if label not in (SERVER, *self.everywhere):
            problem = f"{'some' if label in self.values else 'the'} servers have no such label"
            raise wrong(problem, suggest(label, [*self.everywhere, SERVER]), at, label)

    def check(self, scenario: Any) -> None:
        """Refuse what rules and requests of a scenario say of what there is not."""
        workload, known = scenario.workload, self._replace(size=None) if scenario.grows else self
        for number, rule in enumerate(scenario.placement):
            if isinstance(rule, Drain):
                known.check_servers(rule.drain, ("placement", number, "drain"))
            else:
                self.check_label(rule.per, ("placement", number, "over" if isinstance(rule, Spread) else "per"))
        for at, placed in workload.placed:
            self.check_where(placed.where, ("workload", *at, "where"))
            for taint in placed.tolerates:
                if taint not in self.taints:
                    at = ("workload", *at, "tolerates")
                    raise wrong("no server has this taint", suggest(taint, self.taints), at, taint)
        for at, parts in workload.gangs:
            for label, keys in parts.labels.items():
                self.check_label(label, ("workload", *at, *keys))


class _Keys(Model):
    placement: tuple[PlacementRule, ...] = Field(
        default=(),
        examples=["[{at_most: 2, of: web, per: zone}, {spread: db, over: rack}, {apart: [web, db], per: server}]"],
    )
    """Rules for where requests may lie. Labels and taints need none."""


class _Feature(Feature):
    key, keys = "placement", {"": _Keys}

    def section(self, scenario: Any) -> bool:
        return bool(scenario.ruled_by) or any(each.where or each.tolerates for _, each in scenario.workload.placed)

    def check(self, scenario: Any) -> None:
        scenario.cluster.known_servers.check(scenario)

    def books(self, scenario: Any, labels: ServerLabels) -> Mapping[str, MakeBook]:
        return {"rules": partial(RuleBook, labels=labels, rules=scenario.placement)} if scenario.ruled_by else {}

    def names(self, scenario: Any) -> list[Named]:
        rules = enumerate(scenario.placement)
        return [(("placement", number, key), "group", name) for number, rule in rules for key, name in groups_of(rule)]


FEATURE = _Feature()
