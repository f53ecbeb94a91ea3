"""The schema of what happens when a request fits nowhere."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag

from scenarios.schema.fields import Count, Model, OneOf, Shown, Time, whole

MOST_TOGETHER = 1000
"""Requests that are offered at once."""


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


class OtherOverflow(OneOf):
    """A way to overflow that takes more than a word."""

    what: ClassVar[str] = "way to overflow"
    expand: Expand | None = Field(default=None, description="Servers are added.", examples=["{by: 10, limit: 110}"])
    wait: Wait | None = Field(
        default=None, description="Requests wait, and are offered together.", examples=["{together: 32}"]
    )


def expand_of(overflow: str | OtherOverflow) -> Expand | None:
    """Find what is said about adding servers."""
    return overflow.expand if isinstance(overflow, OtherOverflow) else None


def wait_of(overflow: str | OtherOverflow) -> Wait | None:
    """Find what is said about requests that are offered together."""
    return overflow.wait if isinstance(overflow, OtherOverflow) else None


def _form_of_overflow(value: Any) -> str:
    return "<more>" if isinstance(value, dict | OtherOverflow) else "<word>"


Overflow: TypeAlias = Annotated[
    Annotated[Literal["drop", "wait", "stop"], Tag("<word>")] | Annotated[OtherOverflow, Tag("<more>")],
    Discriminator(_form_of_overflow),
    Shown("`drop`, `wait`, `stop`, {expand: [Expand](#expand)} or {wait: [Wait](#wait)}"),
]
