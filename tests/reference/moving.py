"""Says again how what runs is moved, as slow and obvious rules: one agenda, looked through at every instant.

It is the engine's reference with moves beside it. A request on its way holds both places. At one instant, after the
releases, whatever was put on the agenda happens in the order in which it was put there: failures, repairs, expansion,
arrivals of moves, reschedulings.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from tests.reference.engine import Case, Decide, Demand, Reference, Room, Where, feasible, fits, shares
from tests.reference.placement import Lies

Runs: TypeAlias = list[tuple[int, Where, Demand, bool]]
"""Of every request that may be moved: its row, where it is, its demand, and whether it is spread."""
May: TypeAlias = Callable[[int], list[bool]]
"""(row) -> on which servers the rules of placement let it lie, not counting itself."""
Plans: TypeAlias = Callable[[Room, Runs, int, int, May], list[tuple[int, Where]]]
"""(free, running, moves, row of the request that room is made for, or -1, may) -> moves: rows and places."""


@dataclass
class Rules:
    """How moves are made: `every` 0 is never, `room` 0 moves is none; a move takes so long per quantum, and in all."""

    every: int = 0
    moves: int = 3
    room: int = 0
    per_quantum: float = 0.0
    downtime: float = 0.0
    at_once: int = 0
    per_hour: int = 0
    fixed: frozenset[int] = frozenset()


@dataclass
class Flight:
    """A move, and what became of it."""

    row: int
    why: str
    source: Where
    target: Where
    begin: float
    outcome: str = "under way"
    end: float | None = None


@dataclass
class Planned:
    """What is left of a plan, and those of its moves that were begun."""

    why: str
    request: int = -1
    left: list[tuple[int, Where]] = field(default_factory=list)
    begun: list[Flight] = field(default_factory=list)

    @property
    def under_way(self) -> bool:
        return bool(self.left) or any(flight.outcome in ("under way", "leaving") for flight in self.begun)


class MovingReference(Reference):
    """One run with moves, walked through to its end."""

    def __init__(self, case: Case, decide: Decide, plans: Plans, rules: Rules) -> None:
        self.plans, self.rules = plans, rules
        self.flights: list[Flight] = []
        self.plan = Planned("schedule")
        self.tried: tuple[int, float] | None = None
        self.agenda: list[tuple[float, str, tuple[float, ...] | Flight]] = []
        for time, server, after in case.failures:
            self.agenda.append((time, "failure", (server, after)))
        for time, domain, after in case.blackouts:
            self.agenda.append((time, "blackout", (domain, after)))
        for time, by in case.expansion:
            self.agenda.append((time, "expansion", (by,)))
        if rules.every:
            self.agenda.append((float(rules.every), "tick", ()))
        super().__init__(case, decide)

    @property
    def flying(self) -> list[Flight]:
        return [flight for flight in self.flights if flight.outcome in ("under way", "leaving")]

    def lies(self) -> dict[int, Lies]:
        goes = {flight.row: flight.target[0] for flight in self.flying}
        return {row: lie._replace(goes=(goes[row],)) if row in goes else lie for row, lie in super().lies().items()}

    # -- what happens when ------------------------------------------------------------------------------------

    def next_time(self) -> float:
        times = [*self.ends.values(), *(time for time, what, _ in self.agenda if what != "tick")]
        times += [time for time in self.over_early if time > self.now]
        time = min([*times, *(self.rows[i].arrival for i in self.to_come[:1])], default=inf)
        ticks = [due for due, what, _ in self.agenda if what == "tick" and due <= time < inf]
        return min([time, *ticks])

    def release(self) -> None:
        super().release()
        if self.now in self.over_early:
            self.over_early.remove(self.now)
            self.stuck = False

    def change(self) -> None:
        while now := [one for one in self.agenda if one[0] == self.now]:
            self.agenda.remove(now[0])
            _, what, subject = now[0]
            if isinstance(subject, Flight):
                self.arrive(subject)
            elif what in ("failure", "blackout"):
                before = len(self.repairs)
                (self.fail if what == "failure" else self.black_out)(int(subject[0]), subject[1])
                if len(self.repairs) > before and subject[1] < inf:
                    self.agenda.append((self.now + subject[1], "repair", ()))
            elif what == "repair":
                repair = next(one for one in self.repairs if one[0] == self.now)
                self.repairs.remove(repair)
                self.repair(repair[1])
                self.dark -= {repair[2]}
            elif what == "expansion":
                self.grow(int(subject[0]))
            else:
                self.tick()

    def take_down(self, servers: list[int]) -> None:
        gone: set[int] = set()
        for server in [one for one in servers if not self.down[one]]:
            for flight in self.flying:
                away = flight.target[0] == server != flight.source[0] and flight.source[0] not in gone
                if away and flight.outcome == "under way":
                    self.end(flight, "called off")
                    self.plan.left = []
            gone.add(server)
        super().take_down(servers)

    def give_back(self, i: int) -> None:
        super().give_back(i)
        for flight in self.flying:
            if flight.row == i:
                self.hold(flight.row, flight.target, +1)
                if self.rows[i].where is not None and self.now < self.due_end(i):
                    flight.outcome, flight.end = "interrupted", self.now
                    self.plan.left = []
                else:
                    flight.outcome = "leaving"  # noted at its own time, which is this instant

    def due_end(self, i: int) -> float:
        row = self.rows[i]
        assert row.decided is not None
        return row.decided + row.duration

    # -- moves -----------------------------------------------------------------------------------------------

    def hold(self, i: int, where: Where, sign: int) -> None:
        row = self.rows[i]
        for server, node, amounts in shares(row.demand, row.spread, where, self.nodes):
            for r, amount in enumerate(amounts):
                self.free[server][node][r] += sign * amount
                assert 0 <= self.free[server][node][r] <= self.capacity[server][node][r]

    def end(self, flight: Flight, outcome: str) -> None:
        flight.outcome, flight.end = outcome, self.now
        self.hold(flight.row, flight.source if outcome == "done" else flight.target, +1)
        if outcome == "done":
            self.rows[flight.row].where = flight.target

    def arrive(self, flight: Flight) -> None:
        if flight.outcome in ("called off", "interrupted"):
            return
        if flight.outcome == "leaving":
            flight.outcome, flight.end = "ended", self.now
        else:
            self.end(flight, "done")
        self.stuck = False
        self.follow()

    def follow(self) -> None:
        plan, rules = self.plan, self.rules
        while plan.left:
            if rules.at_once and len(self.flying) >= rules.at_once:
                return
            i, where = plan.left[0]
            in_vain = plan.request >= 0 and self.line[:1] != [plan.request]
            moving = any(flight.row == i for flight in self.flying)
            row = self.rows[i]
            possible = i in self.ends and self.may(i)[where[0]] and fits(self.free, row.demand, row.spread, where)
            if in_vain or moving or not possible:
                if not self.flying:
                    plan.left = []
                return
            plan.left.pop(0)
            assert row.where is not None
            flight = Flight(i, plan.why, row.where, where, self.now)
            self.flights.append(flight)
            plan.begun.append(flight)
            self.hold(i, where, -1)
            seconds = rules.downtime + rules.per_quantum * row.demand[0]
            if seconds:
                self.agenda.append((min(self.now + seconds, self.due_end(i)), "arrival", flight))
            else:
                self.end(flight, "done")

    def ask(self, why: str, moves: int, request: int = -1) -> bool:
        if self.rules.per_hour:
            moves = min(moves, self.rules.per_hour - sum(f.begin > self.now - 3600 for f in self.flights))
        away = {flight.row for flight in self.flying}
        running = []
        for i in sorted(self.ends):
            row, own = self.rows[i], i
            while self.rows[own].origin >= 0:
                own = self.rows[own].origin
            if i not in away and own not in self.rules.fixed:
                assert row.where is not None
                running.append((i, row.where, row.demand, row.spread))
        plan = self.plans(self.free, running, moves, request, self.may) if running and moves > 0 else []
        self.plan.left = []
        if plan and request >= 0:
            free = [[list(node) for node in server] for server in self.free]
            at = {i: where for i, where, _, _ in running}
            for i, where in plan:
                row = self.rows[i]
                for place, sign in ((where, -1), (at[i], +1)):
                    for server, node, amounts in shares(row.demand, row.spread, place, self.nodes):
                        for r, amount in enumerate(amounts):
                            free[server][node][r] += sign * amount
                at[i] = where
            lies = {row: lie._replace(servers=(at[row][0],)) if row in at else lie for row, lie in self.lies().items()}
            may = [said < 0 for said in self.refused(request, lies)]
            if not any(
                may[server] for server, _ in feasible(free, self.rows[request].demand, self.rows[request].spread)
            ):
                plan = []
        if plan:
            self.plan = Planned(why, request, list(plan))
            self.follow()
        return bool(plan)

    def tick(self) -> None:
        others = [time for time, what, _ in self.agenda if what != "tick"]
        others += [time for time in (*self.ends.values(), *self.over_early) if self.now < time < inf]
        if not self.to_come and len(others) <= len(self.flying):
            return
        self.agenda.append((self.now + self.rules.every, "tick", ()))
        if self.plan.why == "room" and self.plan.under_way:
            return
        if self.ask("schedule", self.rules.moves):
            self.stuck = False

    def overflow(self, i: int) -> None:
        if self.plan.request == i and self.plan.under_way:
            self.stuck = True
            return
        fresh = self.rules.room and self.tried != (i, self.now)
        if fresh and self.why_not(i) != 0:
            self.tried = i, self.now
            if self.ask("room", self.rules.room, i):
                self.stuck = self.plan.under_way
                return
        super().overflow(i)
