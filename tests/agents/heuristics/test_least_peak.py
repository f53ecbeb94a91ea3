"""Least-peak beside its reference in whole runs; and that it keeps apart whose peaks fall together, without peeking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.servers.least_peak import LeastPeak
from binwright.simcore.errors import AgentError
from binwright.simcore.faults import Faults
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM, Workload
from tests.reference.least_peak import SlowLeastPeak
from tests.support.properties import scaled
from tests.support.use import Table, simulation

HOUR = 3600.0


@given(seed=st.integers(0, 2**30), oracle=st.booleans(), like=st.booleans(), spread=st.booleans())
@scaled(1)
def test_goes_where_its_reference_goes(seed: int, oracle: bool, like: bool, spread: bool) -> None:
    drawn = np.random.default_rng(seed)
    n, servers, nodes = drawn.integers(1, [18, 4, 3]).tolist()
    arrival = np.cumsum(drawn.choice([0.0, 1000.0, 7200.0, 30_000.0], n))
    duration = drawn.choice([100.0, 20_000.0, 100_000.0, np.inf], n)
    demand = drawn.integers(0, [7 if spread else 4, 4], (n, 2)) * QUANTUM
    step = float(drawn.choice([1500.0, HOUR, 4 * HOUR, 5 * HOUR]))
    use = Table(step, drawn.choice([0.0, 0.25, 0.5, 1.0, 1.25], (n, 37, 2)))
    tenant = drawn.choice(["a", "b"], n)
    workload = Workload(
        ("cpu", "mem"), arrival, duration, demand, np.arange(n), use=use, labels={"tenant": tenant}, origin=5e3
    )
    faults = [Faults(np.inf, 20.0, ((50_000.0, 0, 9000.0),), True, 0)]
    run = simulation(
        workload, drawn.integers(1, 5, (servers, nodes, 2)) * QUANTUM, 2, overflow=Overflow("wait"), faults=faults
    )
    slow = SlowLeastPeak(run, (lambda row: tenant[run.source(row)]) if like else lambda row: "", oracle)
    agent = LeastPeak("tenant" if like else "", oracle)
    agent.start(run.view, np.random.default_rng(0))
    if not oracle:
        use.run = run
    while (request := run.advance()) is not None:
        found = agent.decide(run.view, request)
        assert (found and found.shares[0][:2]) == slow.decide(request)
        run.answer(found)


def by_day_and_by_night(*days: bool) -> Table:
    """Requests that use all of what they ask for by day, or by night, and otherwise nothing."""
    hours = np.arange(24)
    return Table(HOUR, np.array([np.where((hours >= 12) == day, 1.0, 0.0)[:, None] for day in days]))


def test_day_and_night_share_a_server() -> None:
    """After two days it is known which two peak by day; the last of a tenant goes where the other tenant is."""
    use = by_day_and_by_night(True, False, True, False)
    tenant = np.array(["day", "night", "day", "night"])
    arrival = np.array([0.0, 1.0, 48 * HOUR, 48 * HOUR + 1])
    demand = np.array([[2], [2], [2], [2]]) * QUANTUM
    workload = Workload(("cpu",), arrival, np.full(4, np.inf), demand, np.arange(4), use=use, labels={"tenant": tenant})
    places = {}
    for like in ("tenant", ""):
        run, agent = simulation(workload, [[[4 * QUANTUM]]] * 2), LeastPeak(like)
        agent.start(run.view, np.random.default_rng(0))
        while (request := run.advance()) is not None:
            run.answer(agent.decide(run.view, request))
        places[like] = run.record.server.tolist()
    assert places["tenant"] == [0, 1, 1, 0]  # each with one of the other tenant
    assert places[""] == [0, 1, 0, 1]


def test_meter_hides_future_use() -> None:
    workload = Workload(
        ("cpu",), np.zeros(1), np.ones(1), np.ones((1, 1), np.int64), np.zeros(1), use=by_day_and_by_night(True)
    )
    meter = simulation(workload, [[[1]]]).view.meter
    with pytest.raises(AgentError, match="not known before it is over"):
        meter.used(np.array([0]), 0, 1)
