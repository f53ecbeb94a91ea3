"""Says where requests may lie: the rules that groups of requests keep."""

from __future__ import annotations

from typing import Annotated, NamedTuple, Self, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from binwright.fabric.mask import BETWEEN, NO_BOUND, SAME, SKEW
from binwright.scenarios.features.server_labels import ServerLabels
from binwright.simcore.fields import Count, Index, Model, Shown, SomeNames, Text, Time, Where, wrong
from binwright.simcore.roles import where_of
from binwright.simcore.types import Flags
from binwright.simcore.unions import PlainOrMapping

EVERY = "*"
"""Stands for every group, each by itself."""
Domain: TypeAlias = Annotated[
    Text, Field(description="The label whose values are the domains, or `server`.", examples=["zone"])
]
Group: TypeAlias = Annotated[Text, Field(description="The group, or `*` for every group by itself.", examples=["web"])]


class Check(NamedTuple):
    """Says of which groups the requests in a domain count, and between which bounds, for a request to go there.

    `EVERY` counts those of all groups, `but` those of one.
    """

    groups: tuple[str, ...]
    low: int = 0
    high: int = NO_BOUND
    kind: int = BETWEEN
    but: str = ""


class AtMost(Model):
    """At most so many requests of a group per domain."""

    at_most: Count = Field(description="How many.", examples=[2])
    of: Group
    per: Domain

    def check(self, group: str, several: bool) -> Check | None:
        """Return what the rule asks of a request of this group."""
        return Check((group,), high=self.at_most - 1) if self.of in (group, EVERY) else None

    def __str__(self) -> str:
        return f"at most {self.at_most} of {self.of} per {self.per}"


class Spread(Model):
    """A group is spread over domains: none has more than `skew` requests above the one that has fewest."""

    spread: Group
    over: Domain
    skew: Count = Field(default=1, description="How many more than in the domain that has fewest.", examples=[1])

    @property
    def per(self) -> str:
        """The label whose values are the domains."""
        return self.over

    def check(self, group: str, several: bool) -> Check | None:
        """Return what the rule asks of a request of this group."""
        return Check((group,), high=self.skew - 1, kind=SKEW) if self.spread in (group, EVERY) else None

    def __str__(self) -> str:
        return f"{self.spread} is spread over {self.over}, skew {self.skew}"


class OfGroups(Model):
    """A rule whose first key names groups."""

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, once each, in order."""
        return tuple(sorted({*getattr(self, next(iter(type(self).model_fields)))}))

    @model_validator(mode="after")
    def _named(self) -> Self:
        if EVERY in self.groups and (len(self.groups) > 1 or isinstance(self, Near)):
            raise wrong("does not stand for every group here", "Name the groups.", (next(iter(self.model_dump())),))
        return self


class Apart(OfGroups):
    """No domain has requests of two of these groups."""

    apart: SomeNames = Field(examples=["[web, db]"])
    """Two groups or more, or `*` for all groups; requests of the same group may meet."""
    per: Domain

    @model_validator(mode="after")
    def _different(self) -> Self:
        if len(self.groups) == 1 and self.groups != (EVERY,):
            remedy = 'Name two or more, or "*" for all. Requests of one group stay apart by {at_most: 1, ...}.'
            raise wrong("names one group alone", remedy, ("apart",))
        return self

    def check(self, group: str, several: bool) -> Check | None:
        """Return what the rule asks of a request of this group."""
        if self.groups == (EVERY,):
            return Check(self.groups, high=0, but=group)
        others = tuple(other for other in self.groups if other != group)
        return Check(others, high=0) if group in self.groups else None

    def __str__(self) -> str:
        return f"{', '.join(self.groups)} apart per {self.per}"


class Together(OfGroups):
    """All requests of these groups that are there at a time are in one domain."""

    together: SomeNames = Field(examples=["web", "[web, cache]"])
    """A group or several, or `*` for every group by itself."""
    per: Domain

    def check(self, group: str, several: bool) -> Check | None:
        """Return what the rule asks of a request of this group.

        Where one request may lie in `several` domains, the group may, too; where not, it is in two domains only while
        one of it moves from the one to the other, and nobody joins it before it has arrived.
        """
        groups = (group,) if self.groups == (EVERY,) else self.groups
        return Check(groups, high=NO_BOUND if several else 1, kind=SAME) if group in groups else None

    def __str__(self) -> str:
        return f"{', '.join(self.groups)} together per {self.per}"


class Near(OfGroups):
    """Requests of a group go only to a domain that has a request of one of some other groups."""

    near: SomeNames = Field(description="The other groups.", examples=["db"])
    of: Text = Field(description="The group.", examples=["web"])
    per: Domain

    @model_validator(mode="after")
    def _others(self) -> Self:
        if self.of in (*self.near, EVERY):
            problem = "is the group itself" if self.of in self.near else "is near to other groups: * is all of them"
            raise wrong(problem, "Requests of one group stay together by {together: ...}.", ("near",))
        return self

    def check(self, group: str, several: bool) -> Check | None:
        """Return what the rule asks of a request of this group."""
        return Check(self.groups, low=1) if group == self.of else None

    def __str__(self) -> str:
        return f"{self.of} near {', '.join(self.groups)} per {self.per}"


SomeServers: TypeAlias = Annotated[
    Annotated[tuple[Index, ...], Field(min_length=1)] | Annotated[Where, Field(min_length=1)],
    PlainOrMapping(),
    Shown("list of whole number from 0, or {label: value, or list of values}"),
]


class Drain(Model):
    """Servers that take no requests for a time; what is there stays until its end."""

    drain: SomeServers = Field(description="The servers, by number or by labels.", examples=["[3, 4]", "{zone: a}"])
    at: Time = Field(default=0.0, description="Since when, counted from the first request.", examples=["1 d"])
    until: Time | None = Field(default=None, examples=["26 h"])
    """Until when they take none; by default they never do again."""

    @model_validator(mode="after")
    def _lasts(self) -> Self:
        if self.until is not None and self.until <= self.at:
            raise wrong("is not after at", "Write a later time, or leave it out: then they stay closed.", ("until",))
        return self

    def of(self, labels: ServerLabels) -> Flags:
        """Tell which servers it is about, bool [servers]."""
        if isinstance(self.drain, dict):
            return labels.matching(where_of(self.drain))
        return np.isin(np.arange(labels.servers), self.drain)

    def __str__(self) -> str:
        where = where_of(self.drain) if isinstance(self.drain, dict) else ()
        servers = "; ".join(f"{label}={'|'.join(values)}" for label, values in where)
        until = "" if self.until is None else f" until {self.until / 3600:g} h"
        return f"drain {servers or ', '.join(map(str, self.drain))}{until}"


Rule: TypeAlias = AtMost | Spread | Apart | Together | Near | Drain


def groups_of(rule: Rule) -> list[tuple[str, str]]:
    """List the groups that a rule names, each with its key."""
    written = rule.model_dump(include={"of", "spread", "apart", "together", "near"})
    pairs = [(key, name) for key, names in written.items() for name in ((names,) if isinstance(names, str) else names)]
    return [(key, name) for key, name in pairs if name != EVERY]
