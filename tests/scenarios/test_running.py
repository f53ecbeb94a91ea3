"""What runs already when a window of a trace begins: it is taken over, or left out, and either is said."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.cli import main
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.requests import forget
from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.workload import Workload
from binwright.workloads.lifetimes import kaplan_meier
from binwright.workloads.windows import Window, select
from tests.support.batches import data
from tests.support.scenarios import WAYS, Way, first_run, run_as

INF = float("inf")
LONG = [(0, INF, 4), (1, 500, 2), (2, 3, 1), (3, 97, 1), (50, 10, 3), (100, 20, 1), (130, 5, 2), (140, 50, 2)]
"""Arrival, lifetime and cpu: at row 5, when 100 s have passed, rows 0 and 1 run, and row 3 has ended just then."""


def frame(rows: Sequence[tuple[float, float, float]]) -> pl.DataFrame:
    arrival, lifetime, cpu = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    return pl.DataFrame({"id": np.arange(len(rows)), "arrival": arrival, "lifetime": lifetime, "cpu": cpu})


@pytest.fixture
def trace(tmp_path: Path) -> dict[str, Any]:
    rows = "".join(f"{n},{arrival},{lifetime},{cpu}\n" for n, (arrival, lifetime, cpu) in enumerate(LONG))
    (tmp_path / "t.csv").write_text("id,arrival,lifetime,cpu\n" + rows)
    return {"trace": "table", "path": str(tmp_path / "t.csv"), "start": 5}


def scenario(workload: dict[str, Any], **more: Any) -> Scenario:
    options = {"cluster": {"servers": 1, "node": {"cpu": 10}}, "agents": ["first-fit"], "record": ["requests"]}
    return scenario_from(data(workload=workload, **{**options, **more}))


def test_running_requests_are_taken_over_with_their_remaining_lifetime() -> None:
    result = select(frame(LONG), Window(start=5), ("cpu",), 0)
    assert result.id.tolist() == [0, 1, 5, 6, 7]
    assert result.arrival.tolist() == [0, 0, 0, 30, 40]
    assert result.duration.tolist() == [INF, 401, 20, 5, 50]
    assert result.age is not None
    assert result.age.tolist() == [100, 99]
    assert result.running == 2
    assert select(frame(LONG), Window(start=5, running="drop"), ("cpu",), 0).running == 0
    assert select(frame(LONG), Window(), ("cpu",), 0).running == 0


@given(
    rows=st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0, 1, 2, 3, 5, 9, 20, INF])), min_size=1, max_size=25),
    first=st.integers(0, 24),
    scale=st.sampled_from([0.5, 1.0, 3.0]),
)
def test_running_requests_are_those_of_the_whole_trace(rows: list[tuple[int, float]], first: int, scale: float) -> None:
    """What is held at any time is what the whole trace would hold then, had it found room."""
    first %= len(rows)
    whole = frame(
        [(float(time), stays, 1.0) for time, (_, stays) in zip(np.cumsum([r[0] for r in rows]), rows, strict=True)]
    )
    every = select(whole, Window(time_scale=scale), ("cpu",), 0)
    some = select(whole, Window(start=first, time_scale=scale), ("cpu",), 0)
    begin = every.arrival[first]

    def held(workload: Workload, time: float, rows: slice) -> set[int]:
        present = (workload.arrival <= time) & (workload.arrival + workload.duration > time)
        return set(workload.id[rows][present[rows]].tolist())

    for time in every.arrival[first:]:
        # Of those that come at the very beginning, the rows before `first` are there, too.
        assert held(some, time - begin, slice(None)) == held(every, time, slice(None))
    assert set(some.id[: some.running].tolist()) == held(every, begin, slice(0, first))
    assert some.id[some.running :].tolist() == every.id[first:].tolist()


@pytest.mark.parametrize("way", WAYS)
def test_a_run_places_it_first_and_does_not_measure_it(tmp_path: Path, trace: dict[str, Any], way: Way) -> None:
    results = run_as(way, Batch(scenario(trace), tmp_path / "results"))
    row = results.runs.row(0, named=True)
    assert (row["offered"], row["scheduled"], row["running_lost"]) == (3, 3, 0)
    assert row["allocation_cpu"] == pytest.approx((6 * 40 + 20 + 2 * 5) / 400)
    requested = pl.read_parquet(next((tmp_path / "results" / "details").glob("*.requests.parquet")))
    assert requested["warm"].to_list() == [True, True, False, False, False]
    dropped, _ = first_run(scenario({**trace, "running": "drop"}), tmp_path / "without")
    assert (dropped["offered"], dropped["running_lost"]) == (3, 0)
    assert dropped["allocation_cpu"] == pytest.approx((20 + 2 * 5) / 400)


def test_running_requests_without_a_place_are_counted_and_reported(
    tmp_path: Path, trace: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    small = scenario(trace, cluster={"servers": 1, "node": {"cpu": 5}})
    row, requested = first_run(small, tmp_path / "results")
    assert (row["running_lost"], row["offered"], row["scheduled"]) == (1, 3, 1)
    assert requested["outcome"].to_list() == ["placed", "rejected", "placed", "rejected", "rejected"]
    file = tmp_path / "small.yaml"
    file.write_text(
        f"cluster: {{servers: 1, node: {{cpu: 5}}}}\nworkload: {{trace: table, path: {trace['path']}, start: 5}}\n"
        "agents: [first-fit]\n"
    )
    assert main(["run", str(file), "--out", str(tmp_path / "again")]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "the cluster cannot hold what runs already at the start: 1 of these requests got no place there" in output


# What agents are told


def foreseen(trace: dict[str, Any], how: object) -> Workload:
    forget()
    return build_world(scenario(trace, knowledge={"lifetimes": how})).draw(0)


def test_agents_are_told_what_is_left(trace: dict[str, Any]) -> None:
    known = foreseen(trace, "known")
    assert known.expected.tolist() == [INF, 401, 20, 5, 50]
    sure = foreseen(trace, {"predicted": {"noise": {"sigma": 0}}})
    assert sure.expected.tolist() == known.expected.tolist()
    assert sure.foresight
    assert sure.foresight.again(1, 7.5) == 401
    noisy = foreseen(trace, {"predicted": {"noise": {"sigma": 2}}})
    assert noisy.foresight
    assert noisy.expected[1] not in (401, 500)
    assert noisy.foresight.again(1, 300) >= 300


def test_tables_tell_what_is_left_of_those_that_ran_as_long(tmp_path: Path) -> None:
    """Rows before the start stay 10, 20, ... 100 s; one that has run for 35 s stays for 70 s, and so 35 s more."""
    rows = [(float(n), 10.0 * (n + 1), 1.0) for n in range(10)] + [(965.0, 80.0, 1.0), (1000.0, 5.0, 1.0)]
    file = tmp_path / "t.csv"
    file.write_text("id,arrival,lifetime,cpu\n" + "".join(f"{n},{a},{s},{c}\n" for n, (a, s, c) in enumerate(rows)))
    options = {"trace": "table", "path": str(file), "start": 11}
    forget()
    made = scenario(options, knowledge={"lifetimes": {"predicted": {"survival": {"least": 1}}}})
    result = build_world(made).draw(0)
    assert result.running == 1
    assert result.expected.tolist() == [35, 60]  # the one that still runs counts as seen for 35 s
    assert result.foresight
    assert result.foresight.again(0, 40.0) == 55.0  # 90 of those that stay for more than 75


def test_nothing_is_learned_from_ends_after_the_start(tmp_path: Path) -> None:
    """What the table says does not depend on how long those stay that still run then."""
    reported = set()
    for stays in (500, 5000):
        rows = [(n, 20 if n % 2 else stays) for n in range(100)] + [(100, 7)] * 5
        file = tmp_path / f"{stays}.csv"
        file.write_text("id,arrival,lifetime,cpu\n" + "".join(f"{n},{a},{s},1\n" for n, (a, s) in enumerate(rows)))
        options = {"trace": "table", "path": str(file), "start": 100}
        forget()
        workload = build_world(scenario(options, knowledge={"lifetimes": {"predicted": {"survival": {}}}})).draw(0)
        assert workload.running == 60
        reported.add(tuple(workload.expected.tolist()))
    assert len(reported) == 1


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=30))
def test_survival_estimate_is_kaplan_and_meiers(some: list[tuple[int, bool]]) -> None:
    if not any(ended for _, ended in some):
        return
    seen, ended = (np.array(column) for column in zip(*some, strict=True))
    times, share = kaplan_meier(seen.astype(np.float64), ended.astype(np.bool_))
    lives, expected = 1.0, []
    for time in sorted({s for s, e in some if e}):
        at_risk = sum(time <= s for s, _ in some)
        lives *= 1 - sum(s == time and e for s, e in some) / at_risk
        expected.append((time, 1 - lives))
    assert times.tolist() == [time for time, _ in expected]
    assert share.tolist() == pytest.approx([gone for _, gone in expected])


def test_a_size_is_enough_only_if_what_runs_has_a_place(tmp_path: Path) -> None:
    """On one server all that arrives finds room, as one of the two that run is turned away, for each of three seeds."""
    file = tmp_path / "t.csv"
    file.write_text("id,arrival,lifetime,cpu\n0,0,inf,3\n1,1,inf,3\n2,9,5,1\n3,20,5,1\n")
    inputs = scenario({"trace": "table", "path": str(file), "start": 2}, cluster={"servers": 1, "node": {"cpu": 4}})
    result: Any = bw.size(inputs, most=5, jobs=1, out=tmp_path / "size")
    assert result.frame["size"].to_list() == [2]
    runs = result.results.runs.filter(pl.col("cluster.servers") <= 2).sort("cluster.servers", "seed")
    assert runs["acceptance"].to_list() == [1.0] * 6
    assert runs["running_lost"].to_list() == [1, 1, 1, 0, 0, 0]
