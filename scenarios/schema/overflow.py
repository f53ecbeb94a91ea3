"""The schema of what happens when a request fits nowhere."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from scenarios.schema.moves import MostMoves, MoverSpec, usual
from simcore.fields import Count, Model, OneOf, PositiveTime, Shown, Time, whole, wrong
from simcore.unions import PlainOrMapping

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
        description="After every single arrival and end, of those at one instant the arrivals first, then the ends in "
        "the order of placement; otherwise once for all of an instant, after its ends.",
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


class OtherOverflow(AfterRoom):
    """A way to overflow."""

    wait: Wait | None = Field(
        default=None, description="Requests wait, and are offered together.", examples=["{together: 32}"]
    )
    make_room: MakeRoom | None = Field(
        default=None, description="Requests that run are moved to make room.", examples=["{moves: 3, then: wait}"]
    )


def after_room(overflow: Word | OtherOverflow) -> Word | OtherOverflow | AfterRoom:
    """Find what happens when no room can be made, or is asked for."""
    room = room_of(overflow)
    return room.then if room else overflow


def expand_of(overflow: Word | OtherOverflow) -> Expand | None:
    """Find what is said about adding servers."""
    last = after_room(overflow)
    return None if isinstance(last, str) else last.expand


def room_of(overflow: Word | OtherOverflow) -> MakeRoom | None:
    """Find what is said about making room."""
    return overflow.make_room if isinstance(overflow, OtherOverflow) else None


def wait_of(overflow: Word | OtherOverflow) -> Wait | None:
    """Find what is said about requests that are offered together."""
    return overflow.wait if isinstance(overflow, OtherOverflow) else None


Overflow: TypeAlias = Annotated[
    Word | OtherOverflow,
    PlainOrMapping(),
    Shown(
        "`drop`, `wait`, `stop`, {expand: [Expand](#expand)}, {wait: [Wait](#wait)} or {make_room: "
        "[MakeRoom](#makeroom)}"
    ),
]
