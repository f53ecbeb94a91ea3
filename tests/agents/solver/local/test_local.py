"""Local search: what it keeps of an allocation is what a replay from nothing gives."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver import problem
from binwright.agents.solver.backends.attempt import PLACING, stream
from binwright.agents.solver.backends.cpu import compiled_problem, never
from binwright.agents.solver.local import state as s
from binwright.agents.solver.local.search import LIGHTEST, attempts, begin, improve
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.solving.solve import searches
from tests.reference.utilisation import evaluate
from tests.support.forms import forms
from tests.support.properties import scaled
from tests.support.solver_forms import FORMS

pytestmark = pytest.mark.long


def opened(inputs: Problem, seed: int) -> tuple[Any, s.State]:
    call, flat = compiled_problem(inputs, True)
    weight = np.full(len(inputs.units), LIGHTEST)
    return call, s.new_state(inputs, flat, np.zeros(1, np.int64), stream(seed, PLACING, 0), weight)


def is_consistent(inputs: Problem, state: s.State) -> None:
    """Hold the state to the rule, spelt out slowly."""
    alloc, where, tally = state.room.alloc.tolist(), state.where, state.tally
    used, rejected = evaluate(inputs, alloc)
    assert (state.room.used[: inputs.dims].tolist(), rejected) == (used, [])
    assert not faults(inputs, alloc)
    left = [unit for unit, (members, _) in enumerate(inputs.units) if alloc[members[0]] == NULL]
    assert sorted(state.room.left[: tally[s.COUNT]].tolist()) == left
    assert tally[s.TOTAL] == state.weight[left].sum()
    for unit, (members, _) in enumerate(inputs.units):
        assert {alloc[ball] for ball in members} == {where[unit]}
    for place in range(inputs.bins):
        result, unit = [], state.head[place]
        while unit != NULL:
            result.append(int(unit))
            unit = state.following[unit]
        assert sorted(result) == np.flatnonzero(where == place).tolist()
    for group in range(len(inputs.soft_allowed)):
        over = (np.array(used) > inputs.capacity) & (inputs.soft_group == group)
        assert state.room.over[group] == over.sum()


@scaled(0.6)
@given(inputs=forms(), seed=st.integers(0, 2**40), staying=st.booleans())
def test_every_move_leaves_what_a_replay_gives(inputs: Problem, seed: int, staying: bool) -> None:
    call, state = opened(inputs, seed)
    state = state._replace(home=np.random.default_rng(seed).integers(NULL, inputs.bins, len(inputs.units)))
    left = begin(call, state, staying)
    is_consistent(inputs, state)
    for _ in range(25):
        before = int(state.tally[s.TOTAL])
        left = improve(call, state, 1, left)
        assert state.tally[s.TOTAL] <= before
        is_consistent(inputs, state)
        assert left == sum(state.best[members[0]] == NULL for members, _ in inputs.units)
        assert not faults(inputs, state.best.tolist())


@scaled(0.4)
@given(inputs=forms(), seed=st.integers(0, 2**40))
def test_runs_keep_all_rules(inputs: Problem, seed: int) -> None:
    *_, result = searches(inputs, "cpu", "ours")["local search"](inputs, seed, 0, 3, never)
    assert result.left == len(np.unique(inputs.unit_of[result.where == NULL]))
    if inputs.program.alloc_free:
        assert not faults(inputs, result.where.tolist())


def test_a_run_counts_no_more_moves_than_it_makes() -> None:
    inputs = problem("BALLS 3 BINS 1 RESOURCES C => 2 procedure UTILFN(BALL, BIN, ALLOC) UTIL.C += 1 end")
    *_, workload = attempts(inputs, 0, 0, 1)
    assert (workload.left, workload.checked) == (1, 1 + 256 * 3)


def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = FORMS["pods"](0)
    answers = set()
    for threads in (1, 3):
        monkeypatch.setattr("binwright.agents.solver.backends.cpu.usable_threads", lambda threads=threads: threads)
        [ours] = searches(inputs, "cpu", "ours").values()
        *_, actual = ours(inputs, 7, 0, 6, never)
        answers.add((tuple(actual.where.tolist()), actual.attempt))
    assert len(answers) == 1


@pytest.mark.parametrize("form", FORMS)
def test_local_search_solves_problems_that_attempts_do_not(form: str) -> None:
    *_, result = attempts(FORMS[form](1), 0, 0, 60)
    assert result.left == 0
