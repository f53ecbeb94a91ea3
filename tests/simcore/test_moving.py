"""What moves while a run goes on: the engine against its reference, and what must hold whatever happens."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from math import inf, isnan
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.engine import Simulation
from simcore.moves import Asked, Move, Mover, MoveRules, Running
from simcore.moving import Moving
from simcore.vocabulary import Request, View
from tests.reference.engine import SPREAD, Case, Decide, Room, Where, feasible, shares
from tests.reference.moving import MovingReference, Plans, Rules, Runs
from tests.support.properties import first, scaled
from tests.support.simulations import cases, compare, deciders, drive, first_fit, long_case, moody, place, simulate


def shuffler(salt: int) -> Plans:
    """Make what plans moves at random, always the same in the same situation, and each fits after those before."""

    def plans(free: Room, running: Runs, moves: int, request: int) -> list[tuple[int, Where]]:
        digest = hashlib.blake2b(repr((salt, free, running, moves, request)).encode(), digest_size=8).digest()
        rng = Random(digest)
        free = [[list(node) for node in server] for server in free]
        at = {row: where for row, where, _, _ in running}
        found = []
        for _ in range(rng.randint(0, moves)):
            row, _, demand, spread = rng.choice(running)
            places = [where for where in feasible(free, demand, spread) if where != at[row]]
            if places:
                where = rng.choice(places)
                for to, sign in ((where, -1), (at[row], +1)):
                    for server, node, amounts in shares(demand, spread, to, len(free[0])):
                        for r, amount in enumerate(amounts):
                            free[server][node][r] += sign * amount
                at[row] = where
                found.append((row, where))
        return found

    return plans


class Told(Mover):
    """Plans what a function says."""

    def __init__(self, plans: Plans) -> None:
        self.plans = plans

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        runs: Runs = []
        for row, server, node in zip(running.row.tolist(), running.server.tolist(), running.node.tolist(), strict=True):
            one = running.request(row)
            runs.append((row, (server, node), one.demand, one.spread))
        found = self.plans(view.free.tolist(), runs, moves, -1 if request is None else request.index)
        nodes = view.free.shape[1]
        return [Move(row, place(running.request(row), where, nodes)) for row, where in found]


def move_in(simulation: Simulation, rules: Rules, mover: Mover) -> Moving:
    """Have a mover move in a simulation."""
    n = len(simulation.workload)
    found = MoveRules(
        1 / rules.per_quantum if rules.per_quantum else inf,
        0,
        rules.downtime,
        rules.at_once,
        rules.per_hour,
        lambda workload: np.isin(np.arange(n), list(rules.fixed)),
    )
    room = Asked(mover, rules.room) if rules.room else None
    return Moving(simulation, found, room, Asked(mover, rules.moves, rules.every) if rules.every else None)


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


rules_of_moves = st.builds(
    Rules,
    every=st.sampled_from([2, 1, 0, 5]),
    moves=st.integers(1, 4),
    room=st.sampled_from([2, 0, 1, 4]),
    per_quantum=st.sampled_from([0.5, 0.0, 1.0, 2.0]),
    downtime=st.sampled_from([0.0, 1.0]),
    at_once=st.sampled_from([0, 1, 2]),
    per_hour=st.sampled_from([0, 0, 3]),
    fixed=st.frozensets(st.integers(0, 9), max_size=3),
)


@scaled(2)
@given(cases(), deciders, st.integers(0, 99), rules_of_moves)
def test_moves_are_the_references(case: Case, decide: Decide, salt: int, rules: Rules) -> None:
    check(case, decide, shuffler(salt), rules)


@pytest.mark.parametrize("start", first(1, range(0, 400, 100)))
def test_long_runs_with_moves_are_the_references(start: int) -> None:
    outcomes = set()
    for seed in range(start, start + 100):
        rng = Random(seed)
        rules = Rules(
            rng.choice([0, 1, 2, 3]),
            rng.randint(1, 5),
            rng.choice([0, 1, 3]),
            rng.choice([0.0, 0.5, 1.0]),
            rng.choice([0.0, 0.5, 2.0]),
            rng.choice([0, 1, 2]),
            rng.choice([0, 0, 10]),
            frozenset(rng.sample(range(30), 3)),
        )
        for decide in (first_fit, moody(seed)):
            reference = check(long_case(seed), decide, shuffler(seed), rules)
            outcomes |= {(flight.why, flight.outcome) for flight in reference.flights}
    assert {why for why, _ in outcomes} == {"room", "schedule"}
    assert {what for _, what in outcomes} >= {"done", "called off", "interrupted", "ended"}
    assert SPREAD in {flight.target[1] for flight in reference.flights} or start


@given(cases(), deciders, st.sampled_from([1, 3]))
def test_a_mover_that_moves_nothing_changes_nothing(case: Case, decide: Decide, every: int) -> None:
    plain, moved = simulate(case), simulate(case)
    moving = move_in(moved, Rules(every=every, room=3, downtime=1.0), Told(lambda free, running, moves, request: []))
    assert drive(plain, decide) == drive(moved, decide)
    assert moving.log == []
    for name in plain.record.COLUMNS:
        np.testing.assert_array_equal(getattr(plain.record, name), getattr(moved.record, name))
    assert plain.changes == moved.changes
    assert plain.now == moved.now
