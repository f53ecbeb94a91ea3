"""Runs to measure: each answer is logged when it is given."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st

from binwright.analysis.measure.definition import measure
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.samples import Sampler
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import Watchers, play
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.faults import Faults
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM, Agent, Placement, Request, View
from binwright.simcore.workload import Use, Workload

RESOURCES = ("cpu", "mem")
PRICES = {"cpu": 0.5, "mem": 3.0}
Demand = tuple[int, int]


@dataclass
class Case:
    """What determines a run; times in seconds, amounts in quanta. `warm` decisions are the warm start."""

    servers: list[Demand]  # what each node has
    requests: list[tuple[float, float, Demand]]  # arrival, duration, demand
    nodes: int = 1
    above: Demand = (NEVER, NEVER)
    overflow: Overflow = field(default_factory=Overflow)
    expansion: list[tuple[float, int]] = field(default_factory=list)
    failures: list[tuple[float, int, float]] = field(default_factory=list)
    requeue: bool = False
    warm: int = 0
    declines: int = 0  # the agent declines every request whose row is a multiple of this
    overcommit: int = 1
    use: Use | None = None
    priority: list[int] | None = None


class Plain(Agent):
    """First-fit without a kernel, declining now and then."""

    def __init__(self, declines: int) -> None:
        self.declines = declines

    def decide(self, view: View, request: Request) -> Placement | None:
        servers, nodes, _ = view.free.shape
        if self.declines and request.index % self.declines == 0:
            return None
        for server in range(servers):
            if request.spread:
                parts = request.across(server, nodes).shares
                if all((view.free[s, n] >= amounts).all() for s, n, amounts in parts):
                    return request.across(server, nodes)
            else:
                for node in range(nodes):
                    if (view.free[server, node] >= request.demand).all():
                        return request.on(server, node)
        return None


@dataclass
class Decision:
    """An answer as it was given: which row, when, and what was then installed and in use."""

    row: int
    time: float
    installed: list[int]
    used: list[int]
    within: bool  # whether others are to be answered at this instant, and none can wait


@dataclass
class Run:
    """A run that is over, and what was seen on the way."""

    simulation: Simulation
    first: int  # the first row that is not of the warm start
    warm: int  # how many decisions the warm start took
    decisions: list[Decision]
    samples: dict[str, Any]
    begin: float
    looks: list[tuple[int, list[list[list[int]]]]]  # at each sample: how much had happened, and what was free

    def metrics(self, prices: dict[str, float] = PRICES, thought: int = 0) -> dict[str, float | int]:
        """Measure the run."""
        return measure(FinishedRun(self.simulation, self.first, self.samples, thought, prices=prices))


def run(case: Case) -> Run:
    """Play a case, logging every answer that the record gets, whoever gives it."""
    million = QUANTUM
    capacity = np.array([[server] * case.nodes for server in case.servers], np.int64) * million
    above = tuple(amount if amount == NEVER else amount * million for amount in case.above)
    physical = (None, None) if case.overcommit == 1 else (capacity, capacity[-1])
    capacity = capacity * case.overcommit
    ledger = Ledger(Cluster(RESOURCES, capacity, above, capacity[-1], None, *physical))
    arrival, duration, demand = zip(*case.requests, strict=True)
    simulation = Simulation(
        Workload(
            RESOURCES,
            np.array(arrival, np.float64),
            np.array(duration, np.float64),
            np.array(demand, np.int64) * million,
            np.arange(len(arrival)),
            priority=None if case.priority is None else np.array(case.priority),
            use=case.use,
        ),
        ledger,
        case.overflow,
        expansion=case.expansion,
        faults=[Faults(scheduled=tuple(case.failures), requeue=case.requeue)],
    )
    decisions: list[Decision] = []

    def logged(call: Callable[..., Any]) -> Callable[..., Any]:
        """Have a call note the decisions that it makes."""

        def calling(*arguments: Any) -> Any:
            before = int(simulation.record.answers[0])
            result = call(*arguments)
            for row in simulation.record.sequence[before:].tolist():
                installed, used = simulation.view.capacity.sum(axis=(0, 1)).tolist(), ledger.used().tolist()
                decisions.append(Decision(row, simulation.now, installed, used, simulation.within_instant))
            return result

        return calling

    run: Any = simulation
    run.answer, run.advance = logged(run.answer), logged(run.advance)
    if case.warm:
        overflow, simulation.overflow = simulation.overflow, Overflow("drop")
        lengths = iter([case.warm, 0])
        play(simulation, Plain(0), lambda: next(lengths))
        simulation.overflow = overflow
    first, warm = simulation.offered, len(decisions)
    sampler = Sampler(simulation, ledger)
    begin = simulation.now
    looks: list[tuple[int, list[list[list[int]]]]] = []

    def look() -> int:
        if not simulation.within_instant:
            looks.append((len(simulation.changes), simulation.view.free.tolist()))
        return sampler()

    play(simulation, Plain(case.declines), Watchers(simulation, look))
    return Run(simulation, first, warm, decisions, sampler.columns(), begin, looks)


TIMES = st.sampled_from([0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 0.5, 3.0])
AMOUNTS = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(any)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a case of small numbers, so that much happens at the same time."""
    nodes = draw(st.sampled_from([1, 2]))
    servers = draw(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3))
    requests: list[tuple[float, float, Demand]] = []
    now = 0.0
    for gap in draw(st.lists(TIMES, min_size=1, max_size=14)):
        now += gap if requests else 0.0
        length = draw(st.sampled_from([0.5, 1.0, 2.0, 3.0, 6.0, 6.0, inf, 0.0]))
        requests.append((now, length, draw(AMOUNTS)))
    size = len(servers)
    modes: list[Literal["drop", "wait", "stop", "expand"]] = ["drop", "wait", "stop", "expand"]
    thens: list[Literal["drop", "stop"]] = ["drop", "stop"]
    mode = draw(st.sampled_from(modes))
    overflow = Overflow(mode, draw(st.integers(1, 2)), size + draw(st.integers(0, 3)), draw(st.sampled_from(thens)))
    moments = st.integers(0, 12).map(float)
    return Case(
        servers,
        requests,
        nodes,
        draw(st.sampled_from([(NEVER, NEVER), (NEVER, 2), (1, NEVER)])),
        overflow,
        sorted(draw(st.lists(st.tuples(moments, st.integers(1, 2)), max_size=2))),
        sorted(
            draw(
                st.lists(
                    st.tuples(moments, st.integers(0, size - 1), st.sampled_from([1.0, 2.0, 5.0, inf])), max_size=3
                )
            )
        ),
        draw(st.booleans()),
        draw(st.sampled_from([0, 0, 1, 3, 5])),
        draw(st.sampled_from([0, 0, 2, 5])),
    )
