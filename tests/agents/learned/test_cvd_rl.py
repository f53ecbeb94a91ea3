"""cvd-rl, its filter and its controls: against plain Python, and its weights and their mistakes."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.servers.candidates import RandomTop, candidates, counts
from binwright.agents.learned.cvd_rl import CvdRL, cvd_rl, sizes
from binwright.agents.learned.dqn import DQNAgent
from binwright.agents.learned.mlp import size_of, untrained
from binwright.agents.learned.replay import NONE
from binwright.agents.learned.sched_rl import SchedRL
from binwright.agents.rules.random_stream import drawn
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.types import Agent, Floats, Ints, View
from tests.reference.agents import Demand, Room, Where, after, feasible, remaining, sizes_lost
from tests.support.learning import busy
from tests.support.properties import scaled

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

pytest.importorskip("safetensors")


def named(free: Room, capacity: Room, demand: Demand, spread: bool, best: int, internal: int) -> list[Where]:
    """The candidates in order, as docs/learn/numa-learning.md says it."""
    places = feasible(free, demand, spread)
    if not best and not internal:
        return places

    def by_best_fit(where: Where) -> Any:
        server, node = where
        return remaining(free, server), server, free[server][node][0], node

    def by_internal(where: Where) -> Any:
        server, node = where
        lost = sizes_lost(free, capacity, demand, spread, where)
        return lost, remaining(free, server), server, -free[server][node][0], node

    result = sorted(places, key=by_best_fit)[:best]
    return result + [where for where in sorted(places, key=by_internal)[:internal] if where not in result]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Room, Room, Demand, bool]:
    """Two nodes and two resources, small numbers, so that ties are common."""
    size = [draw(st.sampled_from([5, 10])), draw(st.sampled_from([5, 10]))]
    capacity: Room = [[list(size), list(size)] for _ in range(draw(st.integers(1, 6)))]
    free: Room = [[[draw(st.integers(0, c)) for c in node] for node in server] for server in capacity]
    return free, capacity, (draw(st.integers(0, 6)), draw(st.integers(0, 6))), draw(st.booleans())


@given(cases(), st.integers(0, 4), st.integers(0, 6))
@scaled(4)
def test_filter_selects_the_candidates_of_its_reference(case: Any, best: int, by_internal: int) -> None:
    free, capacity, demand, spread = case
    result = candidates(np.array(free), np.array(capacity), demand, spread, best, by_internal).tolist()
    named_here = named(free, capacity, demand, spread, best, by_internal)
    assert result == [server * 2 + node for server, node in named_here]


def test_filters_share_out_the_candidates() -> None:
    assert [counts({"best-fit": 4, "internal": 3}), counts({"internal": 2}), counts("none")] == [(4, 3), (0, 2), (0, 0)]


def network(numbers: Floats, widths: tuple[int, ...], seen: list[float]) -> float:
    values = np.array(seen)
    at = 0
    for inputs, outputs in pairwise(widths):
        weights = numbers[at : at + inputs * outputs].reshape(inputs, outputs)
        values = values @ weights + numbers[at + inputs * outputs : at + (inputs + 1) * outputs]
        at += (inputs + 1) * outputs
        if outputs > 1:
            values = np.maximum(values, 0)
    return float(values[0])


def said(
    free: Room,
    capacity: Room,
    demand: Demand,
    spread: bool,
    where: Where,
    weights: Floats,
    how: Floats,
) -> float:
    """What cvd-rl says of a choice: the cluster's value after it, machine by machine or at once."""
    ahead, parts = how[2:] > 0
    seen = []
    for server in range(len(free)):
        chosen = server == where[0]
        left = after(free, demand, spread, where) if chosen else free[server]
        nodes = []
        for n in range(2):
            of, room = np.array(capacity[server][n]), np.array(free[server][n])
            if ahead:
                nodes.append((np.array(left[n]) / of).tolist())
            else:
                nodes.append([*(room / of).tolist(), *((room - left[n]) / of).tolist()])
        requested = [] if ahead else [*(np.array(demand) / capacity[server][0]).tolist(), float(spread)]
        seen.append([*np.ravel(sorted(nodes)).tolist(), *requested])
    if not parts:
        return network(weights, sizes(how, len(free)), np.ravel(seen).tolist())
    return sum(network(weights, sizes(how, len(free)), each) for each in seen)


@given(cases(), st.integers(0, 2**32), st.booleans(), st.booleans())
@scaled(1.5)
def test_cvd_rl_chooses_the_candidate_of_highest_value(case: Any, seed: int, ahead: bool, parts: bool) -> None:
    free, capacity, demand, spread = case
    how = np.array([2, 3, ahead, parts], np.float64)
    weights = untrained(sizes(how, len(free)), np.random.default_rng(seed))
    code = cvd_rl(np.array(free), np.array(capacity), demand, spread, weights, how, NONE)
    among = named(free, capacity, demand, spread, 2, 3)
    if not among:
        assert code == -1
        return
    value = {where: said(free, capacity, demand, spread, where, weights, how) for where in among}
    assert value[code // 2, code % 2] >= max(value.values()) - 1e-12


@given(cases())
@scaled(1)
def test_of_equal_candidates_it_is_the_first(case: Any) -> None:
    free, capacity, demand, spread = case
    for parts in (False, True):
        how = np.array([2, 3, True, parts], np.float64)
        weights = np.zeros(size_of(sizes(how, len(free))))
        code = cvd_rl(np.array(free), np.array(capacity), demand, spread, weights, how, NONE)
        among = named(free, capacity, demand, spread, 2, 3)
        assert code == (among[0][0] * 2 + among[0][1] if among else -1)


def test_draws_are_even_and_start_anew_with_a_seed() -> None:
    state = np.array([12345.0, 0.0])
    first = [drawn(state) for _ in range(4000)]
    assert state.tolist() == [12345, 4000]
    assert abs(np.mean(first) - 0.5) < 0.02
    assert np.histogram(first, 10, (0, 1))[0].min() > 330
    assert [drawn(state) for state in [np.array([12345.0, 0.0])] for _ in range(3)] == first[:3]
    assert drawn(np.array([12346.0, 0.0])) != first[0]


def placements(agent: Agent, engine: bool) -> Ints:
    """Server and node of every request."""
    workload, cluster = busy(400)
    simulation = Simulation(workload, Ledger(cluster))
    agent.start(simulation.view, stream(0, "agent"))
    if not engine:
        assert agent.compiled
        simulation.loop.go(agent.compiled)
    else:
        play(simulation, agent)
    return np.stack([simulation.record.server, simulation.record.node]).astype(np.int64)


MADE: dict[str, Agent] = {
    "top": RandomTop(),
    "top best-fit": RandomTop({"best-fit": 5}),
    "top internal": RandomTop({"internal": 5}),
    "untrained": CvdRL("untrained"),
    "another seed": CvdRL("untrained", seed=1),
    "another filter": CvdRL("untrained", filter={"best-fit": 5}),
    "more candidates": CvdRL("untrained", filter={"best-fit": 4, "internal": 6}),
    "no filter": CvdRL("untrained", filter="none"),
    "four and three": CvdRL("untrained", filter={"best-fit": 4, "internal": 3}),
    "no look-ahead": CvdRL("untrained", lookahead=False),
    "no decomposition": CvdRL("untrained", decomposition=False),
}


def test_every_switch_makes_a_difference_and_compiling_none() -> None:
    table = {name: placements(agent, engine=True) for name, agent in MADE.items()}
    for name, agent in MADE.items():
        np.testing.assert_array_equal(table[name], placements(agent, engine=False))
    assert len({array.tobytes() for array in table.values()}) == len(MADE)


@pytest.mark.parametrize("whole", [SchedRL(), CvdRL("huawei-10-no-decomposition", decomposition=False)])
def test_agents_that_see_the_whole_cluster_are_for_the_servers_of_their_training(whole: DQNAgent) -> None:
    workload, cluster = busy(3)
    assert not whole.any_size
    with pytest.raises(UserError, match="trained with servers 10, not with 6"):
        whole.start(Ledger(cluster).view, stream(0, "agent"))
    capacity = np.tile(cluster.capacity[:1], (10, 1, 1))
    simulation = Simulation(workload, Ledger(replace(cluster, capacity=capacity)))
    whole.start(simulation.view, stream(0, "agent"))
    request = simulation.advance()
    assert request
    with pytest.raises(UserError, match="whole cluster of 10 servers, and it has grown"):
        whole.decide(View(("cpu", "mem"), capacity[:5], simulation.view.free[:5]), request)
