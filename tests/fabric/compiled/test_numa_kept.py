"""A compiled run that is kept anywhere, and goes on in a new simulation, ends as one that was never interrupted."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabric.compiled.numa_kept import answers_since, go_on, where
from fabric.compiled.numa_run import CompiledSimulation, play_compiled
from fabric.ledger import Ledger
from tests.support.compiled import Case, Looker, agent_of, assert_same, cases
from tests.support.properties import scaled


def simulated(case: Case) -> CompiledSimulation:
    return CompiledSimulation(case.workload, Ledger(case.cluster), case.overflow, expansion=case.expansion)


@given(cases(), st.lists(st.integers(1, 6), max_size=3))
@scaled(3)
def test_a_run_goes_on_from_anywhere(case: Case, stays: list[int]) -> None:
    whole = simulated(case)
    expected = Looker(whole, [1])
    play_compiled(whole, agent_of(case.rules[1]), expected)
    seen: list[Any] = []
    part, answers = simulated(case), [*answers_since(whole.record, len(whole.record.sequence))]
    for stay in stays:  # how often each of the simulations that are given up looks
        looker = Looker(part, [1], last=stay)
        play_compiled(part, agent_of(case.rules[1]), looker)
        if len(looker.seen) < stay:
            break  # the run is over
        seen += looker.seen[:-1]
        answers += answers_since(part.record, sum(map(len, answers)))
        kept = {name: column.copy() for name, column in where(part).items()}
        part = simulated(case)
        go_on(part, kept, np.concatenate(answers))
    else:
        looker = Looker(part, [1])
        play_compiled(part, agent_of(case.rules[1]), looker)
    seen += looker.seen
    assert seen == expected.seen
    assert_same(part, whole)
