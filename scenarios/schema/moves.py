"""The schema of what moves requests that run: who plans, when, and how a move is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import Field, model_validator

from binwright.agents import MOVERS
from binwright.scenarios.schema.cluster import ClusterSpec
from binwright.scenarios.schema.registered import Registered
from binwright.simcore.errors import suggest
from binwright.simcore.fields import (
    Count,
    DataRate,
    Model,
    PositiveTime,
    Share,
    Text,
    Time,
    Where,
    wrong,
)
from binwright.simcore.json_schema import Schema, given
from binwright.simcore.moves import Mover
from binwright.simcore.registry import Registry

MostMoves: TypeAlias = Annotated[Count, Field(le=1_000_000)]


class MoverSpec(Registered):
    """Who plans moves: a name, `package.module:Class` or `file.py:Class`, or one of these with its options."""

    registry: ClassVar[Registry] = MOVERS
    what: ClassVar[str] = "mover"
    by_word: ClassVar[bool] = True
    base: ClassVar[type] = Mover

    @classmethod
    def check(cls, name: str, options: Any) -> None:
        super().check(name, options)
        if MOVERS.load(name).plan is Mover.plan:
            remedy = "Write a method plan(self, view, running, moves, request=None) that returns a list of moves."
            raise wrong("plan is missing", remedy, (name,))


def usual(name: str) -> MoverSpec:
    """Name the mover that is meant without a word, and load nothing for it yet."""
    extra: dict[str, Any] = {name: {}}
    return MoverSpec.model_construct(None, **extra)


class Rescheduling(Model):
    """Requests that run are moved every so often, when servers are to be emptied, or when they use too much."""

    every: PositiveTime | None = Field(
        None, description="At multiples of this time, counted from the first request.", examples=["1 h"]
    )
    on_drain: bool = Field(
        False,
        strict=True,
        description="Move off what is on servers when a rule `drain` begins to hold.",
    )
    on_load: Share | None = Field(
        None,
        description="After a step of `use`, move one request off each server that used more than this share.",
        examples=["100 %"],
    )
    moves: MostMoves = Field(description="At most so many at a time.", examples=[50])
    mover: MoverSpec = Field(usual("agent"), description="Who plans them.", examples=["{agent: {agent: first-fit}}"])
    within: PositiveTime | None = Field(
        None, description="Plans that take longer are counted (`plans_late`).", examples=["5 s"]
    )

    forms: ClassVar[Sequence[Schema]] = (
        given("every"),
        given("on_load"),
        {"required": ["on_drain"], "properties": {"on_drain": {"const": True}}},
    )

    @model_validator(mode="after")
    def _sometime(self) -> Self:
        if self.every is None and self.on_load is None and not self.on_drain:
            remedy = "Say how often, like every: 1 h, or write on_drain: true, or on_load: 100 %."
            raise wrong("is missing", remedy, ("every",))
        return self


class MovesSpec(Model):
    """How a move is made. By default it takes no time. A request on its way holds both places."""

    bandwidth: DataRate | None = Field(
        None,
        description="A move takes as long as the request's memory takes at this rate.",
        examples=["10 Gbps"],
    )
    resource: Text | None = Field(
        None, description="The memory: `mem`, or `memory`, where the cluster has that.", examples=["mem"]
    )
    downtime: Time = Field(
        0.0, description="Each move takes this time in addition, while the request stands still.", examples=["1 s"]
    )
    at_once: Count | None = Field(None, description="At most so many are on the way at a time.", examples=[4])
    per_hour: Count | None = Field(None, description="At most so many begin within any hour.", examples=[100])
    fixed: tuple[Where, ...] = Field(
        (),
        description="Requests that may not be moved, by values of labels, or of `group`.",
        examples=["[{group: [db]}, {tenant: [acme]}]"],
    )

    def memory(self, resources: Sequence[str]) -> str | None:
        """Return the resource that moves carry, if it is known."""
        return self.resource or next((name for name in ("mem", "memory") if name in resources), None)

    def check_against(self, resources: Sequence[str]) -> None:
        """Refuse what does not go with the cluster's resources."""
        if self.resource is not None and self.resource not in resources:
            remedy = suggest(self.resource, resources)
            raise wrong("the cluster has no such resource", remedy, ("moves", "resource"), self.resource)
        if self.bandwidth is not None and self.memory(resources) is None:
            remedy = "Say of which resource moves carry what a request holds: moves: {resource: ...}."
            raise wrong("the cluster has neither mem nor memory", remedy, ("moves", "bandwidth"))


def check_moves(cluster: ClusterSpec, paced: bool, at: tuple[str, ...]) -> None:
    """Refuse moves, which are asked for `at` some keys, where they cannot be made."""
    if cluster.network:
        remedy = "Links are reserved for requests where they lie: remove this key, or the network."
        raise wrong("does not go with a network", remedy, at)
    if paced:
        raise wrong("does not go with requests that are moved", "Remove one of the two.", ("pacing",))
