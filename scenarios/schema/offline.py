"""The schema of a `workload:` that is there at once and stays: offline placement, as an online allocator meets it."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from scenarios.schema.kind import WorkloadKind
from scenarios.schema.use import Using
from simcore.errors import suggest
from simcore.fields import Count, Text, wrong
from simcore.types import Workload
from workloads.offline import FITTED, NAMES, OPEN, WIDEST, machines


class Offline(Using, WorkloadKind):
    """Machines that all arrive at time 0, in the order of the input, and never end."""

    offline: Text = Field(
        description=f"The input: {', '.join((*FITTED, *OPEN))}, or one of the literature's, such as `u120`. Resources "
        f"are cpu, mem, disk, net_out and net_in (`{'`, `'.join(FITTED)}`, as shares of a server), `a` and `b` (`ct1` "
        "to `ct10`, `planted`), or `size`.",
        examples=["pgrank"],
        json_schema_extra={"enum": list(NAMES)},
    )
    requests: Count | None = Field(
        default=None,
        description="How many machines; by default the input's own number, of `ct1` to `ct10` and `planted` 200.",
        examples=[100],
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.offline not in NAMES:
            raise wrong("unknown offline input", suggest(self.offline, NAMES), ("offline",), self.offline)
        if self.offline in OPEN and (self.requests or 0) > WIDEST:
            raise wrong("is too many", f"Give {WIDEST} at most.", ("requests",), self.requests)
        return self

    def draw(self, resources: tuple[str, ...], seed: int) -> Workload:
        """Draw the machines of a seed, for a cluster's resources."""
        count = self.requests if self.offline in OPEN else None
        return machines(self.offline, seed, count).requests(resources, self.requests)
