"""Says again what becomes of gangs, as slow and obvious rules: every part is tried where nothing is in its way."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from tests.reference.engine import Demand, Room, Where, feasible, shares

Pick: TypeAlias = Callable[[Room, Demand, bool], Where | None]
"""(what a part may take, demand, spread) -> where it goes."""


@dataclass(frozen=True)
class Ask:
    """A gang that arrives: each of its parts asks for `demand`; `together` and `at_most` name labels of servers."""

    arrival: float
    duration: float
    demand: Demand
    spread: bool
    parts: int
    least: int
    together: str = ""
    at_most: tuple[tuple[str, int], ...] = ()
    work: bool = False


@dataclass
class Became:
    """What became of a gang, or of the rest of one that a failure sent back."""

    ask: Ask
    outcome: str = "pending"
    decided: float | None = None
    places: list[Where] = field(default_factory=list)
    end: float = inf
    interruption: float | None = None


@dataclass
class Reference:
    """Servers with `labels`, by name the domain of each; `failures` are (time, server, repair after)."""

    capacity: Room
    labels: dict[str, list[int]]
    asks: list[Ask]
    waits: bool
    requeue: bool
    failures: list[tuple[float, int, float]]
    pick: Pick

    def run(self) -> list[Became]:
        """Play everything, instant by instant."""
        self.free, self.all, self.line = deepcopy(self.capacity), [Became(ask) for ask in self.asks], list[Became]()
        down: set[int] = set()
        for gang in self.all:
            gang.outcome = "pending" if self._fits_when_empty(gang.ask) else "impossible"
        come = [gang for gang in self.all if gang.outcome == "pending"]
        changes = [(time, "down", server) for time, server, _ in self.failures]
        changes += [(time + after, "up", server) for time, server, after in self.failures]
        changes.sort()
        self.now = 0.0
        while True:
            ends = [gang.end for gang in self.all if gang.outcome == "placed" and gang.end > self.now]
            later = [one[0] for one in changes if one[0] > self.now]
            due = [gang.ask.arrival for gang in come] + (ends + later if come or self.line else [])
            if not due:
                break
            self.now = min(due)
            for gang in self.all:
                if gang.outcome == "placed" and gang.end == self.now:
                    self._give_back(gang, down)
            for time, what, server in changes:
                if time == self.now and what == "down":
                    down.add(server)
                    self._fail(server, down)
                elif time == self.now:
                    down.remove(server)
                    self.free[server] = deepcopy(self.capacity[server])
            self._serve()
            while come and come[0].ask.arrival == self.now:
                self.line.append(come.pop(0))
                self._serve()
        for gang in self.line:
            gang.outcome = "rejected"
        return self.all

    def _serve(self) -> None:
        while self.line:
            gang = self.line[0]
            places = self._try(gang.ask, self.free)
            if len(places) < gang.ask.least:
                if self.waits:
                    return
                gang.outcome = "rejected"
            else:
                stays = gang.ask.duration
                if gang.ask.work and len(places) < gang.ask.parts:
                    stays *= gang.ask.parts / len(places)
                gang.outcome, gang.decided, gang.places, gang.end = "placed", self.now, places, self.now + stays
                for where in places:
                    self._take(self.free, gang.ask, where, -1)
            self.line.pop(0)

    def _try(self, ask: Ask, there: Room) -> list[Where]:
        """Find places for the parts, one after another, until one finds none."""
        free, places = deepcopy(there), list[Where]()
        while len(places) < ask.parts:
            open_to = [self._may(ask, places, server) for server in range(len(free))]
            if ask.together and not places:
                domain = self.labels[ask.together]
                enough = {one for one in domain if self._most(ask, free, one) >= ask.least}
                open_to = [may and domain[server] in enough for server, may in enumerate(open_to)]
            seen = [
                room if may else [[0] * len(node) for node in room] for room, may in zip(free, open_to, strict=True)
            ]
            where = self.pick(seen, ask.demand, ask.spread)
            if where is None:
                break
            places.append(where)
            self._take(free, ask, where, -1)
        return places

    def _may(self, ask: Ask, places: list[Where], server: int) -> bool:
        """Do the rules among parts let the next one lie on a server?"""
        for label, most in ask.at_most:
            domain = self.labels[label]
            if sum(domain[other] == domain[server] for other, _ in places) >= most:
                return False
        domain = self.labels[ask.together or "server"]
        return not (ask.together and places) or domain[places[0][0]] == domain[server]

    def _most(self, ask: Ask, there: Room, only: int | None) -> int:
        """How many parts fit into one domain of `together`, if they take whatever there is?"""
        free, places = deepcopy(there), list[Where]()
        while True:
            for where in feasible(free, ask.demand, ask.spread):
                inside = only is None or self.labels[ask.together][where[0]] == only
                if inside and self._may(ask, places, where[0]):
                    self._take(free, ask, where, -1)
                    places.append(where)
                    break
            else:
                return len(places)
            if len(places) == ask.parts:
                return len(places)

    def _fits_when_empty(self, ask: Ask) -> bool:
        domains = set(self.labels[ask.together]) if ask.together else {None}
        return any(self._most(ask, self.capacity, one) >= ask.least for one in domains)

    def _take(self, free: Room, ask: Ask, where: Where, sign: int) -> None:
        for server, node, amounts in shares(ask.demand, ask.spread, where, len(free[0])):
            for r, amount in enumerate(amounts):
                free[server][node][r] += sign * amount

    def _give_back(self, gang: Became, down: set[int]) -> None:
        for where in gang.places:
            if where[0] not in down:
                self._take(self.free, gang.ask, where, 1)

    def _fail(self, server: int, down: set[int]) -> None:
        hit = [one for one in self.all if one.outcome == "placed" and one.end > self.now]
        hit = [one for one in hit if any(where[0] == server for where in one.places)]
        back = []
        for gang in hit:
            self._give_back(gang, down)
            gang.outcome, gang.interruption = "interrupted", self.now
            if self.requeue:
                assert gang.decided is not None
                ask, ran = gang.ask, self.now - gang.decided
                rest, parts = gang.end - gang.decided - ran, len(gang.places)
                again = Ask(
                    self.now, rest, ask.demand, ask.spread, parts, min(ask.least, parts), ask.together, ask.at_most,
                    ask.work,
                )  # fmt: skip
                back.append(Became(again))
        self.free[server] = [[0] * len(node) for node in self.capacity[server]]
        self.all += back
        self.line[:0] = back
