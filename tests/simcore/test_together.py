"""Requests that wait and are offered together: the engine against the obvious rules, and what agents may answer."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.fabric.run.play import play
from binwright.simcore import rng
from binwright.simcore.errors import AgentError
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Agent, Placement, Refusal, Request, View
from tests.reference.engine import Case, Decide, Demand, Reference
from tests.support.kinds import ON_ANY_SERVERS
from tests.support.properties import first, scaled
from tests.support.scenarios import first_run
from tests.support.simulations import cases, compare, deciders, drive, first_fit, long_case, moody, place, simulate

Answers = Iterator[tuple[Request, Placement | Refusal | None]]


@st.composite
def together_cases(draw: st.DrawFn) -> Case:
    return replace(draw(cases(mode="wait")), together=draw(st.sampled_from([1, 2, 3, 8])))


# -- against the reference ---------------------------------------------------------------------------------------------


@scaled(3)
@given(together_cases(), deciders)
def test_engine_offering_together_equals_its_reference(case: Case, decide: Decide) -> None:
    simulation = simulate(case)
    compare(simulation, drive(simulation, decide), Reference(case, decide))


@pytest.mark.long
@pytest.mark.parametrize("start", first(1, range(0, 160, 32)))
def test_long_runs_are_the_references(start: int) -> None:
    passed = 0
    for seed in range(start, start + 32):
        case = replace(long_case(seed), mode="wait", together=1 + seed % 5)
        for decide in (first_fit, moody(seed)):
            simulation = simulate(case)
            compare(simulation, drive(simulation, decide), reference := Reference(case, decide))
            rows = [taken.row for taken in reference.taken]
            passed += rows != sorted(rows)
    assert passed > 8  # somebody overtook


@scaled(0.5)
@given(cases(mode="wait"), deciders)
def test_one_at_a_time_is_the_line(case: Case, decide: Decide) -> None:
    """Without lifetimes of no time, which end between two decisions there, and at the next instant's beginning here."""
    requests = [(arrival, duration or 1.0, demand) for arrival, duration, demand in case.requests]
    plain = replace(case, requests=requests)
    simulation, other = simulate(plain), simulate(replace(plain, together=1))
    assert drive(simulation, decide) == drive(other, decide)


def shuffled(rows: Sequence[int]) -> list[int]:
    """Any order, but always the same of the same rows."""
    return sorted(rows, key=lambda row: hashlib.blake2b(repr((row, tuple(rows))).encode()).digest())


class Shuffled(Agent):
    """Answers in another order, and leaves out who gets nothing."""

    def __init__(self, decide: Decide) -> None:
        self.rule = decide

    def decide_line(self, view: View, requests: Sequence[Request]) -> Answers:
        known = {request.index: request for request in requests}
        for row in shuffled(list(known)):
            request = known[row]
            where = self.rule(view.free.tolist(), row, request.demand, request.spread)
            if where is not None:
                yield request, place(request, where, view.free.shape[1])


@scaled(1)
@given(together_cases(), deciders)
def test_agents_answer_in_any_order_and_see_what_they_did(case: Case, decide: Decide) -> None:
    simulation, reference = simulate(case), Reference(case, decide, shuffled)
    play(simulation, Shuffled(decide))
    assert simulation.record.sequence[: len(reference.taken)].tolist() == [taken.row for taken in reference.taken]
    compare(simulation, reference.taken, reference)


@pytest.mark.parametrize("name", ON_ANY_SERVERS)
def test_every_agent_answers_a_line(name: str) -> None:
    """Together or one by one; the same again with the same seed."""
    if name == "solver":
        pytest.importorskip("lark")
    case = replace(long_case(5), mode="wait", together=4)
    ends = []
    for _ in range(2):
        simulation = simulate(case)
        agent = AGENTS.load(name)()
        agent.start(simulation.view, rng.stream(3, "agent"))
        play(simulation, agent)
        assert simulation.waiting == 0
        ends.append([simulation.record.sequence.tolist(), simulation.record.server.tolist()])
    assert ends[0] == ends[1]


# -- what agents may answer --------------------------------------------------------------------------------------------

TWO = Case([[[1]]], [[1]], (9,), [(0.0, 5.0, (1,)), (0.0, 5.0, (1,))], "wait", together=2)


class Answering(Agent):
    """One of these, to everything."""

    def __init__(self, answers: list[tuple[int, Placement | None]]) -> None:
        self.answers = answers

    def decide_line(self, view: View, requests: Sequence[Request]) -> Answers:
        return ((requests[number], placement) for number, placement in self.answers)


@pytest.mark.parametrize("answers", [[(0, None), (0, None)], [(1, Placement(((0, 0, (1,)),)))] * 2])
def test_nobody_is_answered_twice(answers: list[tuple[int, Placement | None]]) -> None:
    with pytest.raises(AgentError, match="which is not offered or has its answer"):
        play(simulate(TWO), Answering(answers))


@pytest.mark.parametrize("later", [1, 2])
def test_a_line_that_a_warm_start_leaves(later: int) -> None:
    """A failure sends two back. One has its answer when the warm start ends, and the other one's turn is next."""
    requests: list[tuple[float, float, Demand]] = [(0.0, 90.0, (2,))] * 4
    requests += [(5.5, 1.0, (1,))] * later
    case = Case([[[4]], [[4]]], [[1]], (9,), requests, failures=[(5.0, 0, 1.0)], requeue=True)
    simulation, agent = simulate(case), AGENTS.load("first-fit")()
    decisions, turns = iter([5, 0]), iter([1] * 20)
    play(simulation, agent, lambda: next(decisions))
    assert simulation.waiting == 1
    simulation.overflow = Overflow("wait", together=4)
    play(simulation, agent, lambda: next(turns))
    new, (dropped, back) = range(4, 4 + later), range(4 + later, 6 + later)
    assert simulation.record.sequence.tolist() == [0, 1, 2, 3, dropped, back, *new]
    assert simulation.record.decided[[back, *new]].tolist() == [6.0] * (1 + later)


# -- in scenarios ------------------------------------------------------------------------------------------------------


def test_who_waits_for_a_repair_is_not_given_up(tmp_path: Path) -> None:
    scenario = {
        "cluster": {"servers": 1, "node": {"cpu": 4}, "failures": {"mtbf": "20 s", "mttr": "20 s"}},
        "workload": {
            "requests": 2,
            "arrivals": {"fixed": {"every": "30 s"}},
            "flavours": [{"cpu": 1}],
            "lifetimes": {"fixed": "1 s"},
        },
        "overflow": {"wait": {"together": 1}},
        "agents": ["first-fit"],
        "seed": 2,
    }
    _, requests = first_run({"record": ["requests"], **scenario}, tmp_path)
    second = requests.row(1, named=True)
    assert second["outcome"] in ("placed", "interrupted")
    assert second["decided"] == pytest.approx(39.2786, abs=1e-3)
