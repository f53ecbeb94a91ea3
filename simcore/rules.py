"""The rules of a run: when requests are offered, and what becomes of those that fit nowhere."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from simcore.errors import UserError


@dataclass(frozen=True, slots=True)
class Overflow:
    """What happens when no placement is found.

    `drop` the request, let it `wait` at the head of the line, `stop` the run, or `expand` by that many servers and
    ask again; when `limit` servers are there, `then` takes over.

    With `together`, that many at the head of the line that waits are offered at once, and whoever gets a place leaves
    it; with a `window` that happens at multiples of so many seconds only.
    """

    mode: Literal["drop", "wait", "stop", "expand"] = "drop"
    by: int = 0
    limit: int = 0
    then: Literal["drop", "stop"] = "stop"
    together: int = 0
    window: float = 0.0

    def __post_init__(self) -> None:
        if self.mode == "expand" and self.by < 1:
            raise ValueError("expansion by less than one server never ends")


Router = Literal["least-loaded", "two-choices", "affinity"]
"""Who chooses the cell of a request: see `Cells`."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Divides the servers, in their order, into `count` cells as equal as can be, each of which decides for itself.

    `router` sends every request to one of them, which drops what does not fit into it: to the one that is
    `least-loaded`, to the less loaded of `two-choices` drawn for each request, or by `affinity` to the one that all
    requests with the same label `by` go to. The load of a cell is the largest share of a resource that is taken, as of
    the last multiple of `window` seconds, and with it what the router has sent there since; with a window of 0, as of
    now. Ties go to the first cell.
    """

    count: int
    router: Router = "least-loaded"
    by: str = ""
    window: float = 60.0

    def check(self, labels: Collection[str]) -> None:
        """Raise a `UserError` if requests with these labels lack the one that affinity goes by."""
        if self.router == "affinity" and self.by not in labels:
            remedy = f"Name a label of the requests; they have {', '.join(labels) or 'none'}."
            raise UserError("requests have no such label", key="cluster.cells.by", value=self.by, remedy=remedy)


@dataclass(frozen=True, slots=True)
class Pacing:
    """Offers a request every `step` seconds, instead of when it arrives in the workload.

    With `await_room` the clock first goes on, releasing, until all that is free in the cluster together could hold the
    request.
    """

    step: float
    await_room: bool = False
