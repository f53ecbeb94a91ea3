"""Keeps a run within its quotas: who may enter the line, and who is evicted for whom, as in Kueue."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.preemption import Preempt
from binwright.scenarios.features.preemption.run import Preemption
from binwright.simcore.record import QUOTA
from binwright.simcore.roles import where_of
from binwright.simcore.types import Request
from binwright.simcore.units import by_place
from binwright.workloads.changes import matching

if TYPE_CHECKING:
    from binwright.scenarios.features.quotas import Quotas


class QuotaBook:
    """Keeps the requests in line and those that run within quotas, in a simulation.

    A request takes its quota when it enters the line, and gives it back when it ends, is refused, or is evicted.
    """

    def __init__(self, simulation: Simulation, spec: Quotas) -> None:
        self._simulation, self.spec, self.resources = simulation, spec, simulation.view.resources
        workload, self.of = simulation.workload, np.full(len(simulation.workload), -1, np.int64)
        """The place of the quota of every row of the workload, int64 [n], -1 for none."""
        counts = matching(workload, dict(where_of(spec.only)), "quotas.only")
        for number, name in enumerate(spec.of):
            self.of[counts & matching(workload, {spec.by: (name,)}, "quotas.by")] = number
        self.names, quotas = [*spec.of], [*spec.of.values()]
        """The tenants."""
        self.cohorts = [quota.cohort for quota in quotas]
        self.nominal, self._borrow, self._lend = (
            [by_place(getattr(quota, kind), self.resources) for quota in quotas]
            for kind in ("nominal", "borrow", "lend")
        )
        """Of every quota quanta, by the place of a resource."""
        self.used = [dict.fromkeys(nominal, 0) for nominal in self.nominal]
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
        self._evicted = Preempt.model_validate({"checkpoint": spec.checkpoint})
        simulation.quotas = self
        if spec.reclaim != "never" and simulation.preempting is None:
            Preemption(simulation, self._evicted)

    def most(self, tenant: int, r: int) -> float:
        """Return how much of a resource a tenant itself may use at most."""
        return self.nominal[tenant][r] + (self._borrow[tenant].get(r, inf) if self.cohorts[tenant] else 0)

    def lent(self, tenant: int, r: int) -> int:
        """Return how much of its quota of a resource others may use."""
        return min(self._lend[tenant].get(r, self.nominal[tenant][r]), self.nominal[tenant][r])

    def _asks(self, request: Request) -> tuple[int, dict[int, int]]:
        """Return whose quota a request counts against, -1 for nobody's, and how much of it."""
        tenant = int(self.of[self._simulation.source(request.index)])
        parts = request.parts
        return tenant, {r: parts * request.demand[r] for r in self.nominal[tenant]} if tenant >= 0 else {}

    def lacks(self, request: Request, used: Sequence[dict[int, int]] | None = None) -> str:
        """Say which quota keeps a request out, where so much is `used`, by default now; empty where none does."""
        used = self.used if used is None else used
        tenant, asked = self._asks(request)
        for r, amount in asked.items():
            cohort = self.cohorts[tenant]
            if not amount:
                continue
            if used[tenant][r] + amount > self.most(tenant, r):
                return f"{QUOTA}{self.resources[r]} of {self.spec.by} {self.names[tenant]}"
            lent = taken = 0
            for number, use in enumerate(used):
                if r in use and self.cohorts[number] == cohort and (cohort or number == tenant):
                    lent += self.lent(number, r)
                    kept = self.nominal[number][r] - self.lent(number, r)
                    taken += max(0, use[r] + amount * (number == tenant) - kept)
            if taken > lent:
                return f"{QUOTA}{self.resources[r]} of cohort {cohort}"
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
            simulation.preempting.reclaims(rows, request.index, self._evicted)
            return True
        if self.spec.above == "wait" and not self.lacks(request, [dict.fromkeys(use, 0) for use in self.used]):
            self.held.append(request)
            self.waited.setdefault(request.index, (now, inf))
            self.reasons.setdefault(request.index, reason)
        else:
            simulation.refuse(request, reason)
        return False

    def readmitted(self) -> list[Request]:
        """Return those held that may enter the line now, the most urgent first."""
        found: list[Request] = []
        while self._given_back or self.spec.reclaim != "never":  # those evicted may give back more than was needed
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
        nominal, used, simulation = self.nominal, [dict(use) for use in self.used], self._simulation
        within = all(used[tenant][r] + amount <= nominal[tenant][r] for r, amount in asked.items() if amount)
        if self.spec.reclaim == "never" or not within:
            return []
        moving = simulation.moving.on_the_way if simulation.moving else ()
        running = {simulation.lead(row) for row in simulation.ledger.running}.intersection(self._granted).difference(
            moving
        )
        rows = [
            row
            for row in sorted(running)
            if self.cohorts[self._granted[row][0]] == self.cohorts[tenant] != ""
            and self._granted[row][0] != tenant
            and (self.spec.reclaim == "any" or simulation.running_request(row).priority < request.priority)
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
            if any(used[other][r] > nominal[other][r] for r in asked if r in used[other] and asked[r]):
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
