"""Every heuristic against its reference, ties included, and FunSearch's rules on the items of their publication."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from binwright.agents import AGENTS
from binwright.agents.heuristics.servers.costs import FunSearch
from binwright.agents.solver.model.bounds import l2
from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Agent, Ints, View
from binwright.workloads.offline import BINPACK, machines
from binwright.workloads.offline import ITEMS as NAMES
from binwright.workloads.offline import items_of as sizes
from tests.reference import spane
from tests.reference.agents import RULES, Demand, feasible, funsearch, funsearch_or
from tests.support.kinds import ON_ANY_SERVERS
from tests.support.properties import first, scaled
from tests.support.rooms import Case, cases
from tests.support.views import ask, view_of


def make(name: str) -> Agent:
    """A fresh agent; `best-fit loose` is `best-fit` with that option."""
    name, _, chosen = name.partition(" ")
    option = "rule" if name == "funsearch" else "node"
    agent: Agent = AGENTS.load(name)(**({option: chosen} if chosen else {}))
    return agent


SLOW = "solver"
"""Compiles anew for every number of servers, nodes and resources."""


@pytest.mark.parametrize("name", list(RULES))
@given(case=cases())
@scaled(4)
def test_agrees_with_its_reference(name: str, case: Case) -> None:
    free, capacity, demand, spread = case
    assert ask(make(name), view_of(free, capacity), demand, spread) == RULES[name](free, capacity, demand, spread)


def test_last_bits_of_a_float_decide_no_tie() -> None:
    """As floats, .2 * .3 + .2 * .5 < .2 * .4 + .2 * .4."""
    view = view_of([[[3, 5]], [[4, 4]]], [[[10, 10]], [[10, 10]]])
    assert ask(make("dot-product"), view, (2, 2), False) == (0, 0)


def test_balance_fit_knows_that_servers_may_have_fewer_nodes() -> None:
    """The only node of a half empty server is even with itself; the second server's nodes are not quite."""
    view = view_of([[[5], [0]], [[5], [6]]], [[[10], [0]], [[10], [10]]])
    assert ask(make("balance-fit"), view, (1,), False) == (1, 1)


shares = st.integers(0, 40)


@given(st.lists(st.tuples(st.tuples(shares, shares), st.tuples(shares, shares)), min_size=1, max_size=6), st.data())
@scaled(4)
def test_balance_fit_is_the_published_program(free: list[Any], data: st.DataObject) -> None:
    """Nodes of 40 cores and 90 GB; many differ by as much but for the last bits."""
    nodes = [[[float(cpu), 90.0 if rich else float(mem)] for cpu, mem in server] for rich, server in enumerate(free)]
    cpu, mem = data.draw(st.integers(1, 16)), data.draw(st.integers(1, 10))
    fits = [node[0] >= cpu and node[1] >= mem for server in nodes for node in server]
    view = view_of([[[int(a), int(b)] for a, b in server] for server in nodes], [[[40, 90]] * 2] * len(nodes))
    expected = divmod(spane.balance_fit(nodes, fits, False), 2) if any(fits) else None
    assert ask(make("balance-fit"), view, (cpu, mem), False) == expected


@pytest.mark.parametrize("name", first(len(ON_ANY_SERVERS) - 1, sorted(ON_ANY_SERVERS, key=lambda name: name == SLOW)))
@given(case=cases())
@scaled(2)
def test_answers_what_fits_and_rejects_only_what_does_not(name: str, case: Case) -> None:
    free, capacity, demand, spread = case
    agent, view = make(name), view_of(free, capacity)
    agent.start(view, stream(0, "agent"))
    places = feasible(free, demand, spread)
    where = ask(agent, view, demand, spread)
    assert where in places if places else where is None
    assert view.free.tolist() == free
    assert view.capacity.tolist() == capacity


def busy(servers: int) -> tuple[View, list[Demand]]:
    """Partly used servers of two nodes, and 200 demands."""
    rng = np.random.default_rng(0)
    capacity: Ints = np.full((servers, 2, 2), 10)
    free: Ints = rng.integers(0, 11, capacity.shape)
    return view_of(free.tolist(), capacity.tolist()), [tuple(row) for row in rng.integers(0, 8, (200, 2)).tolist()]


@pytest.mark.parametrize("spread", [False, True])
def test_random_is_uniform_over_what_fits(spread: bool) -> None:
    view, _ = busy(8)
    places = feasible(view.free.tolist(), (2, 3), spread)
    agent = make("random")
    agent.start(view, stream(1, "agent"))
    draws = [ask(agent, view, (2, 3), spread) for _ in range(4000)]
    assert 2 < len(places) == len(set(draws))
    assert chisquare([draws.count(place) for place in places]).pvalue > 0.01


@pytest.mark.parametrize(("rule", "name"), [("weibull", "weibull-5k"), ("or", "binpack2")])
def test_every_item_goes_where_the_printed_program_puts_it(rule: str, name: str) -> None:
    items, room = sizes(name, 1)
    count = 150
    published = machines(name, 1)
    work = replace(published, demand=published.demand[:count]).requests(("size",))
    capacity = np.full((count, 1, 1), room * QUANTUM)
    simulation = Simulation(work, Ledger(Cluster(("size",), capacity, (10**18,), capacity[0])))
    agent = FunSearch("or" if rule == "or" else "weibull")
    agent.start(simulation.view, np.random.default_rng(0))
    play(simulation, agent)
    printed = funsearch_or if rule == "or" else funsearch
    free, whole = ([[[room]] for _ in range(count)] for _ in range(2))
    for row, item in enumerate(items[:count].tolist()):
        where = printed(free, whole, (item,), False)
        assert where == (simulation.record.server[row], 0)
        free[where[0]][0][0] -= item


def test_published_instances_have_their_sizes_and_bounds() -> None:
    assert [len(sizes(name, 3)[0]) for name in NAMES] == [120, 250, 500, 1000, 5000, 10_000, 100_000]
    first, room = sizes("binpack1", 0)
    assert (first[:6].tolist(), room) == ([42, 69, 67, 57, 93, 90], 150)  # u120_00
    assert sizes("weibull-5k", 4)[0][:5].tolist() == [38, 34, 46, 40, 59]
    for name in BINPACK:  # the bounds of the published notebook's OR3, and those of the table
        bounds = [l2(np.sort(sizes(name, seed)[0]), 150) for seed in range(20)]
        assert np.mean(bounds) == {"binpack1": 49.05, "binpack2": 101.55, "binpack3": 201.2, "binpack4": 400.55}[name]
    assert (sizes("binpack1", 25)[0] == sizes("binpack1", 5)[0]).all()


@pytest.mark.long
def test_five_instances_take_the_bins_that_the_notebook_prints(tmp_path: Path) -> None:
    scenario = load_scenario("funsearch/online", ["agents=[best-fit, funsearch]"])
    runs = Batch(scenario, tmp_path / "out").run().runs
    bins = dict(runs.group_by("agent").agg(pl.col("servers_used_end").mean()).rows())
    assert bins == {"best-fit": 2067.0, "funsearch": 2001.4}
