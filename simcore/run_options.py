"""What a scenario says of a run and the run takes as it is: how servers are shared, and the pace of its requests."""

from __future__ import annotations

from pydantic import Field

from binwright.simcore.fields import Model, PositiveTime


class Pacing(Model):
    """Requests are offered at a pace, instead of when the workload says that they arrive."""

    step: PositiveTime = Field(1.0, description="The next request is offered this long after the last.")
    await_room: bool = Field(
        False,
        strict=True,
        description="Before that, wait until all servers together have room for it.",
    )
