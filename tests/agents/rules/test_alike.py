"""The form of a rule that looks at one of the servers that are alike, against the scan: ties and context included."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.learned.padrl.network import MEMORY, SIZE, padrl
from agents.rules.scan import ScanAgent
from fabric.alike import alike
from fabric.cluster import NEVER
from fabric.compiled.numa_run import CompiledSimulation, play_compiled
from fabric.ledger import Ledger
from simcore.engine import Simulation
from simcore.play import play
from simcore.vocabulary import Compiled, View
from tests.reference.engine import Case as Run
from tests.reference.moving import Rules
from tests.support import simulations
from tests.support.changing import Changing, assert_same_on_both, engines, followed
from tests.support.compiled import Case, assert_same, cases, played
from tests.support.fickle import Fickle, fickle
from tests.support.moving import rules_of_moves
from tests.support.properties import scaled

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

DEMANDS = list(product(range(4), range(4)))


class Padrl(ScanAgent):
    """Padrl with any weights."""

    scan = staticmethod(padrl)

    def __init__(self, weights: Any) -> None:
        self.numbers = weights, np.zeros(MEMORY)

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.numbers[1][:] = 0
        self.get_ready(view)


def same(rule: Compiled, cluster: Changing, steps: int = 60) -> None:
    """Ask both forms of a rule, each with numbers of its own, for random demands while a cluster changes and grows."""
    scan, rng = rule.scan, cluster.rng
    scans, follows = ([each.copy() for each in rule.weights] for _ in range(2))
    for known in followed(cluster, alike, steps):
        asked = cluster.free, cluster.capacity, DEMANDS[rng.integers(len(DEMANDS))], bool(rng.random() < 0.3)
        assert scan.incremental(*asked, *follows, cluster.log, *known) == scan(*asked, *scans)
        for one, other in zip(scans, follows, strict=True):
            np.testing.assert_array_equal(one, other)


CLUSTERS = st.integers(1, 150), st.integers(2, 6), st.integers(1, 3), st.integers(0, 2**32)
"""Servers, amounts, sizes and a seed: from few states to as many as servers."""


@given(st.integers(1, 3), *CLUSTERS)
@scaled(2)
def test_one_of_each_kind_is_enough(nodes: int, servers: int, most: int, sizes: int, seed: int) -> None:
    cluster = Changing(servers, nodes, np.random.default_rng(seed), most, sizes)
    same(Compiled(fickle, (np.zeros(1),)), cluster)


@given(st.sampled_from([0.0, 1.0, 0.5]), *CLUSTERS)
@scaled(2)
def test_one_of_each_kind_is_enough_for_padrl(step: float, servers: int, most: int, sizes: int, seed: int) -> None:
    """With weights that are multiples of a `step`, many places are equal; with 0, all."""
    rng = np.random.default_rng(seed)
    weights: Any = rng.normal(size=SIZE) if rng.random() < 0.5 else rng.integers(-2, 3, SIZE) * step
    same(Compiled(padrl, (weights, np.zeros(MEMORY))), Changing(servers, 2, rng, most, sizes))


@pytest.mark.parametrize(
    "agent", [Fickle(), Padrl(np.random.default_rng(0).normal(size=SIZE))], ids=["fickle", "padrl"]
)
def test_runs_are_the_scans_on_both_engines(agent: ScanAgent) -> None:
    assert_same_on_both(agent)


@given(cases(most=12))
@scaled(1)
def test_a_compiled_run_is_the_engines(case: Case) -> None:
    """With a warm start, with lines, with growth."""
    engine = Simulation(case.workload, Ledger(case.cluster), case.overflow, expansion=case.expansion)
    expected = played(case, engine, lambda _, watch: play(engine, Fickle(), watch))
    compiled = CompiledSimulation(case.workload, Ledger(case.cluster), case.overflow, expansion=case.expansion)
    compiled.follows = True
    found = played(case, compiled, lambda _, watch: play_compiled(compiled, Fickle(), watch))
    assert found == expected
    assert_same(compiled, engine)


@given(simulations.cases(), rules_of_moves)
@scaled(1)
def test_a_run_with_failures_growth_and_moves_is_the_scans(case: Run, moves: Rules) -> None:
    case.capacity *= 7
    assert_same(engines(case, Fickle(), 1, moves), engines(case, Fickle(), NEVER, moves))


@pytest.mark.parametrize("seed", range(6))
def test_a_busy_run_is_the_scans(seed: int) -> None:
    """Many servers, most of them full, which fail and are moved from."""
    case = simulations.long_case(seed)
    case.capacity, case.requests = case.capacity * 9, sorted(case.requests * 8)
    moves = Rules(every=2, moves=3, room=2)
    scan = engines(case, Fickle(), NEVER, moves)
    assert_same(engines(case, Fickle(), 1, moves), scan)
    assert_same(engines(case, Fickle(), len(case.capacity) + 1, moves), scan)
