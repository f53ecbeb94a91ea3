"""Says again what the engine does, as slow and obvious rules: lists, no queue of events, every instant in order.

At one instant: releases, then failures, repairs and expansion, then whoever is in the line, then the arrivals one by
one. Nothing that is over stays in the way: releases that are due are applied before anything is offered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

Room: TypeAlias = list[list[list[int]]]
"""Quanta, [servers][nodes][resources]."""
Demand: TypeAlias = tuple[int, ...]
Where: TypeAlias = tuple[int, int]
"""Server and node; the node of a spread request is -1."""
Decide: TypeAlias = Callable[[Room, int, Demand, bool], Where | None]
"""(free, row, demand, spread) -> where it goes."""
SPREAD = -1


@dataclass
class Case:
    """Everything that determines a run, but for the agent. `failures` are (time, server, repair after)."""

    capacity: Room
    growth: list[list[int]]
    spread_above: Demand
    requests: list[tuple[float, float, Demand]]  # arrival, duration, demand
    mode: str = "drop"
    by: int = 1
    limit: int = 0
    then: str = "stop"
    expansion: list[tuple[float, int]] = field(default_factory=list)
    failures: list[tuple[float, int, float]] = field(default_factory=list)
    requeue: bool = False
    together: int = 0
    window: float = 0.0


@dataclass
class Row:
    """What became of a request."""

    arrival: float
    duration: float
    demand: Demand
    spread: bool
    origin: int = -1
    outcome: str = "pending"
    decided: float | None = None
    where: Where | None = None
    interruption: float | None = None
    reason: int = -1
    gave_up: bool = False  # rejected only because the run ended


@dataclass(frozen=True)
class Taken:
    """A placement, and what was free just before it."""

    row: int
    now: float
    where: Where
    free: Room


# -- what fits where -----------------------------------------------------------------------------------------------


def spreads(demand: Demand, nodes: int, above: Demand) -> bool:
    """Must it take an even part of every node?"""
    return nodes > 1 and any(amount > most for amount, most in zip(demand, above, strict=True))


def shares(demand: Demand, spread: bool, where: Where, nodes: int) -> list[tuple[int, int, Demand]]:
    """Server, node and amounts of everything it takes; the first nodes take the odd quanta of a spread request."""
    server, node = where
    if not spread:
        return [(server, node, demand)]
    return [(server, n, tuple((amount + nodes - 1 - n) // nodes for amount in demand)) for n in range(nodes)]


def fits(free: Room, demand: Demand, spread: bool, where: Where) -> bool:
    """Is all of it free there?"""
    taken = shares(demand, spread, where, len(free[where[0]]))
    return all(has >= need for s, n, needs in taken for has, need in zip(free[s][n], needs, strict=True))


def feasible(free: Room, demand: Demand, spread: bool) -> list[Where]:
    """Everywhere it fits, lowest index first."""
    places = [(s, n) for s, server in enumerate(free) for n in ([SPREAD] if spread else range(len(server)))]
    return [where for where in places if fits(free, demand, spread, where)]


def possible(case: Case, demand: Demand) -> bool:
    """Could some empty server hold it, one that may be added included?"""
    spread = spreads(demand, len(case.growth), case.spread_above)
    return bool(feasible([*case.capacity, case.growth], demand, spread))


def why_not(free: Room, demand: Demand, spread: bool) -> int:
    """0 it does fit; 3 + r no server has enough of r; 1 a server has enough of everything but its nodes do not suit;
    2 none has enough of everything at once."""
    if feasible(free, demand, spread):
        return 0
    totals = [[sum(amounts) for amounts in zip(*server, strict=True)] for server in free]
    for r, amount in enumerate(demand):
        if all(total[r] < amount for total in totals):
            return 3 + r
    if any(all(has >= amount for has, amount in zip(total, demand, strict=True)) for total in totals):
        return 1
    return 2


# -- the run -------------------------------------------------------------------------------------------------------


class Reference:
    """One run, walked through to its end."""

    def __init__(self, case: Case, decide: Decide, order: Callable[[list[int]], list[int]] = list) -> None:
        self.case = case
        self.decide = decide
        self.order = order  # in which those that are offered together are answered
        self.nodes = len(case.growth)
        self.capacity = [[list(node) for node in server] for server in case.capacity]
        self.free = [[list(node) for node in server] for server in case.capacity]
        self.rows = [
            Row(arrival, duration, demand, spreads(demand, self.nodes, case.spread_above))
            for arrival, duration, demand in case.requests
        ]
        self.now = 0.0
        self.over = False
        self.line: list[int] = []
        self.stuck = False  # the head of the line was refused, and nothing has changed since
        self.ends: dict[int, float] = {}  # of the requests that hold something
        self.over_early: list[float] = []  # when interrupted holding periods were to end: a moment like others
        self.repairs: dict[int, float] = {}  # of the servers that are down
        self.failures = list(case.failures)
        self.expansion = sorted(case.expansion, key=lambda added: added[0])
        self.taken: list[Taken] = []
        self.changes: list[tuple[float, str, int]] = []
        self.to_come = []
        for i, row in enumerate(self.rows):
            if possible(case, row.demand):
                self.to_come.append(i)
            else:
                row.outcome = "impossible"
        if case.together:
            self.run_together()
        else:
            self.run()

    def run_together(self) -> None:
        due = inf  # when the line is offered next
        while self.to_come or self.line:
            times = [*self.ends.values(), *self.repairs.values(), *self.over_early, due]
            times += [time for time, _, _ in self.failures] + [time for time, _ in self.expansion]
            times += [self.rows[i].arrival for i in self.to_come[:1]]
            if min(times) == inf:
                for i in self.line:
                    self.reject(i)
                    self.rows[i].gave_up = True
                return
            self.now = min(times)
            if min(self.over_early, default=inf) <= self.now:
                self.over_early = [time for time in self.over_early if time > self.now]
                self.stuck = False
            self.release()
            self.change()
            while self.to_come and self.rows[self.to_come[0]].arrival == self.now:
                if len(self.line) < self.case.together:
                    self.stuck = False
                self.line.append(self.to_come.pop(0))
            if self.line and not self.stuck and due == inf:
                due = self.now
                while self.case.window and due % self.case.window:
                    due += 1  # times in tests are whole
            if due == self.now:
                due = inf
                self.stuck = True
                self.offer_together()

    def offer_together(self) -> None:
        offer: list[int] = []
        while not set(self.line[: self.case.together]) <= set(offer):
            offer = self.line[: self.case.together]
            placed = 0
            for i in self.order(offer):
                row = self.rows[i]
                if (where := self.decide(self.free, i, row.demand, row.spread)) is not None:
                    self.place(i, where)
                    self.line.remove(i)
                    placed += 1
            if not placed:
                return

    def place(self, i: int, where: Where) -> None:
        row = self.rows[i]
        self.taken.append(Taken(i, self.now, where, [[list(node) for node in server] for server in self.free]))
        row.outcome, row.decided, row.where = "placed", self.now, where
        self.ends[i] = self.now + row.duration
        self.move(i, -1)

    def run(self) -> None:
        while not self.over and (self.to_come or self.line):
            self.now, before = self.next_time(), self.now
            if self.now == inf:
                self.now = before
                for i in self.line:
                    self.reject(i)
                    self.rows[i].gave_up = True
                return
            assert self.now >= before
            self.release()
            self.change()
            self.offer()
            while not self.over and self.to_come and self.rows[self.to_come[0]].arrival == self.now:
                self.release()  # what was placed at this instant and lasts no time
                self.offer()
                if not self.over:
                    self.line.append(self.to_come.pop(0))
                    self.offer()

    def next_time(self) -> float:
        """When something happens next."""
        times = [*self.ends.values(), *self.repairs.values()]
        times += [time for time, _, _ in self.failures] + [time for time, _ in self.expansion]
        return min([*times, *(self.rows[i].arrival for i in self.to_come[:1])], default=inf)

    def release(self) -> None:
        for i in sorted(self.ends):
            if self.ends[i] <= self.now:
                self.give_back(i)
                self.stuck = False

    def give_back(self, i: int) -> None:
        del self.ends[i]
        self.move(i, +1)

    def move(self, i: int, sign: int) -> None:
        row = self.rows[i]
        assert row.where is not None
        for server, node, amounts in shares(row.demand, row.spread, row.where, self.nodes):
            for r, amount in enumerate(amounts):
                self.free[server][node][r] += sign * amount
                assert 0 <= self.free[server][node][r] <= self.capacity[server][node][r]

    def change(self) -> None:
        for failure in [failure for failure in self.failures if failure[0] == self.now]:
            self.failures.remove(failure)
            self.fail(failure[1], failure[2])
        for server in [server for server, time in self.repairs.items() if time == self.now]:
            del self.repairs[server]
            self.free[server] = [list(node) for node in self.capacity[server]]
            self.note("repair", server)
        for added in [added for added in self.expansion if added[0] == self.now]:
            self.expansion.remove(added)
            self.grow(added[1])

    def note(self, what: str, subject: int) -> None:
        self.changes.append((self.now, what, subject))
        self.stuck = False

    def grow(self, by: int) -> None:
        for _ in range(by):
            self.capacity.append([list(node) for node in self.case.growth])
            self.free.append([list(node) for node in self.case.growth])
        self.note("expansion", by)

    def fail(self, server: int, repair_after: float) -> None:
        self.stuck = False  # also if nothing comes of it
        if server >= len(self.capacity) or server in self.repairs:
            return
        self.note("failure", server)
        self.repairs[server] = self.now + repair_after
        back = []
        for i in sorted(self.ends):
            row = self.rows[i]
            assert row.where is not None
            assert row.decided is not None
            if row.where[0] == server:
                self.over_early.append(self.ends[i])
                self.give_back(i)
                row.outcome, row.interruption = "interrupted", self.now
                if self.case.requeue:
                    left = row.duration - (self.now - row.decided)
                    back.append(len(self.rows))
                    self.rows.append(Row(self.now, left, row.demand, row.spread, origin=i))
        self.line = back + self.line
        self.free[server] = [[0] * len(node) for node in self.free[server]]

    def offer(self) -> None:
        """The line from its head on, for as long as nobody is refused who then waits."""
        while self.line and not self.stuck and not self.over:
            self.release()
            i = self.line[0]
            row = self.rows[i]
            where = self.decide(self.free, i, row.demand, row.spread)
            if where is not None:
                self.place(i, where)
                self.line.pop(0)
            else:
                self.overflow(i)

    def overflow(self, i: int) -> None:
        mode = self.case.mode
        if mode == "expand":
            if len(self.capacity) < self.case.limit:
                self.grow(min(self.case.by, self.case.limit - len(self.capacity)))
                return
            mode = self.case.then
        if mode == "wait":
            self.stuck = True
            return
        self.line.pop(0)
        self.reject(i)
        self.over = mode == "stop"

    def reject(self, i: int) -> None:
        row = self.rows[i]
        row.outcome, row.decided = "rejected", self.now
        row.reason = why_not(self.free, row.demand, row.spread)
