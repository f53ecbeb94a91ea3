"""Decides first when jobs start, by what all servers together have, and then where they run: Two-Stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from binwright.agents.availability import AvailabilityProfile
from binwright.agents.heuristics.servers.costs import BestFit
from binwright.agents.running import Running
from binwright.simcore.types import Agent, Placement, Request, View


class TwoStage(Agent):
    """Jobs in their order start as early as the capacity in total allows; those whose turn it is are placed tightly.

    `order` is that of arrival, or the longest first. A job whose turn it is and which fits on no server waits for the
    next chance, and nobody takes its turn until then.
    """

    reference = (
        "Mu'alem and Feitelson 2001, Utilization, predictability, workloads, and user runtime estimates "
        "(conservative backfilling), IEEE TPDS; the two stages are what Wrasse, SoCC 2012, sets itself against"
    )

    needs_lifetimes = True
    orders_line = True

    def __init__(self, order: Literal["arrival", "longest"] = "arrival") -> None:
        self.order = order
        self._place, self._running = BestFit(), Running()

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Begin a run."""
        self._place.start(view, rng)
        self._running = Running()

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request, if it may start now."""
        return next((placement for _, placement in self.decide_line(view, [request])), None)

    def decide_line(self, view: View, requests: Sequence[Request]) -> Iterator[tuple[Request, Placement]]:
        """Place the requests that start now."""
        now = view.now
        profile = AvailabilityProfile(now, view.free.sum(axis=(0, 1)))
        for job in self._running.look(view):
            for _, _, amounts in job.shares:
                profile.ends(job.end, amounts)
        for request in sorted(requests, key=lambda one: -one.duration) if self.order == "longest" else requests:
            start = profile.earliest(request.duration, request.demand)
            profile.take(start, request.duration, request.demand)
            if start == now and (placement := self._place.decide(view, request)) is not None:
                yield request, placement
