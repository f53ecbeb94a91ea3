"""Compiled runs against the engine where servers fail, and requests are evicted or moved."""

from dataclasses import replace
from math import inf
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.servers.costs import best_fit, first_fit
from binwright.analysis.measure.samples import Sampler
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play, play_compiled
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.preemption import Preemption
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.faults import Faults
from binwright.simcore.rules import Overflow
from tests.reference.engine import Case, Preempt
from tests.reference.moving import Rules
from tests.support.compiled import agent_of, assert_same, moody, wrong
from tests.support.moving import Told, drawn_rules, move_in, shuffler
from tests.support.properties import first, scaled
from tests.support.recount import recount
from tests.support.simulations import VICTIMS, cases, long_case, ruled_case, simulate

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

SCANS: list[Any] = [first_fit, best_fit, moody]


def compare(case: Case, scan: Any, faults: list[Faults], moves: Rules | None, salt: int = 0) -> Simulation:
    """Play a case on both engines, compare all that they leave behind, and return the compiled run."""
    engine, compiled = (simulate(case, faults, compiled=compiled) for compiled in (False, True))
    samples = []
    for each, way in (engine, play), (compiled, play_compiled):
        if salt % 3 == 1:  # a warm start
            overflow, each.overflow = each.overflow, Overflow("drop")
            way(each, agent_of(best_fit), iter([5, 0]).__next__)
            each.overflow = overflow
        if moves:
            move_in(each, moves, Told(shuffler(salt)))
        sampler = Sampler(each, each.ledger)
        way(each, agent_of(scan), sampler)
        samples.append(sampler.columns())
    assert_same(compiled, engine)
    for name, column in samples[0].items():
        np.testing.assert_array_equal(samples[1][name], column, name)
    assert (compiled.now, compiled.offered, compiled.stopped) == (engine.now, engine.offered, engine.stopped)
    np.testing.assert_array_equal(compiled.view.everything_free, engine.view.everything_free)
    assert sorted(compiled.ledger.running) == sorted(engine.ledger.running)
    assert isinstance(compiled.ledger, Ledger)
    recount(compiled.ledger)
    if engine.moving and compiled.moving:
        assert compiled.moving.log == engine.moving.log
    if engine.preempting and compiled.preempting:
        assert compiled.preempting.log == engine.preempting.log
    return compiled


@given(cases(), st.sampled_from(SCANS))
@scaled(2)
def test_failing_servers_interrupt_compiled_runs_as_the_engine(case: Case, scan: Any) -> None:
    compare(case, scan, [], None)


def drawn(seed: int) -> tuple[Case, list[Faults], Rules | None]:
    """Draw a long case with several of: scheduled or random failures, priorities, gangs, rules, and moves."""
    rng = Random(seed)
    case = rng.choice([long_case, ruled_case])(seed)
    if rng.random() < 0.4:
        rules = Preempt(rng.choice([*VICTIMS]), rng.choice([0.0, 2.0]), rng.random() < 0.7, rng.choice([inf, 2.0]))
        case = replace(case, preempt=rules, priorities=tuple(rng.randint(0, 2) for _ in case.requests))
    faults = [Faults(20.0, 2.0, requeue=rng.random() < 0.5, seed=seed)] if rng.random() < 0.2 else []
    if rng.random() < 0.3:
        return replace(case, parts=tuple(rng.randint(1, 3) for _ in case.requests)), faults, None
    return case, faults, drawn_rules(rng) if rng.random() < 0.4 else None


@pytest.mark.parametrize("start", first(1, range(0, 1000, 50)))
def test_compiled_runs_change_as_the_engine(start: int) -> None:
    happened: set[str] = set()
    for seed in range(start, start + 50):
        case, faults, moves = drawn(seed)
        run = compare(case, SCANS[seed % 3], faults, moves, seed)
        log = run.preempting.log if isinstance(run.preempting, Preemption) else []
        happened |= {each.outcome for each in log} | {each.what for each in run.changes}
        happened |= {each.outcome for each in run.moving.log} if run.moving else set()
    assert happened >= {"evicted", "failure", "repair", "expansion", "done"}


def test_a_wrong_place_for_a_request_that_was_sent_back_is_refused_in_the_engines_words() -> None:
    case = replace(long_case(3), failures=[(0.5, 0, 1.0)], requeue=True, mode="wait", expansion=[])
    errors = []
    for compiled, way in (False, play), (True, play_compiled):
        run = simulate(case, compiled=compiled)
        way(run, agent_of(best_fit), iter([1, 0]).__next__)
        with pytest.raises(InfeasiblePlacement) as refused:
            way(run, agent_of(wrong))
        errors.append(str(refused.value))
    assert errors[0] == errors[1]
