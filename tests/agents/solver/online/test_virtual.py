"""The solver places virtual networks: what it answers is right, is what the slow search finds, and comes out again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import networkx
import numpy as np
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

import binwright as bw
import binwright.agents.solver.online.virtual as virtual
from binwright.agents import AGENTS
from binwright.agents.heuristics.virtual import parts_of
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import faults, utilisation
from binwright.agents.solver.online.virtual import Nearby
from binwright.agents.solver.specification.spec import Spec, load_problem
from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.routing import Routing
from binwright.fabric.topology import topology
from binwright.simcore import rng
from binwright.simcore.errors import UserError
from binwright.simcore.faults import Kind
from binwright.simcore.types import QUANTUM, Agent, Embedding, Form, Request, VirtualNetwork
from tests.reference.nearby import Slow
from tests.support.networks import SMALL_FABRIC
from tests.support.properties import first, scaled
from tests.support.recount import recount
from tests.support.solving import TEMPLATES

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

SHAPES: dict[str, dict[str, Any]] = {
    "tree": {"fanouts": [2, 2, 2], "capacities": [1, 1, 2]},
    "deep": {"fanouts": [2, 1, 2, 2], "capacities": [1, 2, 2, 1]},
    "fabric": SMALL_FABRIC | {"uplinks": 2},
}
WHOLE = ("PART", "MACHINES", "GROUP", "CLUSTERS", "FIRST", "SIZE")
"""Tables of whole numbers."""


@pytest.fixture(autouse=True, scope="module")
def _small() -> Iterator[None]:
    """Problems for eight machines, which take less time to make."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(virtual, "SMALLEST", 8)
        yield


def ledger_of(shape: str, nodes: int = 1, slots: int = 2) -> Ledger:
    network = topology("fabric" if shape == "fabric" else "tree", **SHAPES[shape])
    capacity = np.full((network.servers, nodes, 2), slots * QUANTUM)
    capacity[:, :, 1] *= 2
    return Ledger(Cluster(("slots", "mem"), capacity, (2**62,) * 2, capacity[0]), routing=Routing(network))


def started(ledger: Ledger, form: Form, seed: int = 0, **options: Any) -> Agent:
    agent: Agent = AGENTS.load("solver")(**options)
    ledger.view.virtual = form
    agent.start(ledger.view, rng.stream(seed, "agent"))
    return agent


def request(row: int, network: VirtualNetwork) -> Request:
    return Request(row, 0.0, 1.0, tuple(network.machines.sum(axis=0).tolist()), False, 0, network)


@st.composite
def networks(draw: st.DrawFn, form: Form, most: int = 8) -> VirtualNetwork:
    """Of up to so many machines, of one size or two."""
    count = draw(st.integers(1, most))
    machines = np.array([(1, draw(st.integers(1, 2))) for _ in range(count)]) * QUANTUM
    rates = st.integers(1, 600_000)
    if form == "pairs":
        every = [(a, b) for a in range(count) for b in range(a + 1, count)]
        pairs = draw(st.lists(st.sampled_from(every), unique=True, max_size=10)) if every else []
        result = draw(st.lists(rates, min_size=len(pairs), max_size=len(pairs)))
        return VirtualNetwork(machines, np.array(pairs, np.int64).reshape(-1, 2), np.array(result, np.int64))
    return VirtualNetwork(machines, hose=draw(rates))


steps = st.lists(
    st.tuples(st.sampled_from(["place", "place", "release", "fail", "repair"]), st.integers(0, 30)), max_size=12
)


class Spied(NamedTuple):
    """A search: what it was given, and the problem as it was."""

    nearby: Nearby
    problem: Problem
    free: list[list[int]]
    given: tuple[Any, ...]


@contextmanager
def spied() -> Iterator[list[Spied]]:
    """Collect the searches that are made meanwhile."""
    result: list[Spied] = []
    find = Nearby.find

    def spy(self: Nearby, *inputs: Any) -> Iterator[Any]:
        ceiling = self._flat.ceiling.copy()
        program = replace(self.problem.program, data=self._flat.data.copy())
        problem = replace(self.problem, capacity=ceiling, ceiling=ceiling, program=program)
        result.append(Spied(self, problem, self._targets["FREE"][0].tolist(), inputs))
        return find(self, *inputs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Nearby, "find", spy)
        yield result


# -- what it answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", first(1, ["pairs", "hose"]))
@given(data=st.data(), todo=steps, nodes=st.integers(1, 2))
@scaled(0.06)
def test_every_answer_is_right(form: Form, data: st.DataObject, todo: list[tuple[str, int]], nodes: int) -> None:
    """By the ledger, by the verifier, which reads the template's text, and link by link; also among failures."""
    shape = data.draw(st.sampled_from(["tree", "deep", *(["fabric"] if form == "pairs" else [])]))
    ledger = ledger_of(shape, nodes)
    agent = started(ledger, form, attempts=3)
    held: list[int] = []
    down: list[tuple[Any, int]] = []
    for row, (what, number) in enumerate(todo):
        if what == "place":
            requested = request(row, data.draw(networks(form)))
            with spied() as searches:
                answer = agent.decide(ledger.view, requested)
            if isinstance(answer, Embedding):
                _check(agent, searches[-1].nearby, requested, answer, shape)
                ledger.apply(requested, answer)
                held.append(row)
        elif what == "release" and held:
            ledger.release(held.pop(number % len(held)))
        elif what == "repair" and down:
            kind, part = down.pop()
            ledger.repair(part, kind)
        elif what == "fail":
            which: Kind = "link" if number % 2 else "server"
            down.append((which, number % ledger.parts(which)))
            gone = ledger.fail(down[-1][1], which)
            held = [each for each in held if each not in gone]
        recount(ledger)


def _check(agent: Any, nearby: Nearby, tenant: Request, answer: Embedding, shape: str) -> None:
    """Before the ledger takes it: the problem as it was stated."""
    network, leading_out = tenant.network, agent._formulation.leading_out
    assert network is not None
    template = "secondnet" if network.form == "pairs" else "oktopus"
    written = {name: targets[0] for name, targets in nearby._targets.items() if targets}
    tables = {name: raw if name in WHOLE else raw / QUANTUM for name, raw in written.items()}
    text = (TEMPLATES / f"{template}.alloc").read_text()
    problem = Spec(text, params={"KINDS": 2}, tables={**tables, "PART": agent._formulation.of.T}).problem()
    alloc = nearby._room.alloc.tolist()
    assert not faults(problem, alloc)
    if shape != "fabric":  # a link leads out of every part
        used, _ = utilisation(problem, alloc)
        links = next(family for family in problem.families if family.name == "LINKS").offset
        amounts = dict(zip(answer.links, answer.amounts, strict=True))
        for part, link in zip(*leading_out.nonzero(), strict=True):
            assert used[links + part] == amounts.get(link, 0)


@pytest.mark.parametrize("form", ["hose", "pairs"])
@given(data=st.data(), count=st.integers(1, 5), nodes=st.integers(1, 2), seed=st.integers(0, 2**40))
@scaled(0.08, phases=[Phase.generate])
def test_virtual_network_search_equals_the_slow_search(
    form: Form, data: st.DataObject, count: int, nodes: int, seed: int
) -> None:
    """Answer by answer by a slow one; and twice the same."""
    shape = data.draw(st.sampled_from(["tree", "deep", *(["fabric"] if form == "pairs" else [])]))
    ledger, other = ledger_of(shape, nodes), ledger_of(shape, nodes)
    agent: Any = started(ledger, form, seed, attempts=3)
    twin = started(other, form, seed, attempts=3)
    for row in range(count):
        requested = request(row, data.draw(networks(form)))
        with spied() as searches:
            answer = agent.decide(ledger.view, requested)
        for nearby, problem, free, (attempts, balls, least) in searches:
            slow = Slow(problem, agent._formulation.of.tolist(), free, least.tolist())
            fast = [result.tolist() for result in islice(nearby.find(attempts, balls, least), 3)]
            assert fast == [result[:] for result in islice(slow.find(attempts, balls), 3)]
        again = twin.decide(other.view, requested)
        assert (answer is None) == (again is None)
        if isinstance(answer, Embedding) and isinstance(again, Embedding):
            assert answer.hosts.tolist() == again.hosts.tolist()
            assert (answer.links, answer.amounts) == (again.links, again.amounts)
            ledger.apply(requested, answer)
            other.apply(requested, again)


def test_no_group_is_tried_twice() -> None:
    ledger, tried = ledger_of("deep"), list[tuple[int, int]]()
    agent: Any = started(ledger, "hose")
    nearby = agent._formulation.nearby(8)
    nearby._attempt = lambda *inputs: tried.append(inputs[-2:])
    agent.decide(ledger.view, request(0, VirtualNetwork(np.array([[QUANTUM, QUANTUM]]), hose=1)))
    assert len(tried) == len(set(tried)) > 8


# -- parts and paths ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_parts_are_what_hangs_together(shape: str) -> None:
    network = ledger_of(shape).network.topology
    parts, leading_out = parts_of(network)
    home = network.switches + np.arange(network.servers)
    for level, of in enumerate(parts):
        graph = networkx.Graph()
        graph.add_nodes_from(np.flatnonzero(network.level <= level).tolist())
        for each, other in network.link_ends.tolist():
            if max(network.level[each], network.level[other]) <= level:
                graph.add_edge(each, other)
        for component in networkx.connected_components(graph):
            mine = {int(of[s]) for s in range(network.servers) if home[s] in component}
            assert len(mine) == 1
            assert {s for s in range(network.servers) if of[s] in mine} == {
                s for s in range(network.servers) if home[s] in component
            }
            for link, ends in enumerate(network.link_ends.tolist()):
                output = mine & set(leading_out[:, link].nonzero()[0].tolist())
                assert bool(output) == (len(component & set(ends)) == 1)


# -- mistakes ----------------------------------------------------------------------------------------------------------


def test_templates_of_ones_own_are_not_for_virtual_networks() -> None:
    with pytest.raises(UserError, match="path: is not for virtual networks"):
        started(ledger_of("tree"), "hose", path="mine.alloc")


@pytest.mark.parametrize("template", ["secondnet", "oktopus"])
def test_templates_are_specifications_themselves(template: str) -> None:
    problem = load_problem(TEMPLATES / f"{template}.alloc")
    assert bw.solve(problem, attempts=4).placed == problem.balls
