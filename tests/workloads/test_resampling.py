"""Traces that seeds draw anew from blocks, and windows that begin at an event."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.scenarios.build import trace
from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError, WorkloadError
from binwright.workloads.windows import RandomStart, Resample, Window, resampled, select
from tests.support.properties import scaled

INF = float("inf")
HOUR, DAY = 3600.0, 86_400.0
KINDS = {"id": pl.Int64, "arrival": pl.Float64, "lifetime": pl.Float64, "cpu": pl.Float64}
times = st.integers(0, 5 * 24).map(lambda quarter: quarter * HOUR + quarter % 7)
lifetimes = st.one_of(st.just(INF), st.integers(0, 40).map(lambda hours: hours * HOUR))
tables = st.lists(st.tuples(times, lifetimes, st.sampled_from([1.0, 4.0, 64.0])), min_size=1, max_size=16)


def table_of(rows: list[tuple[float, float, float]]) -> pl.DataFrame:
    """Put requests into a table, in order of arrival."""
    ordered = sorted(rows, key=lambda row: row[0])
    return pl.DataFrame([(number, *row) for number, row in enumerate(ordered)], schema=KINDS, orient="row")


@given(tables, st.sampled_from([1, 2, 3]), st.one_of(st.none(), st.integers(1, 9)), st.integers(0, 5))
@scaled(8)
def test_every_block_of_a_drawn_trace_is_one_of_the_old_at_its_time_of_day(
    rows: list[tuple[float, float, float]], of_days: int, days: int | None, seed: int
) -> None:
    table, size = table_of(rows), of_days * DAY
    arrival = table["arrival"].to_numpy()
    begin = arrival[0] // size * size
    number = ((arrival - begin) // size).astype(int)
    blocks = Resample(block=size, length=None if days is None else days * DAY)
    drawn, of = resampled(table, blocks, seed)
    wanted = number[-1] + 1 if days is None else -(-days // of_days)
    assert (np.diff(drawn["arrival"].to_numpy()) >= 0).all()
    assert not len(of) or 0 <= of.min() <= of.max() < wanted
    for place in range(wanted):
        frame = drawn.filter(of == place)
        since = frame["arrival"].to_numpy() - begin - place * size
        assert ((since >= 0) & (since < size)).all()
        alike = [
            source
            for source in range(number[-1] + 1)
            if frame["id"].to_list() == table["id"].filter(number == source).to_list()
        ]
        assert alike
        was = table.filter(pl.col("id").is_in(frame["id"].to_list()))
        for name in ("lifetime", "cpu"):
            assert frame[name].to_list() == was[name].to_list()
        assert (frame["arrival"] % DAY).to_list() == pytest.approx((was["arrival"] % DAY).to_list())


@given(tables, st.integers(0, 30), st.integers(0, 3))
@scaled(8)
def test_a_window_of_events_begins_with_the_first_request_from_the_event_on(
    rows: list[tuple[float, float, float]], high: int, seed: int
) -> None:
    table = table_of(rows)
    requests = table.rows(named=True)
    ends = [(row["arrival"] + row["lifetime"], 0, -1) for row in requests if row["lifetime"] < INF]
    events = sorted([*ends, *((row["arrival"], 1, number) for number, row in enumerate(requests))])
    window = Window(start=RandomStart(random=(0, high), of="events"), running="drop")
    if not any(kind for _, kind, _ in events[high:]):
        with pytest.raises(WorkloadError, match="the window leaves the trace"):
            select(table, window, ("cpu",), seed)
        return
    [drawn] = Window(start=RandomStart(random=(0, high))).firsts(seed, table)
    expected = next(number for _, kind, number in events[drawn:] if kind)
    assert select(table, window, ("cpu",), seed).id.tolist() == list(range(expected, len(table)))


def scenario(path: Path, **workload: Any) -> Any:
    options = {"trace": "huawei-east-1", "path": str(path), "running": "drop", **workload}
    return scenario_from({"cluster": {"servers": 1, "node": {"cpu": 9}}, "workload": options, "agents": ["first-fit"]})


def test_a_scenario_keeps_then_draws_then_counts_events(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    created = [(n, 1 + 3 * (n % 2), 2, n * 21_600, 0) for n in range(16)]
    deleted = [(n, 1 + 3 * (n % 2), 2, n * 21_600 + 7200, 1) for n in range(0, 16, 4)]
    lines = sorted([*created, *deleted], key=lambda line: line[3])
    path.write_text("vmid,cpu,memory,time,type\n" + "".join(f"{','.join(map(str, line))}\n" for line in lines))
    # Its events: 0 arrives and ends, 2 arrives, 4 arrives and ends, 6 arrives, ...
    world = build_world(scenario(path, keep={"cpu": "< 4"}, start={"random": [3, 4], "of": "events"}))
    for seed in range(4):
        first = 4 if Window(start=RandomStart(random=(3, 4))).firsts(seed, pl.DataFrame()) == [3] else 6
        assert world.draw(seed).id.tolist() == list(range(first, 15, 2))
        assert world.draw(seed).duration.tolist() == [INF if n % 4 else 7200 for n in range(first, 15, 2)]
        assert world.requests.windows(seed, len(world.draw(seed))) == [(first // 2, 8)]
    (tmp_path / "starts.csv").write_text("start\n4\n3\n")
    of_file = {"path": str(tmp_path / "starts.csv"), "of": "events"}
    listed = build_world(scenario(path, keep={"cpu": "< 4"}, start=of_file, ends="drop"))
    assert [listed.draw(seed).id.tolist() for seed in (0, 1)] == [[6, 8, 10, 12, 14], [4, 6, 8, 10, 12, 14]]
    assert set(listed.draw(0).duration.tolist()) == {INF}
    spec: Any = scenario(path, keep={"cpu": "< 4"}, start=of_file, ends="drop").workload
    assert spec.bounds(trace.table_of(spec, ("cpu",))) == (2, 3)
    (tmp_path / "starts.csv").write_text("start\n4\n")
    spec = scenario(path, keep={"cpu": "< 4"}, start=of_file, ends="drop").workload
    assert spec.bounds(trace.table_of(spec, ("cpu",))) == (3, 3)
    large = build_world(scenario(path, keep={"cpu": ">= 4"}, resample={"block": "1 d", "length": "3 d"}))
    drawn, other = large.draw(0), large.draw(1)
    assert len(drawn) == len(other) == 6
    assert drawn.id.tolist() != other.id.tolist()
    assert {text.split(":")[0] for text in drawn.id.tolist()} == {"b1", "b2", "b3"}
    assert large.drawn
    taken_over = build_world(scenario(path, resample={"block": "1 d"}, start="2 d", running="keep"))
    for seed in range(3):
        workload, whole = taken_over.draw(seed), build_world(scenario(path, resample={"block": "1 d"})).draw(seed)
        assert workload.running == (whole.arrival + whole.duration > 2 * DAY)[: len(whole) - 8].sum() > 0
    assert large.requests.windows(0, 5) is None


@pytest.mark.parametrize(
    ("workload", "problem"),
    [
        ({"keep": {"cpu": "> 4"}}, "workload.keep.cpu: keeps no row"),
        ({"resample": {"block": "1 d"}, "inflate": {"until": 1.3, "of": "cpu"}}, "workload.resample: does not go with"),
        ({"resample": {"block": "1 h"}}, "block: expected 1 d or more, got '1 h'"),
    ],
)
def test_mistakes_say_where_they_are(workload: dict[str, Any], problem: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("vmid,cpu,mem,at,lt\n1,4,2,0,5\n2,1,2,9,5\n")
    with pytest.raises(UserError, match=problem):
        build_world(scenario(path, **workload)).draw(0)
