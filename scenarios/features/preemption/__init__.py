"""Priorities and preemption: less urgent requests give way to one that fits nowhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import HOUR, FinishedRun
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Point, way
from binwright.scenarios.features.overflow import AfterPreemption, Word
from binwright.simcore.agent_calls import describe_request, raised
from binwright.simcore.fields import Model, PositiveTime, Shown, Text, Time, checked, wrong
from binwright.simcore.registry import Registry
from binwright.simcore.types import QUANTUM, Request, View
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

    def checkpointed(self, ran: float) -> float:
        """Return how much of the time that a victim has run is not lost."""
        return ran // self.checkpoint * self.checkpoint if self.checkpoint else 0.0


class Victim(NamedTuple):
    """Describes a request that could be evicted: since when it has run, what it would lose, and how much it holds.

    `ran` and `lost` are seconds, `lost` those since its last checkpoint; `share` is the largest share that it holds of
    what all servers have of a resource. Of a gang all `rows` go, and `request` is its first part.
    """

    request: Request
    ran: float
    lost: float
    share: float
    rows: Sequence[int] = ()


def fewest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    """Count the victims."""
    return len(victims)


def lowest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    """Return the highest priority among the victims."""
    return max(victim.request.priority for victim in victims)


def youngest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    """Return how long the oldest victim has run."""
    return max(victim.ran for victim in victims)


def cheapest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    """Add up what is lost: the seconds since the last checkpoint, times the share held."""
    return sum(victim.lost * victim.share for victim in victims)


VICTIM_RULES = Registry(
    "rule of victims",
    "binwright.victims",
    {rule.__name__: f"{__name__}:{rule.__name__}" for rule in (fewest, lowest, youngest, cheapest)},
)


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
                fresh = self._tried.get(row) != now and self._has_less_urgent(request)
                self._tried[row] = now
                victims = self._choose(request, self._victims(request)) if fresh else []
                evictions = [Eviction(victim, row, now) for victim in victims]
                self.log += evictions
                if evictions and not self.spec.grace:
                    self._evict(evictions)
                    return "now"
                if evictions:
                    self._noticed[row] = evictions
                    simulation.clock.at(now + self.spec.grace, self._end_of_grace, row)
                if evictions or (self._noticed and self._choose(request, self._victims(request, noticed=True))):
                    result = "later"
        return "later" if result else ""

    def _has_less_urgent(self, request: Request) -> bool:
        """Tell whether anybody less urgent runs."""
        simulation = self._simulation
        running = np.fromiter(simulation.ledger.running, np.int64)
        return bool(len(simulation.priority) and (simulation.priority[running] < request.priority).any())

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

    def _choose(self, request: Request, candidates: Sequence[Victim]) -> list[int]:
        """Choose the rows to be evicted for a request, all on one server; none where that makes no room.

        On every server all `candidates` go, but for those whom the request leaves room: the dearest by the rule are
        tried first, of equals those that hold least. Of the servers that has them whose victims cost least, then the
        one with the fewest, then the first. For a gang it is all servers, or those of one domain, together; in a
        network all servers, and links count for nothing.
        """
        simulation, ledger, rule, gang = self._simulation, self._simulation.ledger, self._cost, request.gang
        one_server = not gang and not ledger.tiers
        domain = np.arange(len(simulation.view.capacity)) if one_server else None
        if gang and gang.rules.together:
            domain = ledger.rules.domains(gang.rules.together)
        open_to, servers = ledger.open_to(request), simulation.record.server
        by_server: dict[int, list[Victim]] = {}
        for victim in candidates:
            for place in {0 if domain is None else int(domain[servers[row]]) for row in victim.rows}:
                by_server.setdefault(place, []).append(victim)
        best, chosen = (inf, inf, -1), list[Victim]()
        for place, victims in by_server.items():
            if one_server and not open_to[place]:
                continue
            where = place if one_server else open_to if domain is None else open_to & (domain == place)
            victims.sort(key=lambda each: (-rule(request, [each]), each.share, each.request.index))
            go = [victims[n] for n in ledger.give_way(request, where, [each.rows for each in victims])]
            if go and (key := (rule(request, go), len(go), place)) < best:
                best, chosen = key, go
        return sorted(row for each in chosen for row in each.rows)

    def _cost(self, request: Request, victims: Sequence[Victim]) -> float:
        view, rule = self._simulation.view, self._rule
        try:
            if isnan(cost := float(rule(view, request, victims))):
                raise ValueError("it returned no number")
            return cost
        except Exception as error:
            raise raised(rule, error, describe_request(request, view.resources)) from error

    def _victims(self, request: Request, *, noticed: bool = False) -> list[Victim]:
        """List who may be evicted for a request, or has notice for a less urgent one (`noticed`), gangs as one."""
        simulation, now = self._simulation, self._simulation.now
        moving = {*simulation.moving.on_the_way} if simulation.moving else set[int]()
        on_notice = {
            each.row
            for by, evictions in self._noticed.items()
            if not noticed or simulation.request(by).priority < request.priority
            for each in evictions
        }
        total = simulation.view.capacity.sum(axis=(0, 1)).tolist()
        result: list[Victim] = []
        for row in sorted(simulation.ledger.running):
            running = simulation.request(row)
            if running.priority < request.priority and simulation.lead(row) == row:
                rows = simulation.with_parts([row])
                if moving.isdisjoint(rows) and on_notice.isdisjoint(rows) != noticed:
                    ran = now - float(simulation.record.decided[row])
                    share = max(amount / most for amount, most in zip(running.demand, total, strict=True) if most)
                    result.append(Victim(running, ran, ran - self.spec.checkpointed(ran), len(rows) * share, rows))
        return result


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
