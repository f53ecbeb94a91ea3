"""Says again what the engine does, as slow and obvious rules: lists, no queue of events, every instant in order.

At one instant: releases, then failures, repairs and expansion, then whoever is in the line, then the arrivals one by
one. Nothing that is over stays in the way: releases that are due are applied before anything is offered.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from binwright.scenarios.features.placement.rules import Rule
from binwright.scenarios.features.server_labels import ServerLabels, numbered
from binwright.simcore.roles import Role
from tests.reference.placement import Lies, refused_by
from tests.reference.quotas import Queue, available

Room: TypeAlias = list[list[list[int]]]
"""Quanta, [servers][nodes][resources]."""
Demand: TypeAlias = tuple[int, ...]
Where: TypeAlias = tuple[int, int]
"""Server and node; the node of a spread request is -1."""
Decide: TypeAlias = Callable[[Room, int, Demand, bool], Where | None]
"""(free, row, demand, spread) -> where it goes."""
SPREAD = -1


@dataclass(frozen=True)
class Preempt:
    """Who is evicted for the more urgent, as the engine's rules say."""

    rule: str = "lowest"
    grace: float = 0.0
    requeue: bool = True
    checkpoint: float = inf

    def lost(self, ran: float) -> float:
        """What is lost of the time that an evicted request ran."""
        return ran if self.checkpoint == inf else ran - ran // self.checkpoint * self.checkpoint


@dataclass(frozen=True)
class Tenants:
    """What the requests of each group may use of the first resource, as `tests.reference.quotas` says it."""

    quotas: dict[str, Queue]
    wait: bool = True
    reclaim: str = "never"
    checkpoint: float = inf


@dataclass(frozen=True)
class Line:
    """A queue: of which group (of all, if empty), and how much may run at once, also of each user."""

    group: str
    priority: int = 0
    longest: float = inf
    requests: float = inf
    amount: float = inf
    each: float = inf


@dataclass
class Case:
    """Everything that determines a run, but for the agent.

    `failures` are (time, server, repair after), and `blackouts` (time, domain, repair after): servers whose numbers
    have the same rest by `domains` fail together. `placement` are rules about the `groups` of the requests; two servers
    after one another are a zone.
    """

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
    domains: int = 1
    blackouts: list[tuple[float, int, float]] = field(default_factory=list)
    placement: tuple[Rule, ...] = ()
    groups: tuple[str, ...] = ()
    priorities: tuple[int, ...] = ()
    preempt: Preempt | None = None
    parts: tuple[int, ...] = ()  # of each request; two are enough; not for the reference
    tenants: Tenants | None = None
    queues: tuple[Line, ...] = ()
    users: tuple[str, ...] = ()


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
    bound: str = ""  # the quota or queue that refused it, in place of a reason
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
        self.held: list[int] = []  # above their quotas
        self.granted: set[int] = set()  # those whose quota is taken: they are in line, or run
        self.reclaimed: list[tuple[int, int, float, float]] = []  # as `evicted`, for a quota
        self.stuck = False  # the head of the line was refused, and nothing has changed since
        self.ends: dict[int, float] = {}  # of the requests that hold something
        self.over_early: list[float] = []  # when interrupted holding periods were to end: a moment like others
        self.down: Counter[int] = Counter()  # the reasons why a server is down
        self.dark: set[int] = set()  # the domains that are down
        self.repairs: list[tuple[float, list[int], int | None]] = []  # when which servers are back, and which domain
        self.failures = list(case.failures)
        self.blackouts = list(case.blackouts)
        self.expansion = sorted(case.expansion, key=lambda added: added[0])
        self.notices: list[tuple[float, int, list[int]]] = []  # when who is to give way for which request
        self.asked_at: dict[int, float] = {}
        self.made: dict[int, int] = {}  # of whom others were evicted for, how many had been placed then
        self.vain: set[int] = set()
        self.evicted: list[tuple[int, int, float, float]] = []  # row, for which, when, what it lost
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
        while self.to_come or self.line or self.held:
            times = [*self.ends.values(), *(time for time, _, _ in self.repairs), *self.over_early, due]
            times += [time for time, _, _ in self.failures + self.blackouts] + [time for time, _ in self.expansion]
            times += [self.rows[i].arrival for i in self.to_come[:1]] + [due for due, _, _ in self.notices]
            if min(times) == inf:
                return self.give_up()
            self.now = min(times)
            if min(self.over_early, default=inf) <= self.now:
                self.over_early = [time for time in self.over_early if time > self.now]
                self.stuck = False
            self.release()
            self.change()
            if self.readmit():
                self.stuck = False
            while self.to_come and self.rows[self.to_come[0]].arrival == self.now:
                if self.enter(self.to_come.pop(0)) < self.case.together:
                    self.stuck = False
            if self.line and not self.stuck and due == inf:
                due = self.now
                while self.case.window and due % self.case.window:
                    due += 1  # times in tests are whole
            if due == self.now:
                due = inf
                self.stuck = True
                self.offer_together()

    def offer_together(self) -> None:
        self.readmit()
        while waiting := self.startable():
            offer = waiting[: self.case.together]
            placed = 0
            for i in self.order(offer):
                if self.held_back(i):
                    continue
                row = self.rows[i]
                if (where := self.decide(self.shown(i), i, row.demand, row.spread)) is not None:
                    self.place(i, where)
                    self.line.remove(i)
                    placed += 1
            if not placed or len(offer) == len(waiting):
                if not self.preempts(self.startable()[: self.case.together]):
                    return
                self.readmit()

    def place(self, i: int, where: Where) -> None:
        row = self.rows[i]
        self.taken.append(Taken(i, self.now, where, self.shown(i)))
        row.outcome, row.decided, row.where = "placed", self.now, where
        self.ends[i] = self.now + row.duration
        self.move(i, -1)

    def run(self) -> None:
        while not self.over and (self.to_come or self.line or self.held):
            self.now, before = self.next_time(), self.now
            if self.now == inf:
                self.now = before
                return self.give_up()
            assert self.now >= before
            self.release()
            self.change()
            self.offer()
            while not self.over and self.to_come and self.rows[self.to_come[0]].arrival == self.now:
                self.release()  # what was placed at this instant and lasts no time
                self.offer()
                if not self.over:
                    if self.enter(self.to_come.pop(0)) == 0:
                        self.stuck = False
                    self.offer()

    def give_up(self) -> None:
        for i in self.held + self.line:
            self.reject(i, self.lacks(i, self.usage()) if i in self.held else self.held_back(i))
            self.rows[i].gave_up = True

    def next_time(self) -> float:
        """When something happens next."""
        times = [*self.ends.values(), *(time for time, _, _ in self.repairs)]
        times += [time for time, _, _ in self.failures + self.blackouts] + [time for time, _ in self.expansion]
        times += [due for due, _, _ in self.notices]
        return min([*times, *(self.rows[i].arrival for i in self.to_come[:1])], default=inf)

    def release(self) -> None:
        for i in sorted(self.ends):
            if self.ends[i] <= self.now:
                self.give_back(i)
                self.stuck = False

    def give_back(self, i: int) -> None:
        del self.ends[i]
        self.granted.discard(i)
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
        for blackout in [blackout for blackout in self.blackouts if blackout[0] == self.now]:
            self.blackouts.remove(blackout)
            self.black_out(blackout[1], blackout[2])
        for repair in [repair for repair in self.repairs if repair[0] == self.now]:
            self.repairs.remove(repair)
            self.repair(repair[1])
            self.dark -= {repair[2]}
        for added in [added for added in self.expansion if added[0] == self.now]:
            self.expansion.remove(added)
            self.grow(added[1])
        for notice in [notice for notice in self.notices if notice[0] == self.now]:
            self.notices.remove(notice)
            self.stuck = False
            if notice[1] in self.line:
                self.evict(notice[1], notice[2])

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
        if server < len(self.capacity) and not self.down[server]:
            self.take_down([server])
            self.repairs.append((self.now + repair_after, [server], None))

    def black_out(self, domain: int, repair_after: float) -> None:
        self.stuck = False
        servers = [server for server in range(len(self.capacity)) if server % self.case.domains == domain]
        if servers and domain not in self.dark:
            self.dark.add(domain)
            self.take_down(servers)
            self.repairs.append((self.now + repair_after, servers, domain))

    def repair(self, servers: list[int]) -> None:
        self.stuck = False
        for server in servers:
            self.down[server] -= 1
            if not self.down[server]:
                self.free[server] = [list(node) for node in self.capacity[server]]
                self.note("repair", server)

    def take_down(self, servers: list[int]) -> None:
        fresh = [server for server in servers if not self.down[server]]
        self.down.update(servers)
        for server in fresh:
            self.note("failure", server)
        back = []
        for i in sorted(self.ends):
            row = self.rows[i]
            assert row.where is not None
            assert row.decided is not None
            if row.where[0] in fresh:
                self.over_early.append(self.ends[i])
                self.give_back(i)
                row.outcome, row.interruption = "interrupted", self.now
                if self.case.requeue:
                    back.append(self.again(i, row.duration - (self.now - row.decided)))
        self.take_back(back)
        for server in fresh:
            self.free[server] = [[0] * len(node) for node in self.free[server]]

    def offer(self) -> None:
        """The line from its head on, for as long as nobody is refused who then waits."""
        while not self.over:
            self.release()
            self.readmit()
            if not self.line or self.stuck:
                return
            i = self.line[0]
            row = self.rows[i]
            where = self.decide(self.shown(i), i, row.demand, row.spread)
            if where is not None:
                self.place(i, where)
                self.line.pop(0)
            else:
                self.overflow(i)

    # -- who gives way -----------------------------------------------------------------------------------------

    def again(self, i: int, left: float) -> int:
        """A new row for what is left of one that was cut short."""
        row = self.rows[i]
        self.rows.append(Row(self.now, left, row.demand, row.spread, origin=i))
        return len(self.rows) - 1

    def source(self, i: int) -> int:
        while self.rows[i].origin >= 0:
            i = self.rows[i].origin
        return i

    def urgency(self, i: int) -> int:
        return self.case.priorities[self.source(i)] if self.case.priorities else 0

    def priority(self, i: int) -> int:
        return self.urgency(i) if self.case.preempt else 0

    def in_order(self, line: list[int]) -> list[int]:
        return sorted(line, key=lambda i: (-self.queue(i).priority, -self.priority(i)))

    def enter(self, i: int) -> float:
        """Who arrives stands behind the equally urgent, if it may enter; its place in the line, 0 with queues."""
        place = inf
        if never := self.never(i):
            self.reject(i, never)
        elif self.admits(i):
            place = self.insert(i)
        self.readmit()
        return place

    def insert(self, i: int) -> int:
        self.line = self.in_order([*self.line, i])
        if self.line[0] == i:
            self.stuck = False
        return 0 if self.case.queues else self.line.index(i)

    def take_back(self, back: list[int]) -> None:
        """Those who were interrupted are the first of the equally urgent, if they may enter."""
        self.line = self.in_order([i for i in back if self.admits(i, again=True)] + self.line)

    # -- quotas ------------------------------------------------------------------------------------------------

    def group(self, i: int) -> str:
        return self.case.groups[self.source(i)] if self.case.groups else ""

    def usage(self, without: list[int] | None = None) -> dict[str, int]:
        """What each tenant uses, without some of those who run."""
        assert self.case.tenants
        counted = self.granted - {*(without or [])}
        return {
            tenant: sum(self.rows[i].demand[0] for i in counted if self.group(i) == tenant)
            for tenant in self.case.tenants.quotas
        }

    def lacks(self, i: int, usage: dict[str, int]) -> str:
        """Which quota keeps it out: its own, or what its cohort has; none if that is empty."""
        tenants, group, amount = self.case.tenants, self.group(i), self.rows[i].demand[0]
        if not tenants or group not in tenants.quotas or not amount:
            return ""
        mine = tenants.quotas[group]
        queues, used = [*tenants.quotas.values()], [usage[tenant] for tenant in tenants.quotas]
        if amount <= available(queues, used, [*tenants.quotas].index(group)):
            return ""
        own = usage[group] + amount > mine.nominal + (mine.borrowing_limit if mine.cohort else 0)
        return f"quota: a of group {group}" if own else f"quota: a of cohort {mine.cohort}"

    def admits(self, i: int, again: bool = False) -> bool:
        tenants = self.case.tenants
        if not tenants:
            return True
        reason = self.lacks(i, self.usage())
        if not reason:
            self.granted.add(i)
            return True
        if not again and (rows := self.borrowers(i)):
            self.granted -= {*rows}
            self.granted.add(i)
            self.stuck = False
            self.cut_short(rows, i, self.reclaimed, Preempt(checkpoint=tenants.checkpoint))
            return True
        if tenants.wait and not self.lacks(i, dict.fromkeys(tenants.quotas, 0)):
            self.held.append(i)
        else:
            self.reject(i, reason)
        return False

    def readmit(self) -> bool:
        """Those above their quotas enter where there is room again, the most urgent first."""
        found: list[int] = []
        while True:
            held, self.held = sorted(self.held, key=lambda i: -self.urgency(i)), []
            admitted = [i for i in held if self.admits(i)]
            found += admitted
            if not admitted:
                break
        for i in found:
            self.insert(i)
        return bool(found)

    def borrowers(self, i: int) -> list[int]:
        """Who gives way so that a tenant gets what is its own: of those that borrow the least urgent and latest."""
        tenants, group = self.case.tenants, self.group(i)
        assert tenants
        quotas, mine = tenants.quotas, tenants.quotas[group]
        if tenants.reclaim == "never" or self.usage()[group] + self.rows[i].demand[0] > mine.nominal:
            return []
        others = [
            j
            for j in self.ends
            if j in self.granted
            and self.group(j) in quotas
            and self.group(j) != group
            and quotas[self.group(j)].cohort == mine.cohort != ""
            and (tenants.reclaim == "any" or self.urgency(j) < self.urgency(i))
        ]
        others.sort(key=lambda j: (self.urgency(j), -(self.rows[j].decided or 0.0), -j))
        out: list[int] = []
        for j in others:
            if self.lacks(i, self.usage(out)) and self.usage(out)[self.group(j)] > quotas[self.group(j)].nominal:
                out.append(j)
        if not out or self.lacks(i, self.usage(out)):
            return []
        for j in out[-2::-1]:
            if not self.lacks(i, self.usage(less := [one for one in out if one != j])):
                out = less
        return out

    # -- queues ------------------------------------------------------------------------------------------------

    def takes(self, i: int, queue: Line) -> bool:
        return queue.group in ("", self.group(i))

    def queue(self, i: int) -> Line:
        """The first queue that takes it; none has any limit."""
        first = self.case.requests[self.source(i)][1]
        return next((each for each in self.case.queues if self.takes(i, each) and first <= each.longest), Line(""))

    def never(self, i: int) -> str:
        """Why no queue lets it run, even alone."""
        mine = self.queue(i)
        if mine not in self.case.queues and (those := [one for one in self.case.queues if self.takes(i, one)]):
            return f"queue: stays longer than {self.case.queues.index(those[-1])} takes"
        return self.above(i, [])

    def held_back(self, i: int) -> str:
        """Which limit of its queue keeps it from starting now."""
        return self.above(i, [*self.ends])

    def above(self, i: int, running: list[int]) -> str:
        mine, asked = self.queue(i), self.rows[i].demand[0]
        beside = [j for j in running if self.queue(j) is mine]
        user = self.case.users[self.source(i)] if self.case.users else ""
        of_user = [j for j in beside if self.case.users and self.case.users[self.source(j)] == user]
        if mine not in self.case.queues:
            return ""
        name = self.case.queues.index(mine)
        if len(beside) + 1 > mine.requests:
            return f"queue: requests in {name}"
        if asked and sum(self.rows[j].demand[0] for j in beside) + asked > mine.amount:
            return f"queue: a in {name}"
        return f"queue: requests of one user in {name}" if len(of_user) + 1 > mine.each else ""

    def startable(self) -> list[int]:
        return [i for i in self.line if not self.held_back(i)]

    def noticed(self) -> list[int]:
        return [i for _, _, rows in self.notices for i in rows]

    def preempts(self, refused: list[int]) -> bool:
        """Has somebody given way at once to one of those who were refused?"""
        preempt = self.case.preempt
        for i in sorted(refused, key=lambda i: -self.priority(i)) if preempt else []:
            assert preempt
            waits = any(by == i for _, by, _ in self.notices)
            if not waits and i in self.made:  # and it did not take the room, or others did
                since = [one.row for one in self.taken[self.made.pop(i) :] if one.row in self.ends]
                if self.why_not(i) == 0 or any(self.priority(j) < self.priority(i) for j in since):
                    self.vain.add(i)
            if waits or i in self.vain or self.asked_at.get(i) == self.now or self.why_not(i) == 0:
                continue
            self.asked_at[i] = self.now
            victims = self.victims(i, preempt)
            if victims and not preempt.grace:
                self.evict(i, victims)
                return True
            if victims:
                self.notices.append((self.now + preempt.grace, i, victims))
        return False

    def evict(self, by: int, victims: list[int]) -> None:
        assert self.case.preempt
        there = [i for i in victims if i in self.ends]
        if there:
            self.made[by] = len(self.taken)
        self.cut_short(there, by, self.evicted, self.case.preempt)

    def cut_short(self, rows: list[int], by: int, log: list[tuple[int, int, float, float]], preempt: Preempt) -> None:
        back = []
        for i in sorted(rows):
            row = self.rows[i]
            assert row.decided is not None
            ran = self.now - row.decided
            log.append((i, by, self.now, preempt.lost(ran)))
            self.over_early.append(self.ends[i])
            self.give_back(i)
            row.outcome, row.interruption = "interrupted", self.now
            if preempt.requeue:
                back.append(self.again(i, row.duration - (ran - preempt.lost(ran))))
        self.take_back(back)

    def victims(self, i: int, preempt: Preempt) -> list[int]:
        """All less urgent ones on a server, but for those who may stay; on the server where that costs least."""
        found: list[tuple[tuple[float, int, int], list[int]]] = []
        for server in range(len(self.capacity)):
            if not self.may(i)[server]:
                continue
            there = [j for j in sorted(self.ends) if self.on(j) == server and self.priority(j) < self.priority(i)]
            there = [j for j in there if j not in self.noticed()]
            there.sort(key=lambda j: (-self.cost([j], preempt), self.share(j), j))
            if not self.room(i, server, there):
                continue
            for j in list(there):
                if self.room(i, server, [one for one in there if one != j]):
                    there.remove(j)
            if there:
                found.append(((self.cost(there, preempt), len(there), server), sorted(there)))
        return min(found)[1] if found else []

    def room_on_notice(self, i: int) -> bool:
        """Will it have room on a server that it lacks now, when those who give way to the less urgent are gone?"""
        gone = [j for _, by, rows in self.notices if self.priority(by) < self.priority(i) for j in rows]
        there = {self.on(j): [k for k in gone if k in self.ends and self.on(k) == self.on(j)] for j in gone}
        waits = i not in self.vain and self.why_not(i) != 0
        return waits and any(self.may(i)[server] and self.room(i, server, rows) for server, rows in there.items())

    def on(self, i: int) -> int:
        where = self.rows[i].where
        assert where is not None
        return where[0]

    def room(self, i: int, server: int, without: list[int]) -> bool:
        """Does a request fit on a server when these are gone?"""
        free = [list(node) for node in self.free[server]]
        for j in without:
            row = self.rows[j]
            assert row.where is not None
            for _, node, amounts in shares(row.demand, row.spread, row.where, self.nodes):
                free[node] = [has + amount for has, amount in zip(free[node], amounts, strict=True)]
        return bool(feasible([free], self.rows[i].demand, self.rows[i].spread))

    def share(self, i: int) -> float:
        total = [sum(node[r] for server in self.capacity for node in server) for r in range(len(self.rows[i].demand))]
        return max(amount / most for amount, most in zip(self.rows[i].demand, total, strict=True) if most)

    def cost(self, rows: list[int], preempt: Preempt) -> float:
        ran = {i: self.now - (self.rows[i].decided or 0.0) for i in rows}
        if preempt.rule == "fewest":
            return len(rows)
        if preempt.rule == "lowest":
            return max(self.priority(i) for i in rows)
        if preempt.rule == "youngest":
            return max(ran.values())
        return sum(preempt.lost(ran[i]) * self.share(i) for i in rows)

    def overflow(self, i: int) -> None:
        if self.preempts([i]):
            return
        mode = self.case.mode
        if any(by == i for _, by, _ in self.notices) or self.room_on_notice(i):
            self.stuck = True
            return
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

    def reject(self, i: int, reason: str = "") -> None:
        row = self.rows[i]
        self.granted.discard(i)
        row.outcome, row.decided = "rejected", self.now
        row.bound, row.reason = reason, -1 if reason else self.why_not(i)

    # -- rules of placement ------------------------------------------------------------------------------------

    def role(self, i: int) -> Role:
        """What a request is to the rules; one that was sent back is what it was."""
        i = self.source(i)
        return Role(self.case.groups[i]) if self.case.groups else Role()

    def lies(self) -> dict[int, Lies]:
        """Who lies where."""
        found = {}
        for i in self.ends:
            where = self.rows[i].where
            assert where is not None
            found[i] = Lies((where[0],), self.role(i))
        return found

    def refused(self, i: int, lies: dict[int, Lies]) -> list[int]:
        """What keeps a request off each server, -1 for nothing; it does not count itself."""
        servers = len(self.capacity)
        if not self.case.placement:
            return [-1] * servers
        labels = ServerLabels(servers, {"zone": numbered(servers, 2)})
        others = [one for row, one in lies.items() if row != i]
        return [
            refused_by(labels, self.case.placement, others, self.role(i), server, self.now) for server in range(servers)
        ]

    def may(self, i: int) -> list[bool]:
        """On which servers the rules let a request lie."""
        return [said < 0 for said in self.refused(i, self.lies())]

    def shown(self, i: int) -> Room:
        """What whoever decides about a request sees free."""
        return [
            [list(node) if may else [0] * len(node) for node in server]
            for server, may in zip(self.free, self.may(i), strict=True)
        ]

    def why_not(self, i: int) -> int:
        """As `why_not` if no server has room; else the rule that takes the last one with room, 0 if one is left."""
        row = self.rows[i]
        code = why_not(self.free, row.demand, row.spread)
        said = self.refused(i, self.lies())
        taken = [said[server] for server, _ in feasible(self.free, row.demand, row.spread)]
        return code if code or min(taken) < 0 else 3 + len(row.demand) + max(taken)
