"""What `record: [states]` keeps: held to the requests that the same run placed, and to the ledger."""

from math import inf, isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given

from binwright.agents import AGENTS
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.samples import MOST, states
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.routing import Routing
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.fabric.topology import topology
from binwright.scenarios.schema.workload import MultiServer
from binwright.simcore.faults import Faults
from binwright.simcore.record import INTERRUPTED, OUTCOMES, PLACED
from binwright.simcore.rng import stream
from binwright.simcore.rules import Overflow, Pacing
from binwright.simcore.types import QUANTUM
from tests.support.runs import RESOURCES, Case, cases, run


def down_at(simulation: Simulation, time: float, kind: str) -> set[int]:
    """The parts of a kind that are out of service after what happened until then."""
    down: set[int] = set()
    for change in simulation.changes:
        if change.time <= time and change.kind == kind:
            if change.what == "failure":
                down.add(change.subject)
            elif change.what == "repair":
                down.discard(change.subject)
    return down


@given(cases())
@example(Case([(4, 4)], [(0.0, 9.0, (1, 1)), (4.0, 1.0, (1, 1)), (8.0, 1.0, (1, 1))], failures=[(2.0, 0, 2.0)]))
def test_a_state_is_what_is_there_after_all_that_happened_until_then(case: Case) -> None:
    """Whatever an instant brings, releases, failures, expansion, requests: the state at it comes after all of them."""
    ran = run(case)
    simulation, record, workload = ran.simulation, ran.simulation.record, ran.simulation.as_workload()
    assume(ran.first < len(simulation.workload))
    result = states(FinishedRun(simulation, ran.first, {}, 0), ran.begin)
    capacity = simulation.view.capacity.sum(axis=1)
    grown = [change for change in simulation.changes if change.what == "expansion"]
    outcome = [OUTCOMES[code] for code in record.outcome[: record.rows]]
    decided = [inf if isnan(time) else time for time in record.decided[: record.rows].tolist()]
    cut = [inf if isnan(time) else time for time in record.interruption[: record.rows].tolist()]
    known = [*range(simulation.offered), *range(len(simulation.workload), record.rows)]
    assert result["time"][-1] == simulation.now
    for state in result.iter_rows(named=True):
        time = state["time"]
        placed = [row for row in known if outcome[row] in ("placed", "interrupted") and decided[row] <= time]
        down = down_at(simulation, time, "server")
        present = len(capacity) - sum(change.subject for change in grown if change.time > time)
        for r, name in enumerate(RESOURCES):
            held = [0] * present
            for row in placed:
                if min(decided[row] + workload.duration[row], cut[row]) > time:
                    held[record.server[row]] += int(workload.demand[row, r])
            shares = [None if n in down else held[n] / capacity[n, r] for n in range(present)]
            assert state[f"used_{name}"] == [
                None if share is None else pytest.approx(share, abs=1e-6) for share in shares
            ]


def test_links_say_what_is_reserved_and_which_are_out_of_service() -> None:
    routing = Routing(topology("alpha"))
    capacity = np.full((40, 1, 2), 10 * QUANTUM, np.int64)
    ledger = Ledger(Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0]), routing=routing)
    ends = routing.topology.link_ends
    of_switch = np.flatnonzero((ends == 4).any(axis=1)).tolist()  # the first above the racks
    faults = [
        Faults(kind="server", scheduled=((30.0, 3, 20.0),), requeue=True),
        Faults(kind="link", scheduled=((60.0, 7, inf),)),
        Faults(kind="link", scheduled=((60.0, 0, 40.0),), label="switch", domains=lambda _: [of_switch]),
    ]
    simulation = Simulation(
        MultiServer.model_validate({"demand": "uniform", "requests": 300, "holding": 31}).draw(("cpu", "mem"), 0),
        ledger,
        Overflow("wait"),
        faults=faults,
        pacing=Pacing(step=1.0, await_room=True),
    )
    agent = AGENTS.load("tetris")()
    agent.start(simulation.view, stream(0, "agent"))
    answered: dict[int, Any] = {}
    decide = agent.decide

    def noted(view: Any, request: Any) -> Any:
        answered[request.index] = request.bandwidth, decide(view, request)
        return answered[request.index][1]

    agent.decide = noted
    play(simulation, agent)
    record, workload = simulation.record, simulation.as_workload()
    frame = states(FinishedRun(simulation, 0, {}, 0), 0.0)
    assert len(frame) > MOST / 2
    assert max(max(filter(None, links), default=0) for links in frame["links"].to_list()) > 0.1
    for time, links, used in frame.select("time", "links", "used_cpu").rows():
        reserved, taken = np.zeros(len(ends)), np.zeros(40)
        for row, (bandwidth, placement) in answered.items():
            until = np.fmin(record.decided[row] + workload.duration[row], record.interruption[row])
            if record.outcome[row] in (PLACED, INTERRUPTED) and record.decided[row] <= time < until:
                reserved[list(placement.links)] += bandwidth
                for server, _, amounts in placement.shares:
                    taken[server] += amounts[0]
        cut = down_at(simulation, time, "link")
        assert cut == {link for link in (7, *of_switch) if time >= 60 and (link == 7 or time < 100)}
        assert {link for link, share in enumerate(links) if share is None} == cut
        assert {server for server, share in enumerate(used) if share is None} == down_at(simulation, time, "server")
        reserved /= routing.topology.link_capacity
        np.testing.assert_allclose([share or 0 for share in links], reserved, atol=1e-6)
        np.testing.assert_allclose([share or 0 for share in used], taken / (10 * QUANTUM), atol=1e-6)
