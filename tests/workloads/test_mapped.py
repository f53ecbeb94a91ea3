"""Tables with columns of other names: what they call things, in which units, what is empty, and which rows are read."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import load_scenario, scenario_from
from binwright.simcore.errors import UserError, WorkloadError
from binwright.simcore.roles import Role
from binwright.workloads.traces.library import read
from tests.support.properties import scaled

INF = float("inf")
HEADER = "VM Name;Customer;vCPU (m);Memory (bytes);Created At;Deleted At;State;AZ\n"
ROWS = (
    "a-1;acme;4000;8589934592;2026-11-03T08:15:00+01:00;2026-11-03T10:15:00+01:00;Running;zone=eu-1a\n"
    "a-2;Beta Ltd;2000;4294967296;2026-11-03 06:00:00 +00:00;;Running;zone=eu-1b\n"
    "a-3;;16000;34359738368;2026-11-03 08:00:00 UTC;2026-11-04T08:00:00Z;stopped;\n"
    "a-4;acme;;4294967296;2026-11-03T12:00:00+01:00;null;FAILED;zone=eu-1a\n"
)
CLUSTER = {
    "groups": [
        {"count": 2, "node": {"cpu": 16, "mem": "64 GiB"}, "labels": {"zone": "eu-1a"}},
        {"count": 2, "node": {"cpu": 16, "mem": "64 GiB"}, "labels": {"zone": "eu-1b"}},
    ]
}
MAPPING: dict[str, Any] = {
    "columns": {
        "id": "VM Name", "arrival": "Created At", "end": "Deleted At", "cpu": "vCPU (m)", "mem": "Memory (bytes)",
        "group": "Customer", "where": "AZ",
    },
    "units": {"cpu": "millicores", "mem": "B"},
    "labels": {"tenant": "Customer", "state": "State"},
    "empty": {"end": "never"},
    "keep": {"State": ["Running", "stopped"]},
}  # fmt: skip


def scenario(path: Path, **changes: Any) -> Any:
    workload = {"trace": "table", "path": str(path), **MAPPING, **changes}
    return scenario_from({"cluster": CLUSTER, "workload": workload, "agents": ["first-fit"], "record": ["requests"]})


def parquet(path: Path) -> Path:
    """The same with the types that a database gives them."""
    at = datetime(2026, 11, 3, 6, tzinfo=UTC)
    pl.DataFrame(
        {
            "VM Name": ["a-1", "a-2", "a-3", "a-4"],
            "Customer": pl.Series(["acme", "Beta Ltd", None, "acme"], dtype=pl.Categorical),
            "vCPU (m)": [4000, 2000, 16000, None],
            "Memory (bytes)": [8 << 30, 4 << 30, 32 << 30, 4 << 30],
            "Created At": [at + timedelta(minutes=75), at, at + timedelta(hours=2), at + timedelta(hours=5)],
            "Deleted At": [at + timedelta(minutes=195), None, at + timedelta(hours=26), None],
            "State": ["Running", "Running", "stopped", "FAILED"],
            "AZ": ["zone=eu-1a", "zone=eu-1b", None, "zone=eu-1a"],
        }
    ).write_parquet(path)
    return path


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_of_a_stranger(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"vms.{form}"
    if form == "csv":
        path.write_text(HEADER + ROWS)
    else:
        parquet(path)
    workload = build_world(scenario(path)).draw(0)
    assert workload.id.tolist() == ["a-2", "a-1", "a-3"]  # in order of arrival
    assert workload.arrival.tolist() == [0, 4500, 7200]
    assert workload.duration.tolist() == [INF, 7200, 86400]
    assert workload.demand.tolist() == [[2_000_000, 4_294_967], [4_000_000, 8_589_935], [16_000_000, 34_359_738]]
    assert {name: words.tolist() for name, words in workload.labels.items()} == {
        "tenant": ["Beta Ltd", "acme", ""],
        "state": ["Running", "Running", "stopped"],
    }
    assert workload.roles is not None
    assert [workload.roles.all[role] for role in workload.roles.of] == [
        Role("Beta Ltd", (("zone", ("eu-1b",)),)),
        Role("acme", (("zone", ("eu-1a",)),)),
        Role(),
    ]
    again = scenario_from(scenario(path).dump())
    assert again == scenario(path)


def test_numbers_in_units_and_rows_without_names(tmp_path: Path) -> None:
    """Epoch times in milliseconds, lifetimes in minutes, a demand that is missing, and no column of ids."""
    path = tmp_path / "jobs.csv"
    path.write_text("ts,mins,CPUs,gpus\n1762156800500,1.5,2,\n1762156800000,-,1,4\n1762156801000,inf,1,0\n")
    workload = {
        "trace": "table",
        "path": str(path),
        "columns": {"arrival": "ts", "lifetime": "mins", "cpu": "CPUs", "gpu": "gpus"},
        "units": {"arrival": "ms", "lifetime": "min"},
        "empty": {"lifetime": "2 h", "gpu": 1},
    }
    cluster = {"servers": 1, "node": {"cpu": 9, "gpu": 9}}
    requested = build_world(scenario_from({"cluster": cluster, "workload": workload, "agents": ["first-fit"]})).draw(0)
    assert requested.id.tolist() == [1, 0, 2]
    assert requested.arrival.tolist() == [0, 0.5, 1]
    assert requested.duration.tolist() == [7200, 90, INF]
    assert requested.demand.tolist() == [[1_000_000, 4_000_000], [2_000_000, 1_000_000], [1_000_000, 0]]


KEEPS = [
    ({"n": "2"}, [1, 3]),
    ({"n": [1, "x"]}, [0, 4]),
    ({"n": ["!= x", "> 1"]}, [1, 2, 3]),
    ({"n": ["> 1", "<= 2", "!= x"]}, [1, 3]),
    ({"n": "!= x", "day": "!="}, [0, 1, 2]),
    ({"day": ">= 2026-11-02"}, [1, 2]),
    ({"on": True}, [0, 2]),
    ({"word": "!="}, [0, 4]),
    ({"word": ""}, [1, 2, 3]),
]


@pytest.mark.parametrize(("keep", "rows"), KEEPS)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_which_rows_are_kept(keep: dict[str, Any], rows: list[int], form: str, tmp_path: Path) -> None:
    days = ["2026-11-01", "2026-11-02", "2026-11-03", None, None]
    data = {"n": ["1", "2.0", "3", "2", "x"], "day": days, "on": [True, False, True, False, False]}
    data["word"] = ["a", "-", "Unknown", None, "0"]
    frame = pl.DataFrame({"id": range(5), "arrival": [0] * 5, "lifetime": [1] * 5, "cpu": [1] * 5, **data})
    path = tmp_path / f"t.{form}"
    if form == "csv":
        frame.write_csv(path)
    else:
        frame.with_columns(pl.col("day").str.to_date()).write_parquet(path)
    workload = {"trace": "table", "path": str(path), "keep": keep}
    cluster = {"servers": 1, "node": {"cpu": 9}}
    requested = build_world(scenario_from({"cluster": cluster, "workload": workload, "agents": ["first-fit"]})).draw(0)
    assert requested.id.tolist() == rows


WRONG = [
    ({"columns": {"arrival": "created at"}}, "workload.columns.arrival: has no column created at", "Created At"),
    ({"columns": {"end": "x", "lifetime": "y"}}, "workload.columns.end: says the same as `lifetime`", "Keep the one"),
    ({"columns": {"where": {"zone": "AZ"}}}, "workload.columns.where: is not the name", "like `zone=a;kind=large`"),
    ({"columns": {"cpus": "vCPU (m)"}}, "workload.columns.cpus: is neither a resource", "Did you mean 'cpu'?"),
    ({"units": {}}, "workload.units: the unit of the trace's mem is not known", "`units: {mem: GB}`"),
    ({"empty": {}}, "vms.csv:3: Deleted At: no value", "`empty: {end: never}`"),
    ({"empty": {"arrival": 0}}, "workload.empty.arrival: has no default", "keep"),
    ({"keep": {"Status": "Running"}}, "workload.keep: has no column Status", "Did you mean 'State'?"),
    ({"keep": {"State": "running"}}, "workload.keep.State: keeps no row of the file (got 'running')", "It has Running"),
    ({"keep": {"State": "> 3"}}, "vms.csv:2: State: neither a number nor a date, and so in 3 rows", '["!= Running"'),
    ({"labels": {"tenant": "customer"}}, "workload.labels.tenant: has no column customer", "'Customer'"),
    ({"trace": "huawei-east-1"}, "workload.columns: is for a table of your own", "remove it"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "problem", "remedy"), WRONG)
def test_mistakes_say_where_they_are(changes: dict[str, Any], problem: str, remedy: str, tmp_path: Path) -> None:
    path = tmp_path / "vms.csv"
    path.write_text(HEADER + ROWS)
    with pytest.raises(UserError) as caught:
        build_world(scenario(path, **changes)).draw(0)
    assert problem in str(caught.value)
    assert remedy in caught.value.remedy


CELLS = [
    (
        "2026-11-03T08:00Z\n2026-11-03T08:00\n",
        "3: at: a date with no zone, where others have one (got '2026-11-03T08:00')",
    ),
    ("2026-11-03\n2026-11-04T08:00+01:00\n", "3: at: a date with a zone, where others have none"),
    ("2026-11-03\n17\n", "3: at: not a date (got '17')"),
    ("03/11/2026\n", "2: at: neither a number nor a date (got '03/11/2026')"),
]


@pytest.mark.parametrize(("rows", "problem"), CELLS)
def test_times_that_are_none(rows: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("at;cpu\n" + rows.replace("\n", ";1\n"))
    with pytest.raises(WorkloadError) as caught:
        read("table", path, options={"columns": {"arrival": "at"}, "empty": {"end": INF}}, resources=("cpu",))
    assert f"t.csv:{problem}" in str(caught.value)
    assert "2026-11-03T08:15:00Z" in caught.value.remedy or "UTC" in caught.value.remedy


def test_a_window_begins_at_a_date(tmp_path: Path) -> None:
    path = tmp_path / "vms.csv"
    path.write_text(HEADER + ROWS)
    file = tmp_path / "s.yaml"
    text = scenario(path, running="drop").model_dump_json(by_alias=True, exclude_none=True)
    for start in ("2026-11-03T08:15:00+01:00", '"2026-11-03 07:00"'):
        file.write_text(text)
        assert build_world(load_scenario(file, [f"workload.start={start}"])).draw(0).id.tolist() == ["a-1", "a-3"]
    with pytest.raises(
        UserError, match=r"nothing arrives at that time or later \(got '2027-01-01 00:00:00'\)"
    ) as caught:
        build_world(load_scenario(file, ["workload.start=2027-01-01"])).draw(0)
    assert "arrive from 2026-11-03 06:00:00 to" in caught.value.remedy
    with pytest.raises(UserError, match="is a time before all dates of this trace") as caught:
        build_world(load_scenario(file, ["workload.start=30 min"])).draw(0)
    assert caught.value.remedy.startswith("Write a date. Its 3 requests arrive from 2026-11-03 06:00:00 to")


@given(
    st.lists(
        st.tuples(
            st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
            st.integers(-14 * 4, 14 * 4),
            st.sampled_from(["T", " "]),
        ),
        min_size=1,
        max_size=8,
    )
)
@scaled(0.3)
def test_dates_are_what_python_says(rows: list[tuple[datetime, int, str]]) -> None:
    """Whatever the zone that they are written in."""
    from binwright.workloads.traces.cells import moments

    texts = []
    for moment, quarters, between in rows:
        shift = timedelta(minutes=15 * quarters)
        sign, minutes = "-" if quarters < 0 else "+", abs(15 * quarters)
        local = (moment + shift).replace(tzinfo=None).isoformat(between)
        texts.append(f"{local}{sign}{minutes // 60:02}:{minutes % 60:02}")
    result = moments(pl.DataFrame({"at": texts}), "at", Path("t"), 1.0)
    assert result.to_list() == [moment.timestamp() for moment, _, _ in rows]


def test_lines_are_those_of_the_file_where_cells_have_line_breaks(tmp_path: Path) -> None:
    head, rows = '"id\n(of the VM)",arrival,"lives\nfor",cpu\n', ["a,0,1,1\n", '"b\nc",1,1,1\n', "d,2,1,{}\n"]
    columns = {"id": "id\n(of the VM)", "arrival": "arrival", "lifetime": "lives\nfor", "cpu": "cpu"}
    for last, problem in (("x", "not a number"), ("1,1", "rows differ in their number of cells")):
        file = tmp_path / "vms.csv"
        file.write_text(head + "".join(rows).format(last))
        with pytest.raises(WorkloadError, match=problem) as error:
            read("table", file, options={"columns": columns})
        assert error.value.line == 7
