"""The schema of what happens when a request fits nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from binwright.scenarios.schema.moves import MostMoves, MoverSpec, usual
from binwright.scenarios.schema.queues import Queue
from binwright.scenarios.schema.yaml_source import Keys
from binwright.simcore.fields import (
    Count,
    Index,
    Model,
    OneOf,
    PositiveTime,
    Share,
    Shown,
    Text,
    Time,
    Where,
    checked,
    whole,
    wrong,
)
from binwright.simcore.json_schema import Schema, given
from binwright.simcore.rules import VICTIM_RULES
from binwright.simcore.unions import PlainOrMapping

MOST_TOGETHER = 100_000
"""Requests that are offered at once."""
Word: TypeAlias = Literal["drop", "wait", "stop"]
"""What becomes of a request that fits nowhere, where it takes no more than a word."""


class Expand(Model):
    """Add servers each time a request fits nowhere."""

    by: Count = Field(description="Servers added at a time, like those of the last group.", examples=[10])
    limit: Count = Field(description="The cluster never has more servers than this.", examples=[110])
    then: Literal["drop", "stop"] = Field(
        default="stop", description="What happens when a request fits nowhere at the limit."
    )


class Wait(Model):
    """Requests that wait are offered together, and whoever gets a place leaves the line."""

    together: Annotated[
        int, Field(strict=True, ge=1, le=MOST_TOGETHER), BeforeValidator(whole), Shown("whole number from 1")
    ] = Field(description="So many at most, from the head of the line on.", examples=[32])
    window: Time = Field(
        default=0.0, description="Only at multiples of this time, so that requests pile up.", examples=["30 s"]
    )
    one_by_one: bool = Field(
        default=False,
        description="After every single arrival and end (at one instant arrivals first, then ends in the order of "
        "placement); otherwise once for each instant, after its ends.",
    )

    queues: dict[str, Queue] = Field(
        default_factory=dict,
        description="Several queues, with limits and priorities.",
        examples=["{short: {longest: 2 h, priority: 1}, long: {running: {cpu: 64}}}"],
    )

    @model_validator(mode="after")
    def _at_every_event(self) -> Self:
        if self.one_by_one and self.window:
            raise wrong("does not go with one_by_one", "Remove one of the two.", ("window",))
        return self


class AfterRoom(OneOf):
    """What happens when no room can be made."""

    what: ClassVar[str] = "way to overflow"
    expand: Expand | None = Field(default=None, description="Servers are added.", examples=["{by: 10, limit: 110}"])


class MakeRoom(Model):
    """Requests that run are moved to make room for one that fits nowhere."""

    moves: MostMoves = Field(description="At most so many for one request.", examples=[3])
    mover: MoverSpec = Field(usual("make-room"), description="Who plans them.")
    within: PositiveTime | None = Field(
        None, description="Plans that take longer are counted (`plans_late`).", examples=["100 ms"]
    )
    then: Annotated[
        Word | AfterRoom, PlainOrMapping(), Shown("`drop`, `wait`, `stop` or {expand: [Expand](#expand)}")
    ] = Field("drop", description="What happens when no room can be made.")


class AfterPreemption(AfterRoom):
    """What happens when nobody less urgent can give way."""

    wait: Wait | None = Field(
        default=None, description="Requests wait, and are offered together.", examples=["{together: 32}"]
    )


class Budget(Model):
    """A bound on how many requests of some kind are evicted, and not back, at a time."""

    of: Where = Field(
        description="Requests with one of these values of every label, or of `group`.", examples=["{group: [web]}"]
    )
    at_most: Index | None = Field(default=None, description="So many.", examples=[2])
    share: Share | None = Field(
        default=None, description="Or this share of all of them that run or wait again.", examples=["10 %"]
    )

    forms: ClassVar[Sequence[Schema]] = (given("at_most"), given("share"))

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.at_most is None) == (self.share is None):
            raise wrong("needs either at_most or share", "Give one of them, like at_most: 1.")
        return self

    @property
    def most(self) -> tuple[float, bool]:
        """How many, and whether that is a share."""
        return (self.share, True) if self.share is not None else (self.at_most or 0, False)


class Preempt(Model):
    """Less urgent requests are evicted where that costs least, to make room for one that fits nowhere."""

    victims: Text = Field(
        default="lowest",
        description="The cost of a victim: its priority (`lowest`), its time so far (`youngest`), the work lost "
        "(`cheapest`), one (`fewest`), or a function `(view, request, victims)`. Costs are summed; of "
        "the first two the largest counts.",
        examples=["cheapest", "mine.py:cost"],
    )
    grace: Time = Field(default=0.0, description="Victims run on for this time after their notice.", examples=["30 s"])
    then: Literal["requeue", "drop"] = Field(
        default="requeue",
        description="Victims are offered again, first of their priority, and meet `otherwise` where they fit nowhere; "
        "or they are lost.",
    )
    checkpoint: PositiveTime | None = Field(
        default=None,
        description="Victims resume from a checkpoint every so often; by default they begin anew.",
        examples=["10 min"],
    )
    budgets: tuple[Budget, ...] = Field(
        default=(), description="How many may be out at a time.", examples=["[{of: {group: [web]}, at_most: 1}]"]
    )
    otherwise: Annotated[
        Word | AfterPreemption,
        PlainOrMapping(),
        Shown("`drop`, `wait`, `stop`, {expand: [Expand](#expand)} or {wait: [Wait](#wait)}"),
    ] = Field("wait", description="What happens when that makes no room.")

    @model_validator(mode="after")
    def _known(self) -> Self:
        if not callable(checked(VICTIM_RULES.load, ("victims",))(self.victims)):
            raise wrong("is no function", "Name one that takes (view, request, victims).", ("victims",), self.victims)
        return self


class OtherOverflow(AfterPreemption):
    """A way to overflow."""

    preempt: Preempt | None = Field(
        default=None, description="Less urgent requests are evicted.", examples=["{victims: fewest, grace: 30 s}"]
    )
    make_room: MakeRoom | None = Field(
        default=None, description="Requests that run are moved to make room.", examples=["{moves: 3, then: wait}"]
    )


def after_room(overflow: Word | OtherOverflow) -> Word | OtherOverflow | AfterRoom:
    """Find what happens when no room can be made, or is asked for."""
    room, preempt = room_of(overflow), preempt_of(overflow)
    return room.then if room else preempt.otherwise if preempt else overflow


def preempt_of(overflow: Word | OtherOverflow) -> Preempt | None:
    """Find what is said about evicting those who run."""
    return overflow.preempt if isinstance(overflow, OtherOverflow) else None


def expand_of(overflow: Word | OtherOverflow) -> Expand | None:
    """Find what is said about adding servers."""
    last = after_room(overflow)
    return None if isinstance(last, str) else last.expand


def room_of(overflow: Word | OtherOverflow) -> MakeRoom | None:
    """Find what is said about making room."""
    return overflow.make_room if isinstance(overflow, OtherOverflow) else None


def wait_of(overflow: Word | OtherOverflow) -> Wait | None:
    """Find what is said about requests that are offered together."""
    last = after_room(overflow)
    return last.wait if isinstance(last, AfterPreemption) else None


def queues_at(overflow: Word | OtherOverflow) -> Keys:
    """Return the keys of the queues, where there are some."""
    return ("overflow", *(("preempt", "otherwise") if preempt_of(overflow) else ()), "wait", "queues")


Overflow: TypeAlias = Annotated[
    Word | OtherOverflow,
    PlainOrMapping(),
    Shown(
        "`drop`, `wait`, `stop`, {expand: [Expand](#expand)}, {wait: [Wait](#wait)}, {preempt: [Preempt](#preempt)} "
        "or {make_room: [MakeRoom](#makeroom)}"
    ),
]
