"""Priorities and preemption: less urgent requests give way to one that fits nowhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isnan, nan
from types import FunctionType
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import HOUR, FinishedRun
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Point, way
from binwright.scenarios.features.overflow import AfterPreemption, Word
from binwright.scenarios.features.preemption.victims import (
    TOGETHER,
    VICTIM_RULES,
    Victim,
    Victims,
    give_way,
    running,
)
from binwright.simcore.agent_calls import describe_request, raised
from binwright.simcore.fields import Model, PositiveTime, Shown, Text, Time, checked, wrong
from binwright.simcore.types import QUANTUM, Flags, Floats, Ints, Request
from binwright.simcore.unions import PlainOrMapping


class Preempt(Model):
    """Less urgent requests are evicted where that costs least, to make room for one that fits nowhere."""

    victims: Text = Field(default="lowest", examples=["cheapest", "mine.py:cost"])
    """The cost of a victim: its priority (`lowest`), its time so far (`youngest`), the work lost (`cheapest`), one
    (`fewest`), or a function `(view, request, victims)`. Costs are summed; of the first two the largest counts."""
    grace: Time = Field(default=0.0, description="Victims run on for this time after their notice.")
    then: Literal["requeue", "drop"] = "requeue"
    """Victims are offered again, first of their priority, and meet `otherwise` where they fit nowhere; or they are
    lost."""
    checkpoint: PositiveTime | None = None
    """Victims resume from a checkpoint every so often; by default they begin anew."""
    otherwise: Annotated[
        Word | AfterPreemption,
        PlainOrMapping(),
        Shown("`drop`, `wait`, `stop`, {expand: [Expand](#expand)} or {wait: [Wait](#wait)}"),
    ] = "wait"
    """What happens when that makes no room."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        if not callable(checked(VICTIM_RULES.load, ("victims",))(self.victims)):
            raise wrong("is no function", "Name one that takes (view, request, victims).", ("victims",), self.victims)
        return self

    def checkpointed(self, ran: Any) -> Any:
        """Return how much of the time that a victim has run is not lost; of several, float64 [n]."""
        return ran // self.checkpoint * self.checkpoint if self.checkpoint else 0.0


@dataclass(slots=True)
class Eviction:
    """Tells of a request that was told to give way: which row, for which, when, until when, and what became of it.

    `lost` are the seconds of its work that were lost.
    """

    row: int
    by: int
    notice: float
    end: float = nan
    outcome: Literal["noticed", "evicted", "ended", "called off"] = "noticed"
    lost: float = 0.0


class Preemption:
    """Makes room in a simulation for requests that were refused, at the cost of less urgent ones."""

    def __init__(self, simulation: Simulation, spec: Preempt) -> None:
        self._simulation, self.spec, self._rule = simulation, spec, VICTIM_RULES.load(spec.victims)
        simulation.preempting = self
        self.log: list[Eviction] = []
        """Every eviction of which notice was given, in order."""
        self._noticed: dict[int, list[Eviction]] = {}
        """Of every request for which others are to give way, by its row, who."""
        self._tried: dict[int, float] = {}
        self._made: dict[int, int] = {}
        """Of every request for which others were evicted, how many answers there were by then."""
        self._vain: set[int] = set()
        """Requests that did not take the room that was made for them."""

    def makes_room(self, requests: Iterable[Request]) -> Literal["now", "later", ""]:
        """Evict for the first of these requests, the most urgent first, that can have room so; tells when it has it.

        The requests were refused. Nobody is evicted where there is room, for a request twice at an instant, or for one
        that did not take such room before. Where nobody can be, those on notice for the less urgent may leave room.
        """
        simulation, now, result = self._simulation, self._simulation.now, ""
        for request in sorted(requests, key=lambda each: -each.priority):
            row = request.index
            if row in self._noticed:
                result = "later"
            elif not self._in_vain(request) and self._simulation.ledger.lacks_room(request):
                fresh, self._tried[row] = self._tried.get(row) != now, now
                evictions = [Eviction(victim, row, now) for victim in (self._choose(request) if fresh else ())]
                self.log += evictions
                if evictions and not self.spec.grace:
                    self._evict(evictions)
                    return "now"
                if evictions:
                    self._noticed[row] = evictions
                    simulation.clock.at(now + self.spec.grace, self._end_of_grace, row)
                if evictions or (self._noticed and self._choose(request, noticed=True)):
                    result = "later"
        return "later" if result else ""

    def _in_vain(self, request: Request) -> bool:
        """Tell whether others gave way to a request for nothing: its agent declined, or preferred somebody less urgent.

        They would give way for ever, as those who are evicted start again.
        """
        simulation, row = self._simulation, request.index
        if (before := self._made.pop(row, None)) is not None:
            since = [each for each in simulation.record.sequence[before:].tolist() if each in simulation.ledger.running]
            less = any(simulation.request(each).priority < request.priority for each in since)
            if less or not self._simulation.ledger.lacks_room(request):
                self._vain.add(row)
        return row in self._vain

    def reclaims(self, rows: Sequence[int], by: int, spec: Preempt) -> None:
        """Evict requests of these rows at once, as `spec` says, so that another one, in row `by`, has its quota."""
        evictions = [Eviction(row, by, self._simulation.now) for row in self._simulation.with_parts(rows)]
        self.log += evictions
        self._evict(evictions, spec)

    def _end_of_grace(self, row: int) -> None:
        """Evict those who had notice, unless the request waits no more."""
        evictions = self._noticed.pop(row)
        if any(waiting.index == row for waiting in self._simulation.line):
            self._evict(evictions)
        for each in evictions:
            if each.outcome == "noticed":
                each.outcome, each.end = "called off", self._simulation.now

    def _evict(self, evictions: Sequence[Eviction], spec: Preempt | None = None) -> None:
        simulation, now, spec = self._simulation, self._simulation.now, spec or self.spec
        running = [each for each in evictions if each.row in simulation.ledger.running]
        if running and spec is self.spec:
            self._made[running[0].by] = len(simulation.record.sequence)
        for each in evictions:
            each.outcome, each.end = "ended", now
        for each in running:
            ran = now - float(simulation.record.decided[each.row])
            each.outcome, each.lost = "evicted", ran - spec.checkpointed(ran)
        simulation.evict([each.row for each in running], spec.then == "requeue", spec.checkpointed)

    # -- who gives way --------------------------------------------------------------------------------------------

    def _choose(self, request: Request, *, noticed: bool = False) -> list[int]:
        """Choose the rows to be evicted for a request, all on one server; none where that makes no room.

        On every server all victims go, but for those whom the request leaves room: the dearest by the rule are tried
        first, of equals those that hold least. Of the servers that has them whose victims cost least, then the one
        with the fewest, then the first. For a gang it is all servers, or those of one domain, together; in a network
        all servers, and links count for nothing.
        """
        simulation, ledger, gang = self._simulation, self._simulation.ledger, request.gang
        if not simulation.interested[request.index : request.index + 1].any():  # nobody is less urgent
            return []
        one_server, open_to = not gang and not ledger.tiers, ledger.open_to(request)
        domain = np.arange(len(open_to)) if one_server else np.zeros(len(open_to), np.int64)
        if gang and gang.rules.together:
            domain = ledger.rules.domains(gang.rules.together)
        record, victims = simulation.record, self._victims(request, open_to if one_server else None, noticed)
        if not len(victims.row):
            return []
        everyone, of = np.arange(len(victims.row)), victims.of
        place = domain[record.server[victims.rows]]
        order = np.lexsort((victims.share[of], -self._costs(request, victims, everyone, everyone)[of], place))
        place, of, rows = place[order], of[order], victims.rows[order]
        if one_server and not (ledger.devices or ledger.peaks):
            columns = rows, of, simulation.requests.demand, record.server, record.node
            goes = give_way(ledger.arrays[1], request.demand, request.spread, *columns)
        else:
            goes, begins = np.zeros(len(of), np.bool_), np.diff([place, of], prepend=-1).any(axis=0)
            for spot in dict.fromkeys(place.tolist()):
                first = np.flatnonzero((place == spot) & begins)
                those = [simulation.with_parts([row]) for row in victims.row[of[first]].tolist()]
                go = ledger.give_way(request, spot if one_server else open_to & (domain == spot), those)
                goes[first[go]] = True
        if not goes.any():
            return []
        of, sets = of[goes], np.unique(place[goes], return_inverse=True)[1]
        best = np.lexsort((np.bincount(sets), self._costs(request, victims, of, sets)))[0]
        return simulation.with_parts(victims.row[of[sets == best]].tolist())

    def _victims(self, request: Request, open_to: Flags | None, noticed: bool) -> Victims:
        """List who may be evicted for a request, or has notice for a less urgent one (`noticed`), where it is open."""
        simulation, record, spec = self._simulation, self._simulation.record, self.spec
        rows, lead, priority = running(simulation)
        may = priority < request.priority
        if open_to is not None:
            may &= open_to[record.server[rows]]
        on_notice = {
            each.row
            for by, evictions in self._noticed.items()
            if not noticed or simulation.request(by).priority < request.priority
            for each in evictions
        }
        moving = simulation.moving.on_the_way if simulation.moving else ()
        for out, stays in (moving, False), (on_notice, noticed):
            if out or stays:
                may &= np.isin(lead, [simulation.lead(row) for row in out]) == stays
        rows, lead = rows[may], lead[may]
        row, first, of = np.unique(lead, return_index=True, return_inverse=True)
        total = simulation.view.capacity.sum(axis=(0, 1))
        ran, demand = simulation.now - record.decided[row], simulation.requests.demand
        share = np.max([demand[row, r] / most for r, most in enumerate(total) if most], axis=0)
        if simulation.workload.gangs is not None:
            share *= simulation.tables.parts[row]
        return Victims(row, priority[may][first], ran, ran - spec.checkpointed(ran), share, rows, of)

    def _costs(self, request: Request, victims: Victims, which: Ints, sets: Ints) -> Floats:
        """Return what sets of victims cost, float64 [sets]: `which` int64 [n] are in `sets` int64 [n], ascending."""
        simulation, rule, view = self._simulation, self._rule, self._simulation.view
        if isinstance(rule, FunctionType) and rule in TOGETHER:
            together, nothing = TOGETHER[rule]
            costs = np.full(sets[-1] + 1, nothing)
            together.at(costs, sets, rule(victims)[which])
            return costs
        columns = victims.row, victims.ran, victims.lost, victims.share
        built = [
            Victim(simulation.request(row), ran, lost, share, simulation.with_parts([row]))
            for row, ran, lost, share in zip(*(column[which].tolist() for column in columns), strict=True)
        ]

        def cost(those: Sequence[Victim]) -> float:
            try:
                if isnan(number := float(rule(view, request, those))):
                    raise ValueError("it returned no number")
                return number
            except Exception as error:
                raise raised(rule, error, describe_request(request, view.resources)) from error

        ends = np.searchsorted(sets, np.arange(sets[-1] + 2)).tolist()
        return np.array([cost(built[begin:end]) for begin, end in pairwise(ends)])


# -- what it came to ---------------------------------------------------------------------------------------------------


def _evictions(run: FinishedRun) -> list[Eviction] | None:
    """Need `preemption`: the evictions of the measured time."""
    preempting = run.simulation.preempting
    if preempting is None:
        return None
    return [each for each in preempting.log if each.outcome == "evicted" and run.begin <= each.end <= run.finish]


def _lost_work(run: FinishedRun, evictions: list[Eviction]) -> list[float]:
    """Add up the work that evictions lost: the time since the last checkpoint, times what was held."""
    return [
        sum(each.lost * int(run.demand[each.row, r]) for each in evictions) / QUANTUM / HOUR
        for r in range(len(run.resources))
    ]


TABLE = table((
    define("preemptions", "preemptions", "requests evicted for more urgent ones",
           lambda run, evictions: len(run.requests.leads(np.array([each.row for each in evictions], np.int64))),
           needs=_evictions, table="differs", better="lower"),
    define("lost_work_{}", "{} lost h", "hours of a unit of {} that were held since the last checkpoint, when evicted",
           _lost_work, needs=_evictions, per="resource", table="differs", better="lower"),
))  # fmt: skip


class _Keys(Model):
    preempt: Preempt | None = Field(None, examples=["{victims: fewest, grace: 30 s}"])
    """Less urgent requests are evicted."""


class _Feature(Feature):
    key = "overflow.preempt"
    keys: ClassVar = {"overflow": _Keys}
    learned = False
    name = "preemption"

    def stepped(self, scenario: Any, together: bool) -> bool:
        return together

    def section(self, scenario: Any) -> Any:
        return way(scenario.overflow, "preempt")

    def by_priority(self, scenario: Any) -> bool:
        return True

    def attach(self, point: Point, simulation: Simulation) -> None:
        simulation.overflow = replace(simulation.overflow, preempt=True)
        Preemption(simulation, way(point.scenario.overflow, "preempt"))

    def why(self, simulation: Simulation, row: int) -> list[str]:
        log = simulation.preempting.log if simulation.preempting else []
        evicted = [each for each in log if each.outcome == "evicted" and each.end <= simulation.now]

        def named(row: int) -> str:
            return f"{simulation.workload.id[simulation.source(row)]} (priority {simulation.request(row).priority})"

        names = [named(each.row) for each in evicted if each.by == row]
        return [f"evicted for it: {', '.join(names)}"] * bool(names) + [
            f"evicted at {each.end:g} s for {named(each.by)}, which lost {each.lost:g} s of its work"
            for each in evicted
            if each.row == row
        ]


FEATURE = _Feature()
