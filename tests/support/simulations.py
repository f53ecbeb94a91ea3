"""Cases for the engine, a ledger that checks itself at every step, and ways to run a case.

What a run came to is compared with `tests.reference.engine`.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, isnan
from random import Random
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.placement.rules import Apart, AtMost, Near, Rule, Spread, Together
from binwright.scenarios.features.preemption import Preempt as PreemptSpec
from binwright.scenarios.features.preemption import Preemption
from binwright.scenarios.features.preemption.victims import cheapest, fewest, lowest, youngest
from binwright.scenarios.features.queues import Queue as QueueSpec
from binwright.scenarios.features.queues import QueueBook
from binwright.scenarios.features.quotas import Quota, QuotaBook, Quotas
from binwright.scenarios.features.server_labels import ServerLabels, numbered
from binwright.simcore import rng
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.faults import Faults, Kind
from binwright.simcore.gangs import Gangs
from binwright.simcore.record import OUTCOMES, PLACED
from binwright.simcore.roles import Roles
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM, Agent, Placement, Request
from binwright.simcore.workload import Workload
from tests.reference.engine import Case, Decide, Demand, Line, Preempt, Reference, Room, Taken, Tenants, Where, feasible
from tests.reference.quotas import Queue
from tests.support.placement import rule_book
from tests.support.properties import forms
from tests.support.recount import recount

T = TypeVar("T")
VICTIMS = {"fewest": fewest, "lowest": lowest, "youngest": youngest, "cheapest": cheapest}
MANY = 20_000
"""More decisions or events than any run here may have."""


class WatchedLedger(Ledger):
    """Checks conservation and capacity after everything that happens to it, and that it ends."""

    happened = 0

    def _observe(self) -> None:
        recount(self)
        assert (self.view.free >= 0).all()
        assert (self.view.free <= self.view.capacity).all()
        self.happened += 1
        assert self.happened < MANY, "the run does not end"

    def _unless_refused(self, call: Callable[[Request, Placement], tuple[int, int]], *what: Any) -> tuple[int, int]:
        """Call what changes nothing where it refuses."""
        before = self.view.everything_free.tobytes()
        try:
            return call(*what)
        except InfeasiblePlacement:
            assert self.view.everything_free.tobytes() == before
            raise
        finally:
            self._observe()

    def apply(self, request: Request, placement: Placement) -> tuple[int, int]:
        return self._unless_refused(super().apply, request, placement)

    def release(self, index: int) -> None:
        super().release(index)
        self._observe()

    def begin_move(self, request: Request, placement: Placement) -> tuple[int, int]:
        return self._unless_refused(super().begin_move, request, placement)

    def end_move(self, row: int, arrived: bool) -> None:
        super().end_move(row, arrived)
        self._observe()

    def fail(self, part: int, kind: Kind = "server") -> list[int]:
        hit = super().fail(part, kind)
        self._observe()
        return hit

    def repair(self, part: int, kind: Kind = "server") -> None:
        super().repair(part, kind)
        self._observe()

    def grow(self, by: int) -> None:
        super().grow(by)
        self._observe()


def first_fit(free: Room, row: int, demand: Demand, spread: bool) -> Where | None:
    """Decide as the obvious agent does."""
    return next(iter(feasible(free, demand, spread)), None)


def moody(salt: int) -> Decide:
    """Make an agent that takes any place or none: at random, but always the same in the same situation."""

    def decide(free: Room, row: int, demand: Demand, spread: bool) -> Where | None:
        digest = hashlib.blake2b(repr((salt, row, free)).encode(), digest_size=2).digest()
        places = feasible(free, demand, spread)
        return places[digest[0] % len(places)] if places and digest[1] % 3 else None

    return decide


def cluster_of(case: Case) -> Cluster:
    """Build the cluster of a case."""
    return Cluster(
        tuple("abc"[: len(case.spread_above)]),
        np.array(case.capacity, np.int64),
        case.spread_above,
        np.array(case.growth, np.int64),
    )


def workload_of(requests: list[tuple[float, float, Demand]], resources: int = 1) -> Workload:
    """Build a workload of requests, each given as its arrival, duration and demand."""
    return Workload(
        tuple("abc"[:resources]),
        np.array([arrival for arrival, _, _ in requests], np.float64),
        np.array([duration for _, duration, _ in requests], np.float64),
        np.array([demand for _, _, demand in requests], np.int64).reshape(len(requests), resources),
        np.arange(len(requests)) + 1000,
    )


def quota_of(queue: Queue) -> Quota:
    """Make a quota of the first resource of what the reference says."""
    borrow, lend = (
        {} if most == inf else {"a": most / QUANTUM} for most in (queue.borrowing_limit, queue.lending_limit)
    )
    return Quota.model_construct(nominal={"a": queue.nominal / QUANTUM}, borrow=borrow, lend=lend, cohort=queue.cohort)


def quotas_of(tenants: Tenants) -> Quotas:
    """Make the quotas of the groups of a case."""
    return Quotas.model_construct(
        of={name: quota_of(queue) for name, queue in tenants.quotas.items()},
        above="wait" if tenants.wait else "refuse",
        reclaim=tenants.reclaim,
        checkpoint=none_if_never(tenants.checkpoint),
    )


def none_if_never(time: float) -> float | None:
    """Turn the reference's infinity into a key that is not written."""
    return None if time == inf else time


def queues_of(case: Case) -> dict[str, QueueSpec]:
    """Make the queues of a case."""
    return {
        str(number): QueueSpec.model_construct(
            of={"group": [line.group]} if line.group else {},
            priority=line.priority,
            longest=none_if_never(line.longest),
            running={
                name: most for name, most in (("requests", line.requests), ("a", line.amount / QUANTUM)) if most < inf
            },
            each={"user": {"requests": line.each}} if line.each < inf else {},
        )
        for number, line in enumerate(case.queues)
    }


def simulate(
    case: Case,
    faults: Sequence[Faults] = (),
    quotas: type[QuotaBook] = QuotaBook,
    compiled: bool = False,
) -> Simulation:
    """Put a case on an engine, with its own scheduled failures or with other ones."""
    workload, cluster = workload_of(case.requests, len(case.spread_above)), cluster_of(case)
    ledger = WatchedLedger(cluster)
    if case.placement:
        servers = len(case.capacity)
        labels = ServerLabels(servers, {"zone": numbered(servers, 2)}, blocks={"zone": 2})
        ledger = WatchedLedger(cluster, rules=rule_book(labels, case.placement))
    if case.groups:
        workload = replace(workload, roles=Roles.of_texts(len(workload), list(case.groups)))
    if case.priorities:
        workload = replace(workload, priority=np.array(case.priorities, np.int64))
    overflow = Overflow(case.mode, case.by, case.limit, case.then, case.together)  # type: ignore[arg-type]
    if case.users:
        workload = replace(workload, labels={"user": np.array(case.users)})
    if case.parts:
        workload = replace(workload, gangs=Gangs.of_parts(case.parts))
    simulation = Simulation(
        workload,
        ledger,
        replace(overflow, preempt=case.preempt is not None),
        expansion=case.expansion,
        faults=faults or _planned(case),
        compiled=compiled,
    )
    if case.preempt:
        Preemption(simulation, preempt_of(case.preempt))
    if case.tenants:
        quotas(simulation, quotas_of(case.tenants))
    if case.queues:
        QueueBook(simulation, queues_of(case), "queues")
    return simulation


def _planned(case: Case) -> list[Faults]:
    """Make the failures that a case has: of servers, and of those that fail together."""

    def domains(servers: int) -> list[list[int]]:
        return [list(range(first, servers, case.domains)) for first in range(min(servers, case.domains))]

    alone = Faults(scheduled=tuple(case.failures), requeue=case.requeue)
    together = Faults(scheduled=tuple(case.blackouts), requeue=case.requeue, label="power", domains=domains)
    return [alone, together] if case.blackouts else [alone]


def preempt_of(reported: Preempt) -> PreemptSpec:
    """Say in a scenario's words who is evicted."""
    return PreemptSpec.model_construct(
        victims=reported.rule,
        grace=reported.grace,
        then="requeue" if reported.requeue else "drop",
        checkpoint=none_if_never(reported.checkpoint),
    )


def place(request: Request, where: Where, nodes: int) -> Placement:
    """Turn a place as the reference says it into a placement of the request."""
    server, node = where
    return request.across(server, nodes) if request.spread else request.on(server, node)


def drive(simulation: Simulation, decide: Decide) -> list[Taken]:
    """Run a simulation to its end, and return what was placed where and when, and what was free before."""
    taken: list[Taken] = []
    last = 0.0
    view = simulation.view
    for _ in range(MANY):
        request = simulation.advance()
        assert simulation.now >= last
        last = simulation.now
        if request is None:
            return taken
        assert view.now == simulation.now
        free = view.free.tolist()
        where = decide(free, request.index, request.demand, request.spread)
        if where is None:
            simulation.answer(None)
        else:
            simulation.answer(place(request, where, view.free.shape[1]))
            if simulation.record.outcome[request.index] == PLACED:  # and no limit of its queue kept it waiting
                taken.append(Taken(request.index, simulation.now, where, free))
    raise AssertionError("the run does not end")


def none_if_nan(value: float) -> float | None:
    """Turn the record's NaN into the reference's None."""
    return None if isnan(value) else value


def compare(simulation: Simulation, taken: list[Taken], reference: Reference, late: bool = False) -> None:
    """Hold a run to its reference: who, where, when, outcome, interruptions, reasons, what was free, all changes.

    The engine may notice `late` that nothing more can happen, and does so after interruptions.
    """
    record = simulation.record
    assert taken == reference.taken
    changes = [(change.time, change.what, change.subject) for change in simulation.changes]
    assert sorted(changes) == sorted(reference.changes)
    assert len(simulation.view.capacity) == len(reference.capacity)
    assert record.rows == len(reference.rows)
    workload = simulation.as_workload()
    cut = late or any(row.interruption is not None for row in reference.rows)
    for i, row in enumerate(reference.rows):
        code = record.reason[i]
        actual = (
            OUTCOMES[record.outcome[i]],
            int(record.origin[i]),
            record.reasons[code] if row.bound else int(code),
            none_if_nan(record.interruption[i]),
            (int(record.server[i]), int(record.node[i])),
            (workload.arrival[i], workload.duration[i], tuple(workload.demand[i])),
        )
        where = row.where or (-1, -1)
        request = (row.arrival, row.duration, row.demand)
        assert actual == (row.outcome, row.origin, row.bound or row.reason, row.interruption, where, request), (
            f"row {i}"
        )
        if not (row.gave_up and cut):
            assert none_if_nan(record.decided[i]) == row.decided, f"row {i}"


def many(draw: st.DrawFn, each: st.SearchStrategy[T], least: int, most: int) -> list[T]:
    """Draw a list of any length: left to itself, hypothesis tries hardly any long ones."""
    length = draw(st.integers(least, most))
    return draw(st.lists(each, min_size=length, max_size=length))


@st.composite
def cases(draw: st.DrawFn, *, faults: bool = True, mode: str | None = None) -> Case:
    """Draw a case of small clusters, times and numbers: everything happens at once, and ties are common."""
    nodes, resources = draw(st.integers(1, 3)), draw(forms(2, 1))
    node = st.lists(st.sampled_from([4, 6, 2, 3, 0]), min_size=resources, max_size=resources)
    server = st.lists(node, min_size=nodes, max_size=nodes)
    capacity = draw(st.lists(server, min_size=1, max_size=3))
    growth = draw(st.sampled_from([capacity[-1], draw(server)]))
    request = st.tuples(
        st.sampled_from([0, 1, 0, 2, 0, 1]),
        st.sampled_from([5, 0, 9, 1, 2, 3, inf, 0]),
        st.lists(st.sampled_from([1, 2, 0, 3, 4]), min_size=resources, max_size=resources).filter(any),
    )
    requests = []
    arrival = 0
    for gap, duration, demand in many(draw, request, 1, 16):
        arrival += gap
        requests.append((float(arrival), float(duration), tuple(demand)))
    failure = st.tuples(
        st.sampled_from([2, 4, 1, 3, 5, 7, 0]), st.sampled_from([0, 1, 0, 2, 3]), st.sampled_from([1, 0, 2, 5, inf])
    )
    return Case(
        capacity,
        growth,
        tuple(draw(st.lists(st.sampled_from([0, 2, 3, 9]), min_size=resources, max_size=resources))),
        requests,
        mode or draw(st.sampled_from(["drop", "wait", "stop", "expand"])),
        draw(st.integers(1, 2)),
        draw(st.integers(0, 5)),
        draw(st.sampled_from(["stop", "drop"])),
        draw(st.lists(st.tuples(st.integers(0, 9).map(float), st.integers(1, 2)), max_size=2)),
        [(float(t), s, float(after)) for t, s, after in many(draw, failure, 0, 5)] if faults else [],
        draw(st.booleans()),
        domains=draw(st.integers(1, 2)),
        blackouts=[(float(t), s, float(after)) for t, s, after in many(draw, failure, 0, 3)] if faults else [],
    )


def long_case(seed: int) -> Case:
    """Make a case with more of everything than hypothesis likes to try, and with failures that hit busy servers."""
    rng = Random(seed)
    nodes, resources = rng.randint(1, 3), rng.randint(1, 2)
    capacity = [[[rng.randint(2, 9) for _ in range(resources)] for _ in range(nodes)] for _ in range(rng.randint(1, 4))]
    arrivals = sorted(rng.randint(0, 25) for _ in range(30))
    return Case(
        capacity,
        rng.choice(capacity),
        tuple(rng.choice([2, 4, 9]) for _ in range(resources)),
        [
            (float(at), float(rng.choice([0, 1, 2, 4, 8, 16, inf])), tuple(rng.randint(1, 4) for _ in range(resources)))
            for at in arrivals
        ],
        rng.choice(["drop", "wait", "wait", "stop", "expand"]),
        rng.randint(1, 2),
        rng.randint(0, 5),
        rng.choice(["stop", "drop"]),
        [(float(rng.randint(0, 30)), rng.randint(1, 2)) for _ in range(rng.randint(0, 2))],
        [
            (float(rng.randint(0, 30)), rng.randint(0, len(capacity)), float(rng.choice([0, 1, 2, 5, inf])))
            for _ in range(rng.randint(0, 10))
        ],
        rng.random() < 0.6,
        domains=rng.randint(1, 3),
        blackouts=[
            (float(rng.randint(0, 30)), rng.randint(0, 2), float(rng.choice([0, 1, 2, 5, inf])))
            for _ in range(rng.randint(0, 4))
        ],
    )


RULES: tuple[Rule, ...] = (
    Together(together=("a",), per="server"),
    Together(together=("a", "b"), per="zone"),
    Together(together=("*",), per="zone"),
    AtMost(at_most=1, of="a", per="server"),
    AtMost(at_most=2, of="*", per="zone"),
    Apart(apart=("a", "b"), per="server"),
    Apart(apart=("*",), per="zone"),
    Spread(spread="b", over="zone"),
    Near(of="b", near=("a",), per="zone"),
)


def ruled_case(seed: int) -> Case:
    """Make a long case with rules of placement, on up to five servers in zones of two."""
    rng, case = Random(seed), long_case(seed)
    case.capacity += [case.growth] * rng.randint(0, 5 - len(case.capacity))
    case.placement = tuple(rng.sample(RULES, rng.randint(1, 3)))
    case.groups = tuple(rng.choice(["a", "a", "b", ""]) for _ in case.requests)
    return case


deciders = st.one_of(st.just(first_fit), st.integers(0, 99).map(moody))
"""Draws the agent that decides in a run."""


def decided(todo: Case, agent: Agent) -> list[float | None]:
    """Let an agent play a case, and return when each request got its place: None for one that got none."""
    simulation = simulate(todo)
    agent.start(simulation.view, rng.stream(0, "agent"))
    play(simulation, agent)
    return [
        None if place < 0 else when
        for when, place in zip(simulation.record.decided.tolist(), simulation.record.server, strict=False)
    ]


def drawn_quotas(rng: Random, most: int = 8) -> dict[str, Queue]:
    """Draw the quotas of some tenants, with and without limits, some in a cohort."""
    result = {}
    for name in "abc":
        cohort = rng.choice(["", "x", "x", "x", "y"])
        borrow = rng.randint(0, 4) if cohort and rng.random() < 0.4 else inf
        lend = rng.randint(0, 6) if cohort and rng.random() < 0.4 else inf
        result[name] = Queue(rng.randint(0, most), borrow, lend, cohort)
    return result


def drawn_case(seed: int) -> Case:
    """Draw a long case with tenants and priorities, their quotas, preemption in some, and queues where that goes."""
    rng = Random(seed)
    case = long_case(seed)
    together = rng.choice([0, 0, 1, 3, 40])
    queues = [
        Line(rng.choice(["a", "b", ""]), rng.randint(0, 2), *(rng.choice([inf, most]) for most in (8, 3, 9, 1)))
        for _ in range(rng.randint(0, 3))
    ]
    return replace(
        case,
        together=together,
        mode="wait" if together else rng.choice(["wait", "wait", "drop", "expand"]),
        groups=tuple(rng.choice(["a", "b", "c", ""]) for _ in case.requests),
        priorities=tuple(rng.randint(0, 2) for _ in case.requests),
        users=tuple(rng.choice("xyz") for _ in case.requests),
        preempt=Preempt("lowest", rng.choice([0.0, 0.0, 3.0]), checkpoint=2.0) if rng.random() < 0.4 else None,
        tenants=Tenants(
            drawn_quotas(rng), rng.random() < 0.8, rng.choice(["never", "lower", "any"]), rng.choice([inf, 3.0])
        ),
        queues=tuple(dict.fromkeys(queues)) if together else (),
    )
