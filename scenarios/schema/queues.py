"""The schema of several queues: whose requests go first, and how much of each may run at once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated

from pydantic import Field

from binwright.scenarios.schema.server_files import known_resources
from binwright.scenarios.schema.yaml_source import Keys
from binwright.simcore.fields import Amounts, Model, PositiveTime, Shown, Where, together, wrong

COUNTED = "requests"
"""What is limited beside resources: how many run."""


class Queue(Model):
    """A queue, like a partition of Slurm. A request goes into the first queue that takes it.

    A request that `of` allows and that stays longer than `longest` is refused, unless a later queue takes it. Others
    pass a request that a limit keeps waiting. A gang counts as one request, with all its parts.
    """

    of: Where = Field(
        default_factory=dict,
        description="Takes requests with one of these values of every label, or of `group`; by default all.",
        examples=["{queue: [short, debug]}"],
    )
    priority: Annotated[int, Field(strict=True), Shown("whole number")] = Field(
        default=0, description="Requests of the queue with the highest priority go first.", examples=[10]
    )
    longest: PositiveTime | None = Field(
        default=None,
        description="Takes no request that stays longer, by the time that agents know.",
        examples=["2 h"],
    )
    running: Amounts = Field(
        default_factory=dict,
        description="The most that runs at once: `requests`, and amounts of resources.",
        examples=["{requests: 20, cpu: 128}"],
    )
    each: dict[str, Amounts] = Field(
        default_factory=dict,
        description="The most that runs at once of each value of a label, such as each tenant.",
        examples=["{tenant: {requests: 2}}"],
    )


def check_queues(queues: Mapping[str, Queue], resources: tuple[str, ...], hidden: bool, at: Keys) -> None:
    """Refuse limits of what the cluster lacks, and times that nobody knows."""

    def check(name: str, one: Queue) -> None:
        for keys, limits in (
            (("running",), one.running),
            *((("each", label), said) for label, said in one.each.items()),
        ):
            here = (*at, name, *keys)
            known_resources([each for each in limits if each != COUNTED], resources, here, (COUNTED,))
            if (most := limits.get(COUNTED, 1.0)) != int(most):
                raise wrong("is not a whole number", "Write one from 0.", (*here, COUNTED), most)
            if not limits and keys != ("running",):
                raise wrong("limits nothing", "Write a limit, like requests: 2.", here)
        if one.longest and hidden:
            remedy = "Write `knowledge: {lifetimes: known}`, or how they are predicted."
            raise wrong("agents do not know how long requests stay", remedy, (*at, name, "longest"))

    together(*(partial(check, name, one) for name, one in queues.items()))
