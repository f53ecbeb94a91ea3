"""Quotas: what tenants may use, borrow and lend."""

from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from binwright.fabric.compiled.tables import CounterBook, add, counters_of
from binwright.fabric.mask import NO_BOUND
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Named, Point, chosen
from binwright.scenarios.features.preemption import Preempt, Preemption
from binwright.scenarios.features.preemption.victims import running
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Model, PositiveTime, Text, Where, known_resources, wrong
from binwright.simcore.jit import prepared
from binwright.simcore.record import QUOTA
from binwright.simcore.roles import where_of
from binwright.simcore.types import Flags, Ints, Request
from binwright.simcore.units import by_place
from binwright.workloads.amounts import NamedAmounts
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


class QuotaBook(CounterBook):
    """Keeps the requests in line and those that run within quotas, in a simulation.

    A request takes its quota when it enters the line, and gives it back when it ends, is refused, or is evicted.
    """

    def __init__(self, simulation: Simulation, spec: Quotas) -> None:
        self.spec, self.resources = spec, simulation.view.resources
        workload, width = simulation.workload, len(self.resources)
        counts = matching(workload, dict(where_of(spec.only)), "quotas.only")
        self.names = [*spec.of]
        """The tenants."""
        self._cohorts = cohorts = [quota.cohort for quota in spec.of.values()]
        groups = [*dict.fromkeys(filter(None, cohorts))]
        self.nominal = np.full((len(cohorts), width), -1)
        """What each tenant owns of each resource, int64 [tenants, resources]; -1 where that is not bounded."""
        # A counter for each resource of each tenant, and then of each cohort: what its members lend.
        most, own = np.zeros((2, len(cohorts) + len(groups), width), np.int64)
        most[: len(cohorts)], parent = NO_BOUND, np.full(most.shape, -1)
        counter = np.full((len(workload), width), -1)
        for tenant, (name, quota) in enumerate(spec.of.items()):
            mine = counts & matching(workload, {spec.by: (name,)}, "quotas.by")
            borrow, lend = by_place(quota.borrow, self.resources), by_place(quota.lend, self.resources)
            for r, amount in by_place(quota.nominal, self.resources).items():
                counter[mine, r], self.nominal[tenant, r] = tenant * width + r, amount
                if r in borrow or not quota.cohort:
                    most[tenant, r] = amount + borrow.get(r, 0)
                if quota.cohort:
                    group, lent = len(cohorts) + groups.index(quota.cohort), min(lend.get(r, amount), amount)
                    parent[tenant, r], own[tenant, r] = group * width + r, amount - lent
                    most[group, r] += lent
        table = counters_of(counter, simulation.taken, most.ravel(), own.ravel(), parent.ravel())
        whose = [*(f"{spec.by} {name}" for name in self.names), *(f"cohort {name}" for name in groups)]
        reasons = [f"{QUOTA}{resource} of {each}" for each in whose for resource in self.resources]
        super().__init__(simulation, "quotas", table, reasons)
        table.returned[0] = spec.reclaim != "never"  # those who reclaim may always have room
        self._add = prepared(add, table, table.used, 0, 1)
        self.held: list[Request] = []
        """Those above their quotas, in order."""
        self._evicted = Preempt.model_validate({"checkpoint": spec.checkpoint})
        simulation.quotas = self
        if spec.reclaim != "never" and simulation.preempting is None:
            Preemption(simulation, self._evicted)

    def tenants(self, rows: int | slice | Ints) -> Ints:
        """Return whose quota a row, or each of several, counts against, int64, -1 for nobody's."""
        tenants: Ints = self.table.counter[rows].max(axis=-1) // len(self.resources)
        return tenants

    def by_tenant(self, used: Ints) -> Ints:
        """Return what each tenant has of what is `used` int64 [counters] as a window, int64 [tenants, resources]."""
        return used[: self.nominal.size].reshape(self.nominal.shape)

    def admits(self, request: Request, again: bool = False) -> bool:
        """Let a request into the line if its quota has room, or those evicted give it back; else hold or refuse it.

        Nobody is evicted for one that was itself, and comes `again`.
        """
        row, reason = request.index, self.lacks(request.index)
        if not reason:
            self.started(row)
            return True
        if not again and (rows := self._borrowers(request)):
            for each in rows:
                self.freed(each)
            self.started(row)
            assert self._simulation.preempting
            self._simulation.preempting.reclaims(rows, row, self._evicted)
            return True
        if self.table.until[row] == np.inf or (self.spec.above == "wait" and not self.lacks_alone(row)):  # held before
            self.held.append(request)
            self._is_held(self.table, row, self._simulation.now)
        else:
            self._simulation.refuse(request, reason)
        return False

    def readmitted(self) -> list[Request]:
        """Return those held that may enter the line now, the most urgent first."""
        result, returned = list[Request](), self.table.returned
        while returned[0]:  # those evicted may give back more than was needed
            returned[0] = self.spec.reclaim != "never"
            held, self.held = sorted(self.held, key=lambda each: -each.priority), []
            before, lacking = len(result), set[Any]()
            for request in held:
                kind = self.table.counter[request.index].tobytes(), request.priority, request.demand, request.parts
                if kind in lacking:  # as one before it, since when nobody was admitted
                    self.held.append(request)
                elif self.admits(request):
                    self.table.until[request.index] = self._simulation.now
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
            self._simulation.refuse(request, self.lacks(request.index))
        self.held = []

    def _borrowers(self, request: Request) -> list[int]:
        """Choose the rows to be evicted so that a tenant gets its own quota back; none where that is not enough.

        The least urgent go first, of equals those that were placed last, each only while its tenant borrows; those who
        need not have gone stay, the last chosen first.
        """
        simulation, table, nominal = self._simulation, self.table, self.nominal
        tenant = int(self.tenants(request.index))
        if self.spec.reclaim == "never" or tenant < 0 or not self._cohorts[tenant]:
            return []
        used, taken = table.used.copy(), table.amount[request.index]
        of_tenants = self.by_tenant(used)
        own = zip(taken.tolist(), of_tenants[tenant].tolist(), nominal[tenant].tolist(), strict=True)
        if any(amount > 0 and amount + before > most for amount, before, most in own):
            return []

        def borrows(which: slice | int) -> Flags:  # of_tenants changes with `used`
            above = (taken > 0) & (nominal[which] >= 0) & (of_tenants[which] > nominal[which])
            result: Flags = above.any(axis=-1)
            return result

        rows, lead, priority = running(simulation)
        tenants, moving = self.tenants(rows), simulation.moving.on_the_way if simulation.moving else ()
        lends = np.array([cohort == self._cohorts[tenant] for cohort in self._cohorts]) & borrows(slice(None))
        lends[tenant] = False
        may_go = table.counts[rows] & (lead == rows) & (tenants >= 0) & lends[tenants] & ~np.isin(rows, [*moving])
        if self.spec.reclaim == "lower":
            may_go &= priority < request.priority
        rows, tenants, priority = rows[may_go], tenants[may_go], priority[may_go]
        order = np.lexsort((-rows, -simulation.record.decided[rows], priority))
        chosen = list[int]()
        for row, other in zip(rows[order].tolist(), tenants[order].tolist(), strict=True):
            if borrows(other):
                self._add(table, used, row, -1)
                chosen.append(row)
                if not self.lacks(request.index, used):
                    break
        else:
            return []
        for row in chosen[-2::-1]:
            self._add(table, used, row, 1)
            if self.lacks(request.index, used):
                self._add(table, used, row, -1)
            else:
                chosen.remove(row)
        return chosen


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
        if not isinstance(book, QuotaBook) or (waited := book.waited(row)) is None:
            return []
        since, until, reason = waited
        return [f"above its {reason} for {until - since:g} s"]


FEATURE = _Feature()
