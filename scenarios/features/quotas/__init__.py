"""Quotas: what tenants may use, borrow and lend."""

from math import inf
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from binwright.fabric.compiled.tables import COHORTS, NO_TENANT, QuotaTable, exceeded, give_back, grant
from binwright.fabric.placement.rules import NO_BOUND
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Named, Point, chosen
from binwright.scenarios.features.preemption import Preempt, Preemption
from binwright.simcore.amounts import NamedAmounts
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Model, PositiveTime, Text, Where, known_resources, wrong
from binwright.simcore.jit import prepared
from binwright.simcore.record import QUOTA
from binwright.simcore.roles import where_of
from binwright.simcore.types import Ints, Request
from binwright.simcore.units import by_place
from binwright.workloads.labels import matching


class Quota(Model):
    """What a tenant may use. Resources that `nominal` does not name are not bounded."""

    nominal: NamedAmounts = Field(description="Its own quota.", examples=["{cpu: 40, mem: 90 GB}"], min_length=1)
    cohort: Text = Field(default="", description="Tenants of a cohort use what the others leave of theirs.")
    borrow: NamedAmounts = Field(default_factory=dict, examples=["{cpu: 20}"])
    """At most so much beyond its own; by default any amount."""
    lend: NamedAmounts = Field(default_factory=dict, examples=["{cpu: 10}"])
    """Others have at most so much of it; by default all."""

    @model_validator(mode="after")
    def _of_cohort(self) -> Self:
        for key, amounts in (("borrow", self.borrow), ("lend", self.lend)):
            if amounts and not self.cohort:
                raise wrong("is for members of a cohort", "Name one: cohort: research.", (key,))
            for name in amounts:
                if name not in self.nominal:
                    raise wrong("has no nominal quota", suggest(name, self.nominal), (key, name))
        return self


class Quotas(Model):
    """Bounds on what the requests of each tenant hold, as Kueue has them."""

    by: Text = Field(default="group", description="A label of the requests that tells tenants apart, or `group`.")
    of: dict[str, Quota] = Field(
        examples=["{a: {nominal: {cpu: 40}, cohort: all}, b: {nominal: {cpu: 20}, cohort: all}}"], min_length=1
    )
    """The quota of each tenant. Others are not bounded."""
    only: Where = Field(default_factory=dict, examples=["{models: A100}"])
    """Only such requests count, by labels, `group`, or `models`."""
    above: Literal["wait", "refuse"] = "wait"
    """A request above the quota waits apart from the line, or is refused."""
    reclaim: Literal["never", "lower", "any"] = "never"
    """Which borrowers a request within its nominal quota evicts: none, those of lower priority, any."""
    checkpoint: PositiveTime | None = None
    """They go on from their last checkpoint; by default they begin anew."""

    @model_validator(mode="after")
    def _evicted(self) -> Self:
        if self.checkpoint and self.reclaim == "never":
            remedy = "Write reclaim: lower, or any."
            raise wrong("is for those that are evicted, and nobody is", remedy, ("checkpoint",))
        return self


class QuotaBook:
    """Keeps the requests in line and those that run within quotas, in a simulation.

    A request takes its quota when it enters the line, and gives it back when it ends, is refused, or is evicted.
    """

    def __init__(self, simulation: Simulation, spec: Quotas) -> None:
        self._simulation, self.spec, self.resources = simulation, spec, simulation.view.resources
        workload, tenants = simulation.workload, np.full(len(simulation.record.outcome), NO_TENANT)
        counts = matching(workload, dict(where_of(spec.only)), "quotas.only")
        for number, name in enumerate(spec.of):
            tenants[: len(workload)][counts & matching(workload, {spec.by: (name,)}, "quotas.by")] = number
        self.names = [*spec.of]
        """The tenants."""
        self._cohorts = [quota.cohort for quota in spec.of.values()]
        names, shape = [*dict.fromkeys(filter(None, self._cohorts))], (len(spec.of), len(self.resources))
        table = QuotaTable(
            tenants,
            nominal=np.full(shape, -1),
            most=np.full(shape, NO_BOUND),
            lent=np.zeros(shape, np.int64),
            cohort=np.array([names.index(each) if each else -1 for each in self._cohorts], np.int64),
            reclaims=spec.reclaim != "never",
            used=np.zeros(shape, np.int64),
            granted=np.zeros(len(tenants), np.bool_),
            given_back=np.zeros(1, np.bool_),
        )
        simulation.tables = simulation.tables._replace(quotas=table)
        for tenant, quota in enumerate(spec.of.values()):
            borrow, lend = by_place(quota.borrow, self.resources), by_place(quota.lend, self.resources)
            for r, amount in by_place(quota.nominal, self.resources).items():
                table.nominal[tenant, r], table.lent[tenant, r] = amount, min(lend.get(r, amount), amount)
                if r in borrow or not quota.cohort:
                    table.most[tenant, r] = amount + borrow.get(r, 0)
        nothing = np.zeros(len(self.resources), np.int64)
        self._exceeded = prepared(exceeded, table, table.used, nothing, 1, 0)
        self._grant, self._give_back = prepared(grant, table, nothing, 1, 0), prepared(give_back, table, nothing, 1, 0)
        self.held: list[Request] = []
        """Those above their quotas, in order."""
        self.waited: dict[int, tuple[float, float]] = {}
        """Of every row that was above its quota, since when and until when."""
        self.reasons: dict[int, str] = {}
        """Of every row that was above its quota, which one."""
        self._evicted = Preempt.model_validate({"checkpoint": spec.checkpoint})
        simulation.quotas = self
        if spec.reclaim != "never" and simulation.preempting is None:
            Preemption(simulation, self._evicted)

    @property
    def table(self) -> QuotaTable:
        """The quotas, what is used of them, and by whom."""
        return self._simulation.tables.quotas

    def lacks(self, request: Request, used: Ints | None = None) -> str:
        """Say which quota keeps a request out, where so much is `used`, by default now; empty where none does."""
        table, row = self.table, request.index
        tenant = int(table.tenant[row])
        code = self._exceeded(table, table.used if used is None else used, *self._simulation.demand_of(row), tenant)
        if code < 0:
            return ""
        r, which = divmod(code, 2)
        of = f"cohort {self._cohorts[tenant]}" if which == COHORTS else f"{self.spec.by} {self.names[tenant]}"
        return f"{QUOTA}{self.resources[r]} of {of}"

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
        if self.spec.above == "wait" and not self.lacks(request, np.zeros_like(self.table.used)):
            self.held.append(request)
            self.waited.setdefault(request.index, (now, inf))
            self.reasons.setdefault(request.index, reason)
        else:
            simulation.refuse(request, reason)
        return False

    def readmitted(self) -> list[Request]:
        """Return those held that may enter the line now, the most urgent first."""
        result: list[Request] = []
        given_back = self.table.given_back
        while given_back[0] or self.spec.reclaim != "never":  # those evicted may give back more than was needed
            given_back[0] = False
            held, self.held = sorted(self.held, key=lambda each: -each.priority), []
            before, lacking = len(result), set[Any]()
            for request in held:
                kind = self.table.tenant[request.index], request.priority, request.demand, request.parts
                if kind in lacking:  # as one before it, since when nobody was admitted
                    self.held.append(request)
                elif self.admits(request):
                    self.waited[request.index] = self.waited[request.index][0], self._simulation.now
                    result.append(request)
                    lacking.clear()
                else:
                    lacking.add(kind)
            if len(result) == before:
                break
        return result

    def refuse_held(self) -> None:
        """Refuse those who are still held, as the run is over."""
        for request in self.held:
            self._simulation.refuse(request, self.lacks(request))
        self.held = []

    def grant(self, request: Request) -> None:
        """Take a request's quota."""
        self._grant(self.table, *self._simulation.demand_of(request.index), request.index)

    def freed(self, row: int) -> None:
        """Give back the quota of a row, if it has any."""
        self._give_back(self.table, *self._simulation.demand_of(row), row)

    def _borrowers(self, request: Request) -> list[int]:
        """Choose the rows to be evicted so that a tenant gets its own quota back; none where that is not enough.

        The least urgent go first, of equals those that were placed last, each only while its tenant borrows; those who
        need not have gone stay, the last chosen first.
        """
        simulation, table, used = self._simulation, self.table, self.table.used.copy()
        tenant_of, nominal, tenant = table.tenant, table.nominal, int(table.tenant[request.index])
        if self.spec.reclaim == "never" or tenant == NO_TENANT or table.cohort[tenant] < 0:
            return []
        taken = self._taken(request.index)
        if ((taken > 0) & (used[tenant] + taken > nominal[tenant])).any():
            return []
        moving = simulation.moving.on_the_way if simulation.moving else ()
        running = {simulation.lead(row) for row in simulation.ledger.running}.difference(moving)
        priority = {row: simulation.request(row).priority for row in running if table.granted[row]}
        chosen = list[int]()
        for row in sorted(priority, key=lambda row: (priority[row], -simulation.record.decided[row], -row)):
            other = tenant_of[row]
            member = other not in (tenant, NO_TENANT) and table.cohort[other] == table.cohort[tenant]
            may_go = member and (self.spec.reclaim == "any" or priority[row] < request.priority)
            if may_go and ((taken > 0) & (nominal[other] >= 0) & (used[other] > nominal[other])).any():
                used[other] -= self._taken(row)
                chosen.append(row)
                if not self.lacks(request, used):
                    break
        else:
            return []
        for row in chosen[-2::-1]:
            used[tenant_of[row]] += self._taken(row)
            if self.lacks(request, used):
                used[tenant_of[row]] -= self._taken(row)
            else:
                chosen.remove(row)
        return chosen

    def _taken(self, row: int) -> Ints:
        """Return what a row takes of its tenant's quotas, int64 [resources]."""
        demand, parts = self._simulation.demand_of(row)
        taken: Ints = np.where(self.table.nominal[self.table.tenant[row]] >= 0, parts * demand, 0)
        return taken


class _Keys(Model):
    quotas: Quotas | None = Field(default=None, examples=["{by: tenant, of: {a: {nominal: {cpu: 40}}}}"])
    """What tenants may use, borrow and reclaim."""


class _Feature(Feature):
    key = "quotas"
    keys: ClassVar = {"": _Keys}
    learned = False

    def check(self, scenario: Any) -> None:
        for name, each in scenario.quotas.of.items():
            known_resources(each.nominal, scenario.resources, ("quotas", "of", name, "nominal"))

    def names(self, scenario: Any) -> list[Named]:
        spec: Quotas | None = scenario.quotas
        if spec is None:
            return []
        return [*((("quotas", "of", name), spec.by, name) for name in spec.of), *chosen(("quotas", "only"), spec.only)]

    def by_priority(self, scenario: Any) -> bool:
        return bool(scenario.quotas.reclaim == "lower")

    def attach(self, point: Point, simulation: Simulation) -> None:
        QuotaBook(simulation, point.scenario.quotas)

    def why(self, simulation: Simulation, row: int) -> list[str]:
        book = simulation.quotas
        if not isinstance(book, QuotaBook) or row not in book.waited:
            return []
        since, until = book.waited[row]
        return [f"above its {book.reasons[row]} for {min(until, simulation.now) - since:g} s"]


FEATURE = _Feature()
