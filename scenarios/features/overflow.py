"""What happens to a request that fits nowhere, where nobody moves or gives way for it."""

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from binwright.scenarios.features.expansion import Expand
from binwright.scenarios.features.queues import Queue
from binwright.simcore.fields import Model, OneOf, Shown, whole

MOST_TOGETHER = 100_000
"""Requests that are offered at once."""
Word: TypeAlias = Literal["drop", "wait", "stop"]
"""What becomes of a request that fits nowhere, where it takes no more than a word."""


class Wait(Model):
    """Requests that wait are offered together, and whoever gets a place leaves the line."""

    together: Annotated[
        int, Field(strict=True, ge=1, le=MOST_TOGETHER), BeforeValidator(whole), Shown("whole number from 1")
    ]
    """So many at most, from the head of the line on."""
    one_by_one: bool = False
    """After every single arrival and end (at one instant arrivals first, then ends in the order of placement);
    otherwise once for each instant, after its ends."""

    queues: dict[str, Queue] = Field(
        default_factory=dict, examples=["{short: {longest: 2 h, priority: 1}, long: {running: {cpu: 64}}}"]
    )
    """Several queues, with limits and priorities."""


class AfterRoom(OneOf):
    """What happens when no room can be made."""

    what: ClassVar[str] = "way to overflow"
    expand: Expand | None = Field(default=None, description="Servers are added.", examples=["{by: 10, limit: 110}"])


class AfterPreemption(AfterRoom):
    """What happens when nobody less urgent can give way."""

    wait: Wait | None = Field(None, examples=["{together: 32}"])
    """Requests wait, and are offered together."""
