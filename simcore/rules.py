"""The rules of a run: the pace of its requests, and what becomes of those that fit nowhere."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from binwright.simcore.fields import Model, PositiveTime


@dataclass(frozen=True, slots=True)
class Overflow:
    """What happens when no placement is found.

    `drop` the request, let it `wait` at the head of the line, `stop` the run, or `expand` by that many servers and
    ask again; when `limit` servers are there, `then` takes over.

    With `together`, that many at the head of the line that waits are offered at once, and whoever gets a place leaves
    it. `one_by_one` offers them after every single arrival and end, of those at one instant the arrivals first, and
    then the ends in the order of placement.

    With `preempt`, less urgent requests that run are evicted first, if that makes room, and the line goes by priority.
    """

    mode: Literal["drop", "wait", "stop", "expand"] = "drop"
    by: int = 0
    limit: int = 0
    then: Literal["drop", "stop"] = "stop"
    together: int = 0
    one_by_one: bool = False
    preempt: bool = False

    def __post_init__(self) -> None:
        if self.mode == "expand" and self.by < 1:
            raise ValueError("expansion by less than one server never ends")


class Pacing(Model):
    """Requests are offered at a pace, instead of when the workload says that they arrive."""

    step: PositiveTime = Field(1.0, description="The next request is offered this long after the last.")
    await_room: bool = Field(False, strict=True)
    """Before that, wait until all servers together have room for it."""
