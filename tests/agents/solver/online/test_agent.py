"""The solver as an agent: what it answers fits, costs least, comes out again, and mistakes are told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from binwright.agents.solver.model.problem import Problem, Sets
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.online.template import Online, Setup
from binwright.agents.solver.specification.spec import load_problem
from binwright.agents.solver.specification.spec import problem as problem_of
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.errors import UserError
from binwright.simcore.types import QUANTUM, Placement, Refusal, Request, part
from tests.reference import attempts as reference
from tests.reference.agents import Demand, Room, feasible
from tests.reference.random import below, stream
from tests.reference.utilisation import evaluate
from tests.support.networks import NETWORKS, ledger_of, request
from tests.support.properties import scaled
from tests.support.recount import recount
from tests.support.solving import TEMPLATES, servers, started
from tests.support.views import view_of

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

# -- on servers --------------------------------------------------------------------------------------------------------


def cost(free: list[list[list[int]]], demand: tuple[int, ...], spread: bool, server: int, node: int) -> float:
    """What numa.alloc says, in quanta: rounded down per other node."""
    present = [amounts[0] for amounts in free[server]]
    others = [] if spread else [other for n, other in enumerate(present) if n != node]
    return sum(present) + sum(abs(other - present[node] + demand[0]) // 2 for other in others)


amounts = st.lists(st.integers(0, 10), min_size=2, max_size=2)
demands = st.tuples(st.integers(0, 6), st.integers(0, 6))


@given(st.lists(st.lists(amounts, min_size=2, max_size=2), min_size=1, max_size=5), demands, st.booleans())
@scaled(0.4)
def test_on_servers_the_answer_costs_least(free: Room, demand: Demand, spread: bool) -> None:
    view = view_of(free, [[[10, 10]] * 2] * len(free))
    answer = started(view).decide(view, Request(0, 0.0, 1.0, demand, spread))
    costs = {place: cost(free, demand, spread, *place) for place in feasible(free, demand, spread)}
    if not costs:
        assert answer is None
        return
    assert isinstance(answer, Placement)
    server, node, _ = answer.shares[0]
    assert costs[server, node] == min(costs.values())
    parts = [part(demand, n, len(free[0])) for n in range(len(free[0]))] if spread else [demand]
    assert [amounts for _, _, amounts in answer.shares] == parts


ASKED = Request(0, 0.0, 1.0, (QUANTUM, QUANTUM), False)


def test_solver_agent_follows_a_cluster_of_any_size() -> None:
    small, large = servers(3), servers(9)
    agent = started(small)
    for view in (small, large, small):
        answer, fresh = (each.decide(view, ASKED) for each in (agent, started(view)))
        assert isinstance(answer, Placement)
        assert answer == fresh


def test_a_template_of_ones_own_and_its_parameters(tmp_path: Path) -> None:
    """Server LAST and no other."""
    text = (TEMPLATES / "numa.alloc").read_text()
    mine = text.replace("PARAM NODES", "PARAM LAST = 4\nPARAM NODES").replace(
        "    if SPREAD", "    if server != LAST REJECT end\n    if SPREAD"
    )
    (tmp_path / "mine.alloc").write_text(mine)
    view = servers()
    for last in (4, 2):
        answer = started(view, path=str(tmp_path / "mine.alloc"), params={"LAST": last}).decide(view, ASKED)
        assert isinstance(answer, Placement)
        assert answer.shares[0][0] == last


# -- in networks -------------------------------------------------------------------------------------------------------

steps = st.lists(
    st.one_of(
        st.tuples(st.just("place"), st.integers(0, 9), st.integers(0, 7), st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0])),
        st.tuples(st.sampled_from(["release", "server", "link", "repair"]), st.integers(0, 30), st.just(0), st.just(0)),
    ),
    min_size=5,
    max_size=30,
)


@scaled(0.1)
@given(st.sampled_from(sorted(NETWORKS)), st.integers(1, 2), steps)
def test_solver_answers_fit_the_network_ledger(name: str, nodes: int, todo: list[Any]) -> None:
    """Also among failures; the solver refuses what needs more than there is, and never for want of a path."""
    ledger = ledger_of(name, nodes)
    agent = started(ledger.view, attempts=4)
    down: list[tuple[Any, int]] = []
    held: list[int] = []
    for row, (what, a, b, bandwidth) in enumerate(todo):
        if what == "place":
            answer = agent.decide(ledger.view, request(row, a, b, bandwidth))
            assert not isinstance(answer, Refusal)
            if answer is not None:
                ledger.apply(request(row, a, b, bandwidth), answer)
                held.append(row)
        elif what == "release" and held:
            ledger.release(held.pop(a % len(held)))
        elif what == "repair" and down:
            kind, which = down.pop()
            ledger.repair(which, kind)
        elif what in ("server", "link"):
            which = a % ledger.parts(what)
            down.append((what, which))
            gone = ledger.fail(which, what)
            held = [each for each in held if each not in gone]
        recount(ledger)


# -- the search --------------------------------------------------------------------------------------------------------

TEXT = """TABLE SIZE = [1, 1] TABLE ROOM = [1, 1] TABLE PRICE = [0, 0] BALLS len(SIZE) BINS len(ROOM)
RESOURCES BIN_ROOM[b in BINS] => ROOM[b], COST => 1000
procedure UTILFN(BALL, BIN, ALLOC) UTIL.BIN_ROOM[BIN] += SIZE[BALL]
if count(o in BALLS except BALL: ALLOC[o] == BIN) == 0 UTIL.COST += PRICE[BIN] end end"""


def turned(problem: Problem, grouping: Sets, seed: int, stream_number: int, attempt: int) -> Problem:
    """With one grouping, its bins turned as this attempt does."""
    by = below(stream(seed, stream_number, attempt), 0, len(grouping.members))
    return replace(problem, groupings=(replace(grouping, members=np.roll(grouping.members, -by)),))


@scaled(0.12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=5),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=5),
    st.lists(st.integers(1, 4), min_size=5, max_size=5),
    st.integers(0, 2**40),
)
def test_online_search_equals_reference_attempts(
    tmp_path: Path, size: list[int], bins: list[tuple[int, int]], worth: list[int], seed: int
) -> None:
    """Attempt by attempt by the reference, each to cost less than the best so far; and the verifier agrees."""
    worth = worth[: len(size)]
    room, price = ([float(each) for each in column] for column in zip(*bins, strict=True))
    inputs = {"SIZE": [float(each) for each in size], "ROOM": room, "PRICE": price}
    largest = {name: np.full(len(each), 9.0) for name, each in inputs.items()}
    file = tmp_path / "mine.alloc"
    file.write_text(TEXT)
    online = Online(Setup(str(file), {}, 12, seed - 1), "", {}, {}, largest, len(size), len(bins))
    for name, entries in inputs.items():
        online.write(name, (np.array(entries) * QUANTUM).astype(np.int64))
    online.worth[:] = worth
    result = online.find(len(size)).tolist()
    problem = problem_of(TEXT, tables={name: np.array(entries) for name, entries in inputs.items()})
    best: tuple[int, int, list[int]] | None = None
    ceiling, ways = problem.ceiling.copy(), problem.groupings[::-1]
    for number in range(12):
        way, attempt = number % len(ways), number // len(ways)
        item = turned(replace(problem, ceiling=ceiling), ways[way], seed, len(ways) + way, attempt)
        alloc, left = _attempt(item, seed, way, attempt)
        used, _ = evaluate(problem, alloc)
        lost = sum(value for value, place in zip(worth, alloc, strict=True) if place < 0)
        if best is None or (lost, used[-1]) < best[:2]:
            best = lost, used[-1], alloc
        if left == 0:
            if used[-1] == 0:
                break
            ceiling[-1] = used[-1] - 1
    assert best == (
        sum(value for value, place in zip(worth, result, strict=True) if place < 0),
        used_of(problem, result),
        result,
    )
    assert not faults(problem, result)


def used_of(problem: Problem, alloc: list[int]) -> int:
    """What it costs."""
    return evaluate(problem, alloc)[0][-1]


def _attempt(problem: Problem, seed: int, way: int, number: int) -> tuple[list[int], int]:
    """The reference names the stream by the grouping; here there is one, and the stream is that of `way`."""
    empty = replace(problem.groupings[0], offsets=np.array([0], np.int64), members=np.array([], np.int64))
    return reference.attempt(
        replace(problem, groupings=(*[empty] * way, problem.groupings[0])), seed, way, number, turning=False
    )


# -- in scenarios ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["solver-numa", "solver-fabric", "solver-batch", "jobs"])
def test_shipped_wrasse_scenarios_run(name: str, tmp_path: Path) -> None:
    scenario = load_scenario(f"wrasse/{name}", ["workload.requests=60", "replications=1"])
    results = Batch(scenario, tmp_path).run()
    assert not len(results.failed), results.failed["error"][0]
    assert results.runs["agent"].str.starts_with("solver").sum() > 0


@pytest.mark.parametrize("template", ["numa", "fabric", "jobs"])
def test_templates_are_specifications_themselves(template: str) -> None:
    assert next(reference.attempts(load_problem(TEMPLATES / f"{template}.alloc"), 0, 0, 1)).left == 0


# -- mistakes ----------------------------------------------------------------------------------------------------------


NUMA = (TEMPLATES / "numa.alloc").read_text()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (None, {}, "mine.alloc: there is no such file"),
        (NUMA.replace("REJECT", "REJET"), {}, "mine.alloc:"),
        (NUMA.replace("BALLS len(DEMAND)", "BALLS 2"), {}, "mine.alloc: BALLS is 2, and here it must be 1"),
        (NUMA.replace("=> FREE[s, n, r]", "=> 2 * FREE[s, n, r]"), {}, "FREE changes from request to request"),
        (
            NUMA.replace("=> 1e9", "=> 1e9 SOFT ROOM SHARE 0.5 OVER 0.5"),
            {},
            "a template has no goals, and nothing SOFT",
        ),
        (NUMA, {"params": {"UNEVN": 1}}, "there is no parameter UNEVN"),
        (NUMA, {"params": {"NODES": 1}}, "params: NODES is given by the agent"),
    ],
)
def test_wrong_templates(text: str | None, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.alloc"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UserError) as error:
        started(servers(), path=str(file), **options)
    assert message in str(error.value)
