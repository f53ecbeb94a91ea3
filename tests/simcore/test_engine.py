"""The engine against its reference, and what must hold whatever happens."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.errors import AgentError, InfeasiblePlacement
from binwright.simcore.faults import Faults
from binwright.simcore.record import OUTCOMES, PENDING, Record
from binwright.simcore.request_rows import CHUNK
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Agent, Placement, Request, View
from tests.reference.engine import Case, Decide, Demand, Reference, Room, Where
from tests.support.properties import first, scaled
from tests.support.simulations import (
    cases,
    compare,
    deciders,
    drive,
    first_fit,
    long_case,
    moody,
    place,
    simulate,
    workload_of,
)

ONE = [[[1]]]
"""One server of one node with one quantum."""

CELL = np.ones((1, 1, 1), np.int64)
"""One server of one quantum."""


def single_server(requests: Sequence[tuple[float, float, int]], mode: str = "drop", **more: Any) -> Case:
    """Requests (arrival, duration, amount) for one server of size one, unless `more` says otherwise."""
    more = {"capacity": ONE, **more}
    return Case(more.pop("capacity"), [[1]], (9,), [(a, d, (q,)) for a, d, q in requests], mode, **more)


# -- against the reference -----------------------------------------------------------------------------------------


ENDS = (
    Case(ONE, [[1]], (9,), []),
    single_server([(0, 5, 1), (1, 1, 1)], failures=[(100.0, 0, 1.0)]),  # nothing more is asked when the server fails
    single_server([(0, 5, 1), (1, 1, 1), (9, 1, 1)], "stop"),
    single_server([(0, inf, 1)] * 9, "expand", by=2, limit=4),
    single_server([(0, inf, 1), (1, 1, 1), (2, 1, 1)], "wait"),  # for ever
    single_server([(0, 1, 2), (1, 1, 1), (2, 1, 2)], "wait"),  # two are larger than the server
    # Who lasts no time is gone before the next is offered, also in a line of which several are placed at one instant.
    single_server([(0, 2, 1), (1, 0, 1), (1, 0, 1)], capacity=[[[1]], [[1]]]),
    single_server([(0, 2, 1), (0, 2, 1), (1, 0, 1), (1, 3, 1)], "wait", capacity=[[[1]], [[1]]]),
    *(
        single_server([(0, 10, 1), (20, 1, 1)], "wait", failures=[(4.0, 0, 2.0)], requeue=requeue)
        for requeue in (False, True)
    ),
)
"""Runs in which one thing happens that a drawn one seldom has."""


@scaled(4)
@given(cases(), deciders)
def test_engine_equals_its_reference(case: Case, decide: Decide) -> None:
    reference = Reference(case, decide)
    simulation = simulate(case)
    compare(simulation, drive(simulation, decide), reference)


@pytest.mark.parametrize("case", ENDS)
def test_runs_end_as_the_references_do(case: Case) -> None:
    simulation = simulate(case)
    compare(simulation, drive(simulation, first_fit), reference := Reference(case, first_fit))
    assert simulation.advance() is None
    assert simulation.waiting == 0
    assert simulation.offered == sum(row.outcome != "pending" for row in reference.rows[: len(case.requests)])


@pytest.mark.long
@pytest.mark.parametrize("start", first(1, range(0, 400, 40)))
def test_long_runs_are_the_references(start: int) -> None:
    twice = 0
    for seed in range(start, start + 40):
        for decide in (first_fit, moody(seed)):
            reference = Reference(case := long_case(seed), decide)
            simulation = simulate(case)
            compare(simulation, drive(simulation, decide), reference)
            twice += any(row.origin >= len(case.requests) for row in reference.rows)
    assert twice > 2  # some were interrupted, sent back, placed, and interrupted again


@scaled(1)
@given(cases(), deciders, st.integers(0, 99), st.sampled_from([0.0, 0.5, 4.0]))
def test_random_failures_act_like_scheduled_ones(case: Case, decide: Decide, seed: int, mttr: float) -> None:
    case.failures = []
    case.blackouts = []
    simulation = simulate(case, [Faults(6.0, mttr, (), case.requeue, seed)])
    taken = drive(simulation, decide)
    repairs = [change for change in simulation.changes if change.what == "repair"]
    for change in simulation.changes:
        if change.what == "failure":
            back = next((r for r in repairs if r.subject == change.subject and r.time >= change.time), None)
            if back:
                repairs.remove(back)
            case.failures.append((change.time, change.subject, back.time - change.time if back else inf))
    reference = Reference(case, decide)
    assert [(t.row, t.where) for t in taken] == [(t.row, t.where) for t in reference.taken]
    assert [t.now for t in taken] == pytest.approx([t.now for t in reference.taken])
    assert [OUTCOMES[o] for o in simulation.record.outcome[: simulation.record.rows]] == [
        row.outcome for row in reference.rows
    ]


def outcomes(simulation: Simulation) -> list[str]:
    return [OUTCOMES[o] for o in simulation.record.outcome[: simulation.record.rows]]


# -- failures ------------------------------------------------------------------------------------------------------


def failures(changes: list[Any]) -> list[tuple[float, str, int]]:
    return [(change.time, change.what, change.subject) for change in changes if change.what != "expansion"]


@scaled(0.6)
@given(cases(faults=False), st.integers(0, 9), st.sampled_from([0.2, 3.0]), st.sampled_from([0.0, 0.2, 3.0]))
def test_random_failures_are_the_same_for_all_agents_and_let_runs_end(
    case: Case, seed: int, mtbf: float, mttr: float
) -> None:
    """`WatchedLedger` and `drive` refuse a run that does not end. Servers added by need may come at other times."""
    if case.mode == "expand":
        case.mode = "drop"
    faults = [Faults(mtbf, mttr, ((1.0, 0, 1.0),), case.requeue, seed)]

    def refuse(free: Room, row: int, demand: Demand, spread: bool) -> Where | None:
        return None

    seen = []
    for decide in (first_fit, moody(seed), refuse):
        simulation = simulate(case, faults)
        drive(simulation, decide)
        seen.append(failures(simulation.changes))
        assert case.mode == "stop" or PENDING not in simulation.record.outcome[: simulation.record.rows]
    for log in seen[1:]:
        shorter = min(len(log), len(seen[0]))
        assert log[:shorter] == seen[0][:shorter]


def test_failure_times_follow_the_seed_and_the_means() -> None:
    def log(seed: int, servers: int = 2) -> list[tuple[float, str, int]]:
        case = single_server([(0.0, 0, 1), (10_000.0, 0, 1)], capacity=[[[1]]] * servers)
        simulation = simulate(case, [Faults(30.0, 10.0, (), False, seed)])
        drive(simulation, first_fit)
        return failures(simulation.changes)

    assert log(1) == log(1)
    assert log(1) != log(2)
    assert log(1) == [change for change in log(1, servers=3) if change[2] < 2]  # one server's do not move another's
    ups: list[float] = []
    downs: list[float] = []
    last = {0: 0.0, 1: 0.0}
    for time, what, server in log(1):
        (ups if what == "failure" else downs).append(time - last[server])
        last[server] = time
    assert np.mean(ups) == pytest.approx(30, rel=0.2)  # of about 500
    assert np.mean(downs) == pytest.approx(10, rel=0.2)


# -- answers -------------------------------------------------------------------------------------------------------


def pair() -> Simulation:
    """Two requests, whole and spread, for one server of two nodes of (4, 4); node 0 is full."""
    case = Case(
        [[[4, 4], [4, 4]]],
        [[4, 4], [4, 4]],
        (9, 3),
        [(0.0, 5.0, (4, 3)), (1.0, 1.0, (2, 2)), (2.0, 1.0, (1, 5)), (9.0, 1.0, (1, 5))],
    )
    simulation = simulate(case)
    first = simulation.advance()
    assert first is not None
    simulation.answer(first.on(0, 0))
    return simulation


def answers(request: Request) -> Iterator[Any]:
    """Everything wrong that an agent might say to a whole request of (2, 2)."""
    yield (0, 1)
    yield np.int64(1)
    yield Placement
    yield request.on(0, 0)  # full
    yield request.on(1, 0)
    yield request.on(0, 2)
    yield request.on(-1, 1)
    yield request.on(0, -1)
    yield request.across(0, 2)
    yield Placement(())
    yield Placement(((0, 1, (1, 1)),))
    yield Placement(((0, 1, (3, 3)),))
    yield Placement(((0, 1, (2,)),))
    yield Placement(((0, 1, (1, 1)), (0, 1, (1, 1))))
    yield Placement(((0, 1, (3, 2)), (0, 1, (-1, 0))))
    wrong: Any  # not what the type of a placement says
    for wrong in (5, None, (0, 1, (2, 2)), ((0, 1),), ((0.0, 1, (2, 2)),), (("0", 1, (2, 2)),)):
        yield Placement(wrong)


def refused(simulation: Simulation, request: Request, answer: Any) -> None:
    """The answer is refused, in the request's name, and nothing has changed."""
    ledger = simulation.ledger
    assert isinstance(ledger, Ledger)
    before = (simulation.view.free.tobytes(), bytes_of(simulation.record), ledger.used().tolist(), simulation.waiting)
    with pytest.raises(InfeasiblePlacement) as caught:
        simulation.answer(answer)
    assert str(caught.value).startswith(f"request {request.index} (")
    after = (simulation.view.free.tobytes(), bytes_of(simulation.record), ledger.used().tolist(), simulation.waiting)
    assert after == before
    assert simulation.advance() is request


WHOLE = Request(1, 1.0, 1.0, (2, 2), False)


@pytest.mark.parametrize("number", range(len(list(answers(WHOLE)))))
def test_a_wrong_answer_changes_nothing_and_the_run_goes_on(number: int) -> None:
    simulation = pair()
    request = simulation.advance()
    assert request is not None
    refused(simulation, request, list(answers(request))[number])
    simulation.answer(request.on(0, 1))
    assert simulation.record.server[1] == 0
    assert simulation.record.node[1] == 1


# -- play ----------------------------------------------------------------------------------------------------------


class Scripted(Agent):
    """Answers by a function of the reference's form."""

    def __init__(self, decide: Decide) -> None:
        self.rule = decide
        self.decisions = 0

    def decide(self, view: View, request: Request) -> Placement | None:
        self.decisions += 1
        where = self.rule(view.free.tolist(), request.index, request.demand, request.spread)
        return where and place(request, where, view.free.shape[1])


def bytes_of(record: Record) -> bytes:
    """All of a record."""
    return b"".join(getattr(record, name)[: record.rows].tobytes() for name in Record.COLUMNS)


@scaled(0.5)
@given(cases(), deciders, st.integers(0, 9))
def test_same_arguments_give_the_same_bytes(case: Case, decide: Decide, seed: int) -> None:
    seen = set()
    for _ in range(2):
        simulation = simulate(case, [Faults(9.0, 2.0, tuple(case.failures), case.requeue, seed)])
        assert play(simulation, Scripted(decide)) >= 0
        seen.add((bytes_of(simulation.record), tuple(simulation.changes), simulation.view.free.tobytes()))
    simulation = simulate(case, [Faults(9.0, 2.0, tuple(case.failures), case.requeue, seed)])
    drive(simulation, decide)
    seen.add((bytes_of(simulation.record), tuple(simulation.changes), simulation.view.free.tobytes()))
    assert len(seen) == 1


@scaled(0.5)
@given(cases(), st.lists(st.integers(1, 4), max_size=5))
@example(single_server([(0, 1, 1)] * 4), [])
def test_watch_is_called_when_it_asked_to_be(case: Case, pauses: list[int]) -> None:
    whole = simulate(case)
    play(whole, whole_agent := Scripted(first_fit))

    simulation, agent = simulate(case), Scripted(first_fit)
    calls: list[int] = []

    def watch() -> int:
        calls.append(agent.decisions)
        return [*pauses, 0][len(calls) - 1]

    play(simulation, agent, watch)
    due = [sum(pauses[:k]) for k in range(len(pauses) + 1)]
    assert calls == [at for at in due if at <= whole_agent.decisions]
    assert agent.decisions == min(sum(pauses), whole_agent.decisions)
    play(simulation, agent)  # another play goes on from there
    assert agent.decisions == whole_agent.decisions
    assert bytes_of(simulation.record) == bytes_of(whole.record)


def test_requests_that_are_taken_in_order_are_made_many_at_a_time() -> None:
    rows = simulate(single_server([(0, 1, 1)] * 3 * CHUNK)).rows
    made = rows.requests = Mock(wraps=rows.requests)  # type: ignore[method-assign]
    assert [rows.request(row).index for row in range(CHUNK + 9, 3 * CHUNK)] == [*range(CHUNK + 9, 3 * CHUNK)]
    assert [len(call.args[0]) for call in made.mock_calls] == [4 << n for n in range(9)] + [2 * CHUNK - 9 - 2044]


def test_requests_that_are_far_apart_are_made_few_at_a_time() -> None:
    rows = simulate(single_server([(0, 1, 1)] * 3 * CHUNK)).rows
    made = rows.requests = Mock(wraps=rows.requests)  # type: ignore[method-assign]
    assert [rows.request(row).index for row in range(0, 3 * CHUNK, 20)] == [*range(0, 3 * CHUNK, 20)]
    assert sum(len(call.args[0]) for call in made.mock_calls) < CHUNK


class Broken(Agent):
    """Raises at the second request."""

    def decide(self, view: View, request: Request) -> Placement | None:
        if request.index == 1:
            raise KeyError("no such thing")
        return None


def test_an_interruption_within_compiled_code_interrupts() -> None:
    class Interrupted(Agent):
        def decide(self, view: View, request: Request) -> Placement | None:
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    with pytest.raises(KeyboardInterrupt):
        play(simulate(single_server([(0, 1, 1)])), Interrupted())


def test_an_agent_that_raises_is_named_with_the_request() -> None:
    simulation = simulate(single_server([(0, 1, 1), (1, 1, 1)]))
    message = r"Broken raised KeyError\('no such thing'\) at .*test_engine.py:\d+ for request 1 \("
    with pytest.raises(AgentError, match=message) as caught:
        play(simulation, Broken())
    assert isinstance(caught.value.__cause__, KeyError)
    assert outcomes(simulation) == ["rejected", "pending"]


class Rewriter(Agent):
    """Asks itself for less than the workload does."""

    def __init__(self, field: str, value: Any) -> None:
        self.field, self.value = field, value

    def decide(self, view: View, request: Request) -> Placement | None:
        object.__setattr__(request, self.field, self.value)
        return request.on(0, 0)


@pytest.mark.parametrize(
    ("field", "value"),
    [("demand", (0,)), ("spread", False), ("bandwidth", 0), ("duration", 0.0), ("index", 7), ("network", None)],
)
@pytest.mark.parametrize("together", [0, 2])
def test_agents_cannot_change_what_they_are_asked(field: str, value: Any, together: int) -> None:
    simulation = simulate(single_server([(0, 9, 1), (0, 9, 1)], "wait" if together else "drop", together=together))
    with pytest.raises(AgentError, match=r"Rewriter raised AttributeError.* request"):
        play(simulation, Rewriter(field, value))
    assert outcomes(simulation) == ["pending", "pending"]


def test_agents_cannot_change_the_time() -> None:
    class Backdater(Agent):
        def decide(self, view: View, request: Request) -> Placement | None:
            view.now = -99.0
            return request.on(0, 0) if view.free[0, 0, 0] else None

    simulation = simulate(single_server([(0, 9, 1), (1, 9, 1)]))
    play(simulation, Backdater())
    assert outcomes(simulation) == ["placed", "rejected"]
    assert simulation.record.decided[0] == 0.0


def offered(simulation: Simulation) -> Request:
    """Go on to the next request, which there must be."""
    request = simulation.advance()
    assert request
    return request


@pytest.mark.parametrize("mode", ["drop", "wait", "stop"])
def test_an_answer_that_nobody_waits_for_is_refused(mode: str) -> None:
    simulation = Simulation(workload_of([(0, 9, (1,)), (0, 9, (9,))]), Ledger(Cluster(("a",), CELL, (9,), CELL[0])))
    simulation.overflow = Overflow(mode)  # type: ignore[arg-type]
    with pytest.raises(AgentError, match="call advance"):
        simulation.answer(None)
    request = offered(simulation)
    simulation.answer(request.on(0, 0))
    for _ in range(2):
        with pytest.raises(AgentError, match="call advance"):
            simulation.answer(request.on(0, 0))
        assert simulation.advance() is None  # the other one fits nowhere at all
    assert (simulation.record.sequence.tolist(), simulation.waiting) == ([0], 0)
