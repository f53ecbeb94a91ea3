"""Quotas: how much of every resource the requests of a tenant may hold, and who lends to whom, as in Kueue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

from binwright.simcore.engine import Simulation
from binwright.simcore.preemption import Preemption
from binwright.simcore.record import QUOTA
from binwright.simcore.rules import PreemptionRules
from binwright.simcore.types import Ints, Request, Workload


@dataclass(frozen=True, slots=True)
class Quota:
    """Bounds what a tenant uses: quanta by the place of a resource; others are not bounded.

    The members of a `cohort` use what others leave of theirs, up to `borrow` more than their own `nominal` quota, and
    let others have all of it but what exceeds `lend`.
    """

    name: str
    nominal: dict[int, int]
    borrow: dict[int, int] = field(default_factory=dict)
    lend: dict[int, int] = field(default_factory=dict)
    cohort: str = ""

    def most(self, r: int) -> float:
        """Return how much of a resource the tenant itself may use at most."""
        return self.nominal[r] + (self.borrow.get(r, inf) if self.cohort else 0)

    def lent(self, r: int) -> int:
        """Return how much of its quota of a resource others may use."""
        return min(self.lend.get(r, self.nominal[r]), self.nominal[r])


@dataclass(frozen=True, slots=True)
class QuotaRules:
    """Says whose quota requests count against, and what becomes of those above it.

    `of` tells the place among `quotas` of every row of a workload, int64 [n], -1 for none; `by` is what tenants are
    told apart by, in words. Who is above a quota waits apart from the line, or is refused (`wait`). To `reclaim` what
    others of the cohort have borrowed, those are evicted: `any`, or such of `lower` priority; they go on as `evicted`
    says.
    """

    by: str
    of: Callable[[Workload], Ints]
    quotas: tuple[Quota, ...]
    wait: bool = True
    reclaim: Literal["never", "lower", "any"] = "never"
    evicted: PreemptionRules = field(default_factory=PreemptionRules)


class Quotas:
    """Keeps the requests in line and those that run within quotas, in a simulation.

    A request takes its quota when it enters the line, and gives it back when it ends, is refused, or is evicted.
    """

    def __init__(self, simulation: Simulation, rules: QuotaRules) -> None:
        self._simulation, self.rules, self.resources = simulation, rules, simulation.view.resources
        self.of = rules.of(simulation.workload)
        """The place of the quota of every row of the workload, int64 [n], -1 for none."""
        self.used = [dict.fromkeys(quota.nominal, 0) for quota in rules.quotas]
        """What is used of every quota: quanta by the place of a resource."""
        self.held: list[Request] = []
        """Those above their quotas, in order."""
        self.waited: dict[int, tuple[float, float]] = {}
        """Of every row that was above its quota, since when and until when."""
        self.reasons: dict[int, str] = {}
        """Of every row that was above its quota, which one."""
        self._granted: dict[int, tuple[int, dict[int, int]]] = {}
        self._given_back = False
        """Whether a quota has been given back since those held were looked at."""
        simulation.quotas = self
        if rules.reclaim != "never" and simulation.preempting is None:
            Preemption(simulation, rules.evicted)

    def _asks(self, request: Request) -> tuple[int, dict[int, int]]:
        """Return whose quota a request counts against, -1 for nobody's, and how much of it."""
        tenant = int(self.of[self._simulation.source(request.index)])
        parts = request.parts
        return tenant, {r: parts * request.demand[r] for r in self.rules.quotas[tenant].nominal} if tenant >= 0 else {}

    def lacks(self, request: Request, used: Sequence[dict[int, int]] | None = None) -> str:
        """Say which quota keeps a request out, where so much is `used`, by default now; empty where none does."""
        used = self.used if used is None else used
        tenant, asked = self._asks(request)
        for r, amount in asked.items():
            quota = self.rules.quotas[tenant]
            if not amount:
                continue
            if used[tenant][r] + amount > quota.most(r):
                return f"{QUOTA}{self.resources[r]} of {self.rules.by} {quota.name}"
            lent = taken = 0
            for number, (other, use) in enumerate(zip(self.rules.quotas, used, strict=True)):
                if r in other.nominal and other.cohort == quota.cohort and (quota.cohort or number == tenant):
                    kept = other.nominal[r] - other.lent(r)
                    lent += other.lent(r)
                    taken += max(0, use[r] + amount * (number == tenant) - kept)
            if taken > lent:
                return f"{QUOTA}{self.resources[r]} of cohort {quota.cohort}"
        return ""

    def admits(self, request: Request, again: bool = False) -> bool:
        """Let a request into the line if its quota has room, or those evicted give it back; else hold or refuse it.

        Nobody is evicted for one that was itself, and comes `again`.
        """
        simulation, now = self._simulation, self._simulation.now
        reason = self.lacks(request)
        if not reason:
            self.grant(request)
            return True
        if not again and (rows := self._borrowers(request)):
            for row in rows:
                self.freed(row)
            self.grant(request)
            assert simulation.preempting
            simulation.preempting.reclaims(rows, request.index, self.rules.evicted)
            return True
        if self.rules.wait and not self.lacks(request, [dict.fromkeys(use, 0) for use in self.used]):
            self.held.append(request)
            self.waited.setdefault(request.index, (now, inf))
            self.reasons.setdefault(request.index, reason)
        else:
            simulation.refuse(request, reason)
        return False

    def readmitted(self) -> list[Request]:
        """Return those held that may enter the line now, the most urgent first."""
        found: list[Request] = []
        while self._given_back or self.rules.reclaim != "never":  # those evicted may give back more than was needed
            self._given_back = False
            held, self.held = sorted(self.held, key=lambda one: -one.priority), []
            before, lacking = len(found), set[Any]()
            for request in held:
                kind = self.of[self._simulation.source(request.index)], request.priority, request.demand, request.parts
                if kind in lacking:  # as one before it, since when nobody was admitted
                    self.held.append(request)
                elif self.admits(request):
                    self.waited[request.index] = self.waited[request.index][0], self._simulation.now
                    found.append(request)
                    lacking.clear()
                else:
                    lacking.add(kind)
            if len(found) == before:
                break
        return found

    def refuse_held(self) -> None:
        """Refuse those who are still held, as the run is over."""
        for request in self.held:
            self._simulation.refuse(request, self.lacks(request))
        self.held = []

    def grant(self, request: Request) -> None:
        """Take a request's quota."""
        tenant, asked = self._granted[request.index] = self._asks(request)
        for r, amount in asked.items():
            self.used[tenant][r] += amount

    def freed(self, row: int) -> None:
        """Give back the quota of a row, if it has any."""
        self._given_back = True
        tenant, asked = self._granted.pop(row, (-1, {}))
        for r, amount in asked.items():
            self.used[tenant][r] -= amount

    def _borrowers(self, request: Request) -> list[int]:
        """Choose the rows to be evicted so that a tenant gets its own quota back; none where that is not enough.

        The least urgent go first, of equals those that were placed last, each only while its tenant borrows; those who
        need not have gone stay, the last chosen first.
        """
        tenant, asked = self._asks(request)
        quotas, used, simulation = self.rules.quotas, [dict(use) for use in self.used], self._simulation
        within = all(used[tenant][r] + amount <= quotas[tenant].nominal[r] for r, amount in asked.items() if amount)
        if self.rules.reclaim == "never" or not within:
            return []
        moving = simulation.moving.on_the_way if simulation.moving else ()
        running = {simulation.lead(row) for row in simulation.ledger.running}.intersection(self._granted).difference(
            moving
        )
        rows = [
            row
            for row in sorted(running)
            if quotas[self._granted[row][0]].cohort == quotas[tenant].cohort != ""
            and self._granted[row][0] != tenant
            and (self.rules.reclaim == "any" or simulation.running_request(row).priority < request.priority)
        ]
        decided = simulation.record.decided
        rows.sort(key=lambda row: (simulation.running_request(row).priority, -decided[row], -row))
        chosen: list[int] = []

        def take(row: int, sign: int) -> None:
            other, amounts = self._granted[row]
            for r, amount in amounts.items():
                used[other][r] += sign * amount

        for row in rows:
            other = self._granted[row][0]
            if any(used[other][r] > quotas[other].nominal[r] for r in asked if r in used[other] and asked[r]):
                take(row, -1)
                chosen.append(row)
                if not self.lacks(request, used):
                    break
        else:
            return []
        for row in chosen[-2::-1]:
            take(row, 1)
            if self.lacks(request, used):
                take(row, -1)
            else:
                chosen.remove(row)
        return chosen
