"""A run in cells that is kept between any windows, here or apart, and goes on, ends as one never interrupted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.heuristics.servers.best_fit import best_fit
from agents.heuristics.servers.random_top import RandomTop
from agents.rules.scan import ScanAgent
from fabric.cluster import Cluster
from fabric.compiled.cells_kept import go_on, numbers, where
from fabric.compiled.cells_run import CellSimulation, play_cells
from fabric.compiled.numa_kept import answers_since
from fabric.ledger import Ledger
from simcore.rules import Cells
from simcore.vocabulary import Workload
from tests.support.cells import CASES, apart, drawn
from tests.support.compiled import Looker, agent_of, assert_same, busy
from tests.support.fickle import Fickle
from tests.support.properties import first, scaled


def assert_goes_on(
    workload: Workload,
    cluster: Cluster,
    cells: Cells,
    chances: Any,
    made: Callable[[], ScanAgent],
    stays: list[int],
    hands: int,
) -> None:
    """Play a run whole and in parts, each of which looks so often and has an agent that is `made` for it.

    The parts are played by so many `hands` that share nothing with the simulation, and in threads where there are none.
    """

    def begun(hands: int = hands) -> tuple[CellSimulation, ScanAgent, Any]:
        simulation = CellSimulation(workload, Ledger(cluster), cells, chances)
        agent = made()
        if hands:
            simulation.hire = apart(hands, agent.scan)
        agent.start(simulation.view, np.random.default_rng(3))
        return simulation, agent, numbers(simulation, agent.compiled)  # type: ignore[arg-type]

    whole, agent, _ = begun(0)
    expected = Looker(whole, [1])
    play_cells(whole, agent, expected)
    seen: list[Any] = []
    part, agent, mine = begun()
    answers = [*answers_since(part.record, 0)]
    for stay in stays:
        looker = Looker(part, [1], last=stay)
        play_cells(part, agent, looker)
        if len(looker.seen) < stay:
            break  # the run is over
        seen += looker.seen[:-1]
        answers += answers_since(part.record, sum(map(len, answers)))
        kept = {name: column.copy() for name, column in where(part).items()}
        before = mine
        part, agent, mine = begun()
        go_on(part, kept, np.concatenate(answers))
        for array, values in zip(mine, before, strict=True):
            array[...] = values
    else:
        looker = Looker(part, [1])
        play_cells(part, agent, looker)
    seen += looker.seen
    assert seen == expected.seen
    assert_same(part, whole)
    part.ledger.confirm()
    np.testing.assert_array_equal(part.view.everything_free, whole.view.everything_free)


@given(
    **CASES,
    made=st.sampled_from([RandomTop, partial(agent_of, best_fit)]),
    stays=st.lists(st.integers(1, 6), max_size=3),
    hands=st.integers(0, 3),
)
@scaled(3)
def test_a_run_in_cells_goes_on_from_anywhere(
    seed: int, n: int, servers: int, count: int, router: Any, window: float, made: Any, stays: list[int], hands: int
) -> None:
    count = min(count, servers)
    workload, cluster, chances = drawn(seed, n, servers, count)
    assert_goes_on(workload, cluster, Cells(count, router, "tenant", window), chances, made, stays, min(hands, count))


@pytest.mark.parametrize("made", first(1, [RandomTop, Fickle]))
@pytest.mark.parametrize("hands", [0, 2])
def test_what_is_made_anew_changes_nothing(made: type[ScanAgent], hands: int) -> None:
    """Cells of many servers follow what changed, in trees or classes that are not kept."""
    workload, cluster = busy(2000)
    many = Cluster(cluster.resources, np.repeat(cluster.capacity, 60, axis=0), cluster.spread_above, cluster.growth)
    assert_goes_on(workload, many, Cells(2, window=40.0), None, made, [7, 12], hands)
