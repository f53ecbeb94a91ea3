"""What a scenario says of a run and the run takes as it is: its cells, and the pace of its requests."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, Self

from pydantic import Field, model_validator

from binwright.simcore.errors import UserError
from binwright.simcore.fields import Count, Model, PositiveTime, Text, Time, wrong

Router = Literal["least-loaded", "two-choices", "affinity"]
"""Who chooses the cell of a request: see `Cells`."""
ContentionRule = Literal["proportional", "priority"]
"""Who gets how much where requests use more than a server has."""


class Cells(Model):
    """Cells of a cluster: each decides for itself what a router sends it, and drops what does not fit into it.

    The load of a cell is the largest share of a resource that is taken. Ties go to the first cell.
    """

    count: Count = Field(
        description="How many. The servers are divided, in order, as equally as possible.", examples=[4]
    )
    router: Router = Field(
        default="least-loaded",
        description="Where a request goes: to the cell with least load, to the less loaded of two drawn ones, or to "
        "the cell of its value of the label `by`.",
        examples=["two-choices"],
    )
    by: Text | None = Field(
        default=None, description="The label of requests that `affinity` goes by.", examples=["tenant"]
    )
    window: Time = Field(
        default=60.0,
        description="The router knows the loads at the last multiple of this time, and what it has sent since; "
        "meanwhile cells run in parallel. With 0 it knows the loads at each request.",
        examples=["5 min"],
    )

    @model_validator(mode="after")
    def _label(self) -> Self:
        if self.router == "affinity" and self.by is None:
            raise wrong("is missing", "Say which label of requests affinity goes by, like `by: tenant`.", ("by",))
        if self.router != "affinity" and self.by is not None:
            raise wrong("is for affinity", "Remove it, or write `router: affinity`.", ("by",))
        return self

    def check(self, labels: Collection[str]) -> None:
        """Raise a `UserError` if requests with these labels lack the one that affinity goes by."""
        if self.router == "affinity" and self.by not in labels:
            remedy = f"Name a label of the requests; they have {', '.join(labels) or 'none'}."
            raise UserError("requests have no such label", key="cluster.cells.by", value=self.by, remedy=remedy)


class Pacing(Model):
    """Requests are offered at a pace, instead of when the workload says that they arrive."""

    step: PositiveTime = Field(1.0, description="The next request is offered this long after the last.")
    await_room: bool = Field(
        False,
        strict=True,
        description="Before that, wait until all servers together have room for it.",
    )
