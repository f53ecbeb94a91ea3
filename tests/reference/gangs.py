"""Says again what becomes of gangs, as slow and obvious rules: every part is tried where nothing is in its way."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from math import inf
from typing import TypeAlias

from tests.reference.engine import Demand, Preempt, Room, Where, feasible, shares

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
    priority: int = 0


@dataclass(eq=False)
class Became:
    """What became of a gang, or of the rest of one that a failure sent back; two that fared alike are two."""

    ask: Ask
    outcome: str = "pending"
    decided: float | None = None
    places: list[Where] = field(default_factory=list)
    end: float = inf
    interruption: float | None = None
    tried: float = -1.0
    given: bool = False
    vain: bool = False


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
    preempt: Preempt | None = None  # without grace

    def run(self) -> list[Became]:
        """Play everything, instant by instant."""
        self.free, self.all, self.line = deepcopy(self.capacity), [Became(ask) for ask in self.asks], list[Became]()
        self.down, self.evicted = set[int](), list[tuple[int, int]]()
        down = self.down
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
                self._enter([*self.line, come.pop(0)])
                self._serve()
        for gang in self.line:
            gang.outcome = "rejected"
        return self.all

    def _serve(self) -> None:
        while self.line:
            gang = self.line[0]
            places = self._try(gang.ask, self.free)
            if len(places) < gang.ask.least:
                if self._preempts(gang):
                    continue
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

    def _enter(self, line: list[Became]) -> None:
        """The more urgent stand before the others where these give way."""
        self.line = sorted(line, key=lambda gang: -gang.ask.priority * (self.preempt is not None))

    # -- who gives way ---------------------------------------------------------------------------------------------

    def _preempts(self, gang: Became) -> bool:
        """Has somebody given way to a gang? It is tried once at an instant, and no more if it did not take the room."""
        room = self._room(gang.ask, [], None)
        if gang.given and room:
            gang.vain = True
        if not self.preempt or gang.vain or gang.tried == self.now or room:
            return False
        gang.tried = self.now
        back = []
        for victim in self._victims(gang, self.preempt):
            back.append(self._cut_short(victim, self.preempt.lost(self.now - (victim.decided or 0.0))))
            self.evicted.append((self.all.index(victim), self.all.index(gang)))
        self.all += back if self.preempt.requeue else []
        self._enter([*(back if self.preempt.requeue else []), *self.line])
        gang.given = gang.given or bool(back)
        return bool(back)

    def _victims(self, gang: Became, preempt: Preempt) -> list[Became]:
        """All less urgent ones of a domain, but for those who may stay; of the domain where that costs least."""
        ask = gang.ask
        label = "server" if ask.parts == 1 else ask.together
        found: list[tuple[tuple[float, int, int], list[Became]]] = []
        for domain in sorted(set(self.labels[label])) if label else [None]:
            out = [one for one in self.all if one.outcome == "placed" and one.end > self.now]
            out = [one for one in out if one.ask.priority < ask.priority]
            if domain is not None:
                out = [one for one in out if any(self.labels[label][server] == domain for server, _ in one.places)]
            out.sort(key=lambda one: (-self._cost([one], preempt), self._share(one), self.all.index(one)))
            if not self._room(ask, out, domain):
                continue
            for one in list(out):
                if self._room(ask, [other for other in out if other is not one], domain):
                    out.remove(one)
            if out:
                found.append(((self._cost(out, preempt), len(out), domain or 0), out))
        chosen = min(found, key=lambda each: each[0])[1] if found else []
        return sorted(chosen, key=self.all.index)

    def _room(self, ask: Ask, gone: list[Became], only: int | None) -> bool:
        """Is there room for as many parts as are needed when these are gone?"""
        free = deepcopy(self.free)
        for one in gone:
            for where in one.places:
                self._take(free, one.ask, where, 1)
        domains = {only} if only is not None else set(self.labels[ask.together]) if ask.together else {None}
        return any(self._most(ask, free, one) >= ask.least for one in domains)

    def _share(self, gang: Became) -> float:
        total = sum(node[0] for server in self.capacity for node in server)
        return len(gang.places) * (gang.ask.demand[0] / total)

    def _cost(self, gangs: list[Became], preempt: Preempt) -> float:
        ran = [self.now - (gang.decided or 0.0) for gang in gangs]
        if preempt.rule == "fewest":
            return len(gangs)
        if preempt.rule == "lowest":
            return max(gang.ask.priority for gang in gangs)
        if preempt.rule == "youngest":
            return max(ran)
        return sum(preempt.lost(time) * self._share(gang) for time, gang in zip(ran, gangs, strict=True))

    def _cut_short(self, gang: Became, lost: float) -> Became:
        """Interrupt a gang; returns what is left of it, with what is lost, for as many parts as it asked for."""
        self._give_back(gang, self.down)
        gang.outcome, gang.interruption = "interrupted", self.now
        ask, share = gang.ask, len(gang.places) / gang.ask.parts if gang.ask.work else 1
        done = self.now - (gang.decided or 0.0) - lost
        return Became(replace(ask, arrival=self.now, duration=ask.duration - share * done))

    # -- where parts go --------------------------------------------------------------------------------------------

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
                inside = only is None or self.labels[ask.together or "server"][where[0]] == only
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
        back = [self._cut_short(gang, 0.0) for gang in hit]
        back = back if self.requeue else []
        self.free[server] = [[0] * len(node) for node in self.capacity[server]]
        self.all += back
        self._enter([*back, *self.line])
