"""The schema of what happens when a request fits nowhere."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeAlias, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag

from scenarios.schema.expand import Expand
from scenarios.schema.moves import AfterRoom, MakeRoom, Word
from simcore.fields import Model, OneOf, Shown, Time, whole, word_or

MOST_TOGETHER = 1000
"""Requests that are offered at once."""


class Wait(Model):
    """Requests that wait are offered together, and whoever gets a place leaves the line."""

    together: Annotated[
        int, Field(strict=True, ge=1, le=MOST_TOGETHER), BeforeValidator(whole), Shown("whole number from 1")
    ] = Field(description="So many at most, from the head of the line on.", examples=[32])
    window: Time = Field(
        default=0.0, description="Only at multiples of this time, so that requests pile up.", examples=["30 s"]
    )


class OtherOverflow(OneOf):
    """A way to overflow."""

    what: ClassVar[str] = "way to overflow"
    expand: Expand | None = Field(default=None, description="Servers are added.", examples=["{by: 10, limit: 110}"])
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


def _form_of_overflow(value: Any) -> str:
    return "<more>" if isinstance(value, dict | OtherOverflow) else "<word>"


Overflow: TypeAlias = Annotated[
    Annotated[Word, BeforeValidator(word_or(OtherOverflow, *get_args(Word))), Tag("<word>")]
    | Annotated[OtherOverflow, Tag("<more>")],
    Discriminator(_form_of_overflow),
    Shown(
        "`drop`, `wait`, `stop`, {expand: [Expand](#expand)}, {wait: [Wait](#wait)} or {make_room: "
        "[MakeRoom](#makeroom)}"
    ),
]
