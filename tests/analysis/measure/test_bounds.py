"""The bound on scheduled length, against plain Python and against every agent's runs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.analysis.measure.metrics.requests import held, scheduled_bound
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.rules import Overflow
from tests.support.learning import small
from tests.support.runs import Case, cases, run

requests = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=12)


@given(requests)
def test_held_amounts_at_each_arrival_equal_a_plain_sum(some: list[tuple[int, int, int]]) -> None:
    some.sort(key=lambda request: request[0])
    begin, length, demand = (np.array(column) for column in zip(*some, strict=True))
    found = held(begin.astype(float), (begin + length).astype(float), demand[:, None])
    for row, (now, _, _) in enumerate(some):
        assert found[row, 0] == sum(d for b, n, d in some[: row + 1] if b + n > now)


@given(cases())
def test_no_run_exceeds_it(case: Case) -> None:
    case.failures, case.expansion, case.overflow = [], [], Overflow("stop")
    ran = run(case)
    done, simulation = ran.simulation, ran.simulation
    outcome = done.record.outcome[: len(simulation.workload)]
    bound = scheduled_bound(simulation, ran.first)
    placed = int((outcome[ran.first :] == 1).sum())
    assert placed <= bound <= len(outcome) - ran.first


def test_a_run_says_it_where_it_holds(tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "agents": ["best-fit", "internal"],
        "replications": 3,
        "warm_start": {"until": "20 %", "with": "best-fit"},
    }
    runs = Batch(scenario_from(small(**asked)), tmp_path / "one").run().runs
    assert (runs["scheduled"] <= runs["scheduled_bound"]).all()
    assert runs.group_by("seed").n_unique()["scheduled_bound"].to_list() == [1] * 3
    changes: list[dict[str, Any]] = [{"overflow": "drop"}, {"pacing": {"step": "1 s"}}]
    for number, changed in enumerate(changes):
        other = Batch(scenario_from(small(**asked | changed)), tmp_path / str(number)).run().runs
        assert "scheduled_bound" not in other.columns


def test_with_room_for_all_it_is_all_of_them() -> None:
    ran = run(Case([(4, 4)], [(0.0, 1.0, (4, 4)), (1.0, 1.0, (4, 4)), (1.0, 1.0, (9, 9))]))
    assert scheduled_bound(ran.simulation, 0) == 2
    ran = run(Case([(4, 4)], [(0.0, 2.0, (4, 4)), (1.0, 1.0, (1, 1))]))
    assert scheduled_bound(ran.simulation, 0) == 1
    assert scheduled_bound(ran.simulation, 1) == pytest.approx(0)
