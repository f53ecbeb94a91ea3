"""Decides first when jobs start, by what all servers together have, and then where they run: Two-Stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Literal

import numpy as np

from agents.heuristics.servers.best_fit import BestFit
from agents.running import Running
from simcore.types import Agent, Amounts, Ints, Placement, Request, View


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

    def __init__(self, order: Literal["arrival", "longest"] = "arrival") -> None:
        self.order = order
        self._place, self._running = BestFit(), Running()

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Begin a run, in which nothing runs yet."""
        self._place.start(view, rng)
        self._running = Running()

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request, if it may start now."""
        return next((placement for _, placement in self.decide_line(view, [request])), None)

    def decide_line(self, view: View, requests: Sequence[Request]) -> Iterator[tuple[Request, Placement]]:
        """Place the requests that start now."""
        now = view.now
        turns = Turns(now, view.free.sum(axis=(0, 1)))
        for job in self._running.look(view):
            turns.change(job.end, job.demand, 1)
        for request in sorted(requests, key=lambda one: -one.duration) if self.order == "longest" else requests:
            start = turns.earliest(request.duration, request.demand)
            turns.change(start, request.demand, -1)
            turns.change(start + request.duration, request.demand, 1)
            if start == now and (placement := self._place.decide(view, request)) is not None:
                self._running.start(request, placement.shares[0][0], now)
                yield request, placement


class Turns:
    """Keeps how much all servers have free together, from now on: `free` int64 [kinds], and how that changes."""

    def __init__(self, now: float, free: Ints) -> None:
        self._times = [now]
        self._changes = [free.tolist()]

    def change(self, time: float, demand: Amounts, sign: int) -> None:
        """Note that so much more is free from then on, or less."""
        self._times.append(time)
        self._changes.append([sign * amount for amount in demand])

    def earliest(self, duration: float, demand: Amounts) -> float:
        """Return when that much is free for so long; infinity for never."""
        times = np.array(self._times)
        order = np.argsort(times, kind="stable")
        times = times[order]
        free = np.cumsum(np.array(self._changes)[order], axis=0)
        last = np.append(times[1:] > times[:-1], True)  # of all changes at one time
        times, enough = times[last], (free[last] >= demand).all(axis=1)
        short = np.where(enough, inf, times)
        until = np.minimum.accumulate(short[::-1])[::-1]
        found = np.flatnonzero(enough & (until >= times + duration))
        return float(times[found[0]]) if len(found) else inf
