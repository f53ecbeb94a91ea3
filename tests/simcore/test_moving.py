"""What moves while a run goes on: the engine against its reference, and what must hold whatever happens."""

from itertools import pairwise
from math import isnan
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.simcore.faults import Faults
from binwright.simcore.record import REJECTED
from tests.reference.engine import SPREAD, Case, Decide, Room, Where
from tests.reference.moving import May, MovingReference, Plans, Rules, Runs
from tests.support.moving import Told, drawn_rules, move_in, rules_of_moves, shuffler
from tests.support.properties import first, scaled
from tests.support.simulations import (
    RULES,
    cases,
    compare,
    deciders,
    drive,
    first_fit,
    long_case,
    moody,
    ruled_case,
    simulate,
)


def check(case: Case, decide: Decide, plans: Plans, rules: Rules) -> MovingReference:
    """Play a case on the engine and by the reference."""
    reference = MovingReference(case, decide, plans, rules)
    simulation = simulate(case)
    moving = move_in(simulation, rules, Told(plans))
    taken = drive(simulation, decide)
    outcomes = {"leaving": "under way"}
    assert [
        (m.row, m.why, m.source, m.target, m.begin, m.outcome, None if isnan(m.end) else m.end) for m in moving.log
    ] == [
        (f.row, f.why, f.source, f.target, f.begin, outcomes.get(f.outcome, f.outcome), f.end)
        for f in reference.flights
    ]
    compare(simulation, taken, reference, late=True)
    return reference


@scaled(2)
@given(cases(), deciders, st.integers(0, 99), rules_of_moves)
def test_moves_are_the_references(case: Case, decide: Decide, salt: int, rules: Rules) -> None:
    check(case, decide, shuffler(salt), rules)


@pytest.mark.long
@pytest.mark.parametrize("start", first(1, range(0, 400, 40)))
def test_long_runs_with_moves_are_the_references(start: int) -> None:
    outcomes = set()
    for seed in range(start, start + 40):
        rules = drawn_rules(Random(seed))
        for decide in (first_fit, moody(seed)):
            reference = check(long_case(seed), decide, shuffler(seed), rules)
            outcomes |= {(flight.why, flight.outcome, flight.target[1]) for flight in reference.flights}
    whys, whats, nodes = map(set, zip(*outcomes, strict=True))
    assert whys == {"room", "schedule"}
    assert whats >= {"done", "called off", "interrupted", "ended"}
    assert SPREAD in nodes


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, 400, 100))
def test_long_runs_with_moves_and_rules_of_placement_are_the_references(start: int) -> None:
    moved, refused = set(), set()
    for seed in range(start, start + 100):
        case = ruled_case(seed)
        reference = check(case, first_fit, shuffler(seed), drawn_rules(Random(seed)))
        moved |= {reference.role(flight.row).group for flight in reference.flights}
        bases = 5 + len(case.spread_above)
        refused |= {case.placement[row.reason - bases] for row in reference.rows if row.reason >= bases}
    assert moved == {"a", "b", ""}
    assert refused == set(RULES)


def test_requests_wait_and_rescheduling_goes_on_until_the_last_of_all_that_failed_is_back() -> None:
    """A rack of a server without room fails often and is back at once, while the only server with room is down."""
    outages = 0
    rack = Faults(1.0, 0.0, label="rack", domains=lambda _: [[1]])
    for seed in range(5):
        case = Case([[[1]], [[0]]], [[1]], (9,), [(0.0, 10.0, (1,)), (0.0, 10.0, (1,))], "wait")
        simulation = simulate(case, [Faults(8.0, 50.0, (), True, seed), rack])
        requested: list[float] = []

        def plans(free: Room, running: Runs, moves: int, request: int, may: May) -> list[tuple[int, Where]]:
            requested.append(simulation.now)  # noqa: B023
            return []

        move_in(simulation, Rules(every=1), Told(plans))
        drive(simulation, first_fit)
        record = simulation.record
        assert (record.outcome[: record.rows] != REJECTED).all()
        begins = record.decided[: record.rows]
        ends = np.fmin(begins + simulation.as_workload().duration, record.interruption[: record.rows])
        runs = list(zip(begins.tolist(), ends.tolist(), strict=True))
        ticks = range(1, int(np.ceil(simulation.now)))
        assert requested == [tick for tick in ticks if any(begin < tick < end for begin, end in runs)]
        outages += sum(later - end > 10 for (_, end), (later, _) in pairwise(sorted(runs)))
    assert outages
