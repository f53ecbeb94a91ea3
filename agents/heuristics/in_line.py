"""Chooses among requests that wait: In-line asks another agent in a certain order, Two-Stage says first who starts."""

from collections.abc import Generator, Iterator, Sequence
from functools import partial
from itertools import chain
from math import inf
from typing import Annotated, Any, Literal

import numpy as np

from binwright.agents.availability import Availability, AvailabilityProfile, Reservation, RunningJobs
from binwright.agents.heuristics import orders
from binwright.agents.heuristics.servers.costs import BestFit, FirstFit
from binwright.agents.rules.on_devices import choosing, nested
from binwright.fabric.network import NetworkView
from binwright.simcore.errors import UserError
from binwright.simcore.types import Agent, Compiled, InOrder, Placement, Refusal, Request, View
from binwright.simcore.unions import PlainOrMapping

Backfilling = Literal["none", "any", "easy", "conservative"]
Answers = Iterator[tuple[Request, Placement | Refusal | None]]


class InLine(Agent):
    """Another agent is asked for the requests that wait, one after another, as their order and backfilling say.

    `agent` is its name, `options` are its own. `order` is one of `agents.heuristics.orders`, a function of one's own,
    or random. `backfilling` says who may start when one before gets no place: nobody, anybody, who does not delay the
    first that waits (easy), or who delays nobody before (conservative). With `commit` the first that waits stays the
    first until it starts, whoever comes; others pass it, in the order of their arrival, if they are over before the
    time at which it could start when its turn came.
    `reserved` has what was promised last, to all parts of a request, by its row.
    """

    reference = (
        "EASY: Lifka 1995, The ANL/IBM SP scheduling system, JSSPP; conservative: Mu'alem and Feitelson 2001, IEEE "
        "TPDS; lists in order: Graham 1969, Bounds on multiprocessing timing anomalies"
    )

    orders_line = True

    def __init__(
        self,
        agent: str = "first-fit",
        order: Annotated[str | orders.OtherOrder, PlainOrMapping()] = "fcfs",
        backfilling: Backfilling = "none",
        commit: bool = False,
        options: dict[str, Any] | None = None,
    ) -> None:
        if commit and backfilling not in ("none", "easy"):
            remedy = "Take `backfilling: none` or `easy`, or leave `commit` out."
            raise UserError("does not go with commit", key="backfilling", value=backfilling, remedy=remedy)
        self.agent = nested(agent, options)
        self.order, self.backfilling, self.commit, self.any_size = order, backfilling, commit, self.agent.any_size
        self.on_devices = self.agent.on_devices
        self._shared = orders.DEFAULTS.get(order) if isinstance(order, str) else order.chosen[1]
        self._score = None if order == "random" or self._shared else orders.order_named(str(order))
        self._reserves = backfilling in ("easy", "conservative")
        ordered = isinstance(order, str) and order in orders.ORDERS and order not in orders.TIMELESS
        self.needs_lifetimes = ordered or self._reserves or self.agent.needs_lifetimes

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Start the agent, with a random stream of its own."""
        self._rng, of_agent = rng.spawn(2)
        self.agent = choosing(self.agent, view)
        self.agent.start(view, of_agent)
        self._places = self.agent
        if self._reserves and not isinstance(view, NetworkView):  # first-fit misses no room
            self._places = choosing(FirstFit(), view)
            self._places.start(view, self._rng)
        self._running = RunningJobs()
        if self._shared and view.accounts:
            self._accounts = view.accounts(self._shared.by, self._shared.half_life)
        self.reserved: dict[int, list[Reservation]] = {}
        self._chosen, self._until = -1, inf

    passes_on = True

    @property
    def compiled(self) -> Compiled | None:
        rule, order = self.agent.compiled, self.order
        if rule is None or rule.in_order or self.commit or not isinstance(order, str) or order not in orders.BUILT_IN:
            return None
        score = None if order == "fcfs" or order in orders.BY_WAIT else orders.BUILT_IN[order]
        return rule._replace(in_order=InOrder(self.backfilling, score, orders.BY_WAIT.get(order)))

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        return self.agent.decide(view, request)

    def decide_line(self, view: View, requests: Sequence[Request]) -> Answers:
        if self.commit:
            yield from self._committed(view, list(requests))
        elif self._reserves:
            yield from self._reserving(view, self.in_order(view, requests))
        else:
            for request in self.in_order(view, requests):
                if view.held_back(request):
                    continue
                placed = yield from self.agent.decide_parts(view, request)
                if self.backfilling == "none" and not placed:
                    return

    def in_order(self, view: View, requests: Sequence[Request]) -> list[Request]:
        """Sort requests by the order; where it is random, draw one. In front are those of the queues that go first."""
        if self._shared:
            ordered = sorted(requests, key=self._shared.order(self._accounts))
        elif self._score:
            ordered = sorted(requests, key=partial(self._score, view))
        else:
            ordered = [requests[number] for number in self._rng.permutation(len(requests)).tolist()]
        if view.queues:
            ordered.sort(key=lambda request: -view.queues.priority(request))
        return ordered

    def _reserving(self, view: View, line: list[Request]) -> Answers:
        """Start who is in nobody's way, and reserve places for those who wait: the first of them, or all."""
        availability = self._availability(view)
        earlier = {
            request.index: [promise._replace(start=max(promise.start, view.now)) for promise in promised]
            for request in line
            if (promised := self.reserved.get(request.index))
        }
        # What was promised stays so, or becomes earlier: who comes later in the order finds it taken.
        promises = earlier if self.backfilling == "conservative" else {}
        for promise in chain.from_iterable(promises.values()):
            availability.reserve(promise)
        if availability.overdrawn:  # somebody runs for longer than expected, or a server has failed
            promises, earlier, availability = {}, {}, self._availability(view)
        self.reserved, first = {}, True
        for request in line:
            for promise in promises.get(request.index, ()):
                availability.reserve(promise, -1)
            if view.held_back(request):
                continue
            promised = earlier.get(request.index, [])
            lasting = promised if availability.keeps(promised) else []
            if (yield from self._started(view, request, availability, lasting)):
                continue
            if self.backfilling == "conservative" or first:
                first = False
                promised = availability.earliest(request)
                if lasting and (not promised or promised[0].start > lasting[0].start):
                    promised = lasting
                for promise in promised:
                    availability.reserve(promise)
                if promised:
                    self.reserved[request.index] = promised

    def _availability(self, view: View) -> Availability:
        return Availability(view, self._running.look(view), self._places)

    def _started(
        self, view: View, request: Request, availability: Availability, promised: Sequence[Reservation]
    ) -> Generator[tuple[Request, Placement | Refusal | None], None, bool]:
        """Start a request, all or enough of its parts, where that is in nobody's way; returns whether it has.

        Where the agent has no place for it, it takes what was `promised` for now.
        """
        placed: list[tuple[Request, Placement]] = []
        for part in request.each():
            view.offer(part)
            answer = availability.decide(self.agent, part, view.now, availability.harmless(view, part))
            if not isinstance(answer, Placement) and len(promised) > len(placed) and promised[0].start <= view.now:
                answer = promised[len(placed)].placement
            if not isinstance(answer, Placement):
                if placed:
                    yield part, answer
                break
            yield part, answer
            availability.start(part, answer)
            placed.append((part, answer))
        if len(placed) == request.parts:
            return True
        for part, answer in placed:
            availability.start(part, answer, -1)
        return False

    def _committed(self, view: View, line: list[Request]) -> Answers:
        """Start the first, again and again; who does not fit stays the first, and others may pass it."""
        while line:
            first = next((request for request in line if request.index == self._chosen), None)
            if first is None:
                first, self._until = self.in_order(view, line)[0], -inf
            if view.held_back(first):
                line.remove(first)
                continue
            if not (yield from self.agent.decide_parts(view, first)):
                break
            line.remove(first)
        else:
            return
        if self._reserves and self._chosen != first.index:
            promised = self._availability(view).earliest(first)
            self.reserved = {first.index: promised} if promised else {}
            self._until = promised[0].start if promised else inf
        self._chosen = first.index
        for request in line if self._reserves else ():
            slowest = float(np.max(view.stays(request)))
            if request is not first and view.now + slowest < self._until and not view.held_back(request):
                yield from self.agent.decide_parts(view, request)


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
        self._place, self._running = BestFit(), RunningJobs()

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._place.start(view, rng)
        self._running = RunningJobs()

    def decide(self, view: View, request: Request) -> Placement | None:
        return next((placement for _, placement in self.decide_line(view, [request])), None)

    def decide_line(self, view: View, requests: Sequence[Request]) -> Iterator[tuple[Request, Placement]]:
        now = view.now
        ends = [(job.end, [((), share[2]) for share in job.shares]) for job in self._running.look(view)]
        profile = AvailabilityProfile(now, view.free.sum(axis=(0, 1)), ends)
        for request in sorted(requests, key=lambda each: -each.duration) if self.order == "longest" else requests:
            start = profile.earliest(request.duration, request.demand)
            profile.take(start, request.duration, [((), request.demand)])
            if start == now and (placement := self._place.decide(view, request)) is not None:
                yield request, placement
