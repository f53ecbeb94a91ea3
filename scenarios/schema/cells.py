"""The schema of `cluster.cells`."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from simcore.fields import Count, Model, Text, Time, wrong
from simcore.rules import Router


class CellsSpec(Model):
    """Cells of a cluster: each decides for itself what a router sends it, and drops what does not fit into it."""

    count: Count = Field(
        description="How many. The servers, as they are written, are divided as equally as can be.", examples=[4]
    )
    router: Router = Field(
        default="least-loaded",
        description="Where a request goes: into the cell that is least loaded, into the less loaded of two that are "
        "drawn for each request, or by a label, into the one where all with the same value go.",
        examples=["two-choices"],
    )
    by: Text | None = Field(
        default=None, description="The label of requests that `affinity` goes by.", examples=["tenant"]
    )
    window: Time = Field(
        default=60.0,
        description="The router sees how loaded cells were at the last multiple of this time, and what it has sent "
        "since. Between two multiples the cells go on side by side. With 0 it sees them as they are, one request after "
        "another.",
        examples=["5 min"],
    )

    @model_validator(mode="after")
    def _label(self) -> Self:
        if self.router == "affinity" and self.by is None:
            raise wrong("is missing", "Say which label of requests affinity goes by, like `by: tenant`.", ("by",))
        if self.router != "affinity" and self.by is not None:
            raise wrong("is for affinity", "Remove it, or write `router: affinity`.", ("by",))
        return self
