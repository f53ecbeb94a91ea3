"""Scenarios that are written from a stranger's table and from a few answers."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.cli import MISTAKE, main
from binwright.scenarios.build.world import build_world
from binwright.scenarios.draft import requests_of, servers_for
from binwright.scenarios.schema.load import load_scenario
from binwright.workloads.column_guesses import propose
from tests.support.properties import scaled

COLUMNS = {
    "Instance": [f"i-{number}" for number in range(6)],
    "Account": ["acme", "acme", "beta", None, "beta", "acme"],
    "vCPUs Requested": [4000, 8000, None, 2000, 16000, 4000],
    "RAM MB": [8192, 16384, 4096, 4096, 65536, 8192],
    "CreatedAt": [f"2026-11-03T0{hour}:00:00+01:00" for hour in (5, 1, 2, 3, 4, 0)],
    "TerminatedAt": [f"2026-11-03T{hour}:30:00+01:00" for hour in (10, 11, 12, 13, 14)] + [""],
    "Status": ["running", "running", "failed", "running", "running", "running"],
    "Avg CPU %": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
}
FOUND = {
    "id": ("Instance", ""),
    "cpu": ("vCPUs Requested", "millicores"),
    "mem": ("RAM MB", "MB"),
    "arrival": ("CreatedAt", ""),
    "end": ("TerminatedAt", ""),
    "labels.tenant": ("Account", ""),
    "labels.state": ("Status", ""),
}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "Export of VMs.csv"
    pl.DataFrame(COLUMNS).write_csv(path)
    return path


def test_columns_of_an_unknown_table_are_guessed(table: Path, tmp_path: Path) -> None:
    frame = pl.DataFrame(COLUMNS).with_columns(
        pl.col("CreatedAt", "TerminatedAt").str.to_datetime("%Y-%m-%dT%H:%M:%S%z", strict=False)
    )
    frame.write_parquet(tmp_path / "vms.parquet")
    for path in (table, tmp_path / "vms.parquet"):
        result = propose(path)
        assert {guess.name: (guess.column, guess.unit) for guess in result.guesses} == FOUND
        assert result.workload["labels"] == {"tenant": "Account", "state": "Status"}
        assert result.others == ["Avg CPU %"]
        assert result.keep == {"vCPUs Requested": "> 0"}
        assert result.empty == {"end": "never"}
        output = "\n".join(result.doubts)
        for part in (
            "vCPUs Requested does not say its unit: millicores are assumed (4,000 in the middle)",
            "vCPUs Requested is empty or not above 0 in 1 of 6 rows: they are left out",
            "TerminatedAt is empty in 1 of 6 rows: they are taken to run on for ever",
            "Status has running (5), failed (1)",
        ):
            assert part in output


UNITS: list[tuple[dict[str, list[Any]], dict[str, str]]] = [
    ({"start": [0, 60], "cores": [1, 2], "duration_min": [5, 6]}, {"lifetime": "min"}),
    *(
        ({"start": [0, 60], "cores": [1, 2], word: [5, 6]}, {"lifetime": unit})
        for word, unit in (("hours", "h"), ("h", "h"), ("minutes", "min"), ("Days", "d"))
    ),
    ({"submit_ts": [1762156800000, 1762156900000], "cpu": [1, 2]}, {"arrival": "ms"}),
    ({"created": [1762156800 * 10**9] * 2, "cpu": [1, 2]}, {"arrival": "0.001 us"}),
    ({"start": [0, 60], "Memory (MiB)": [1, 2], "ReqMem": ["4G", "5G"]}, {"mem": "MiB"}),
    ({"start": [0, 60], "memory": [2**30, 2**31]}, {"mem": "B"}),
    ({"start": [0, 60], "memory": [2**20, 2**21]}, {"mem": "KiB"}),
    ({"start": [0, 60], "memory": [2048, 4096]}, {"mem": "MiB"}),
    ({"start": [0, 60], "cpuMilli": [50, 60], "gpus": [1, None]}, {"cpu": "millicores"}),
    ({"start": [0, 60], "millicores": [50, 60], "ssd_gb": [20, 40]}, {"cpu": "millicores", "disk": "GB"}),
]


@pytest.mark.parametrize(("columns", "units"), UNITS)
def test_in_which_units(columns: dict[str, list[Any]], units: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pl.DataFrame(columns).write_csv(path)
    proposal = propose(path)
    assert {guess.name: guess.unit for guess in proposal.guesses if guess.unit} == units
    assert len(requests_of(str(path)).frame) == 2


def test_from_a_table_to_a_generator(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["traces", "describe", table.name, "--fit", "--out", "like.yaml"]) == 0
    assert "binwright run like.yaml" in capsys.readouterr().out
    text = Path("like.yaml").read_text()
    assert "# Fitted to 5 requests" in text
    assert "at once there" in text
    assert "# ? vCPUs Requested does not say its unit" in text
    assert "# The servers are a guess" in text
    assert main(["run", "like.yaml", "--agents", "first-fit", "--seeds", "1"]) == 0
    capsys.readouterr()
    for rows, message in (
        ("", "requests: too little to fit"),
        ("0,10,2\n", "arrival: all requests arrive at one moment"),
    ):
        Path("few.csv").write_text(f"start,end,cpu\n0,10,1\n{rows}")
        assert main(["traces", "describe", "few.csv", "--fit"]) == MISTAKE
        assert f"few.csv: {message}" in capsys.readouterr().err


def test_the_next_command_can_be_pasted(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["traces", "describe", table.name]) == 0
    assert "binwright traces describe 'Export of VMs.csv' --out" in capsys.readouterr().out


def test_from_a_table_to_a_run(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["traces", "describe", table.name, "--out", "vms.yaml"]) == 0
    output = capsys.readouterr().out
    assert "What the columns of Export of VMs.csv probably are" in output
    assert "5 requests over 5 h, 1 of them never ending" in output
    assert "binwright run vms.yaml" in output
    text = Path("vms.yaml").read_text()
    assert "# ? vCPUs Requested does not say its unit" in text
    assert "# Not read: Avg CPU %" in text
    workload = build_world(load_scenario("vms.yaml")).draw(0)
    assert workload.id.tolist() == ["i-5", "i-1", "i-3", "i-4", "i-0"]
    assert workload.demand[:, 0].tolist() == [4_000_000, 8_000_000, 2_000_000, 16_000_000, 4_000_000]
    assert workload.labels["tenant"].tolist() == ["acme", "acme", "", "beta", "acme"]
    assert main(["run", "vms.yaml", "--agents", "first-fit"]) == 0
    capsys.readouterr()
    assert main(["traces", "describe", table.name, "--out", "vms.yaml"]) == MISTAKE
    assert "vms.yaml: is there already" in capsys.readouterr().err


def test_a_first_scenario_by_options(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--servers", "7", "--node", "cpu: 40, mem: 90 GB, gpu: 2"]) == 0
    scenario = load_scenario("first.yaml")
    assert scenario.cluster.servers == 7
    assert scenario.cluster.node == {"cpu": 40, "mem": 90, "gpu": 2}
    assert scenario.workload == load_scenario("first").workload
    some = ("--servers", "3", "--out", "sub/own.yaml")
    assert main(["init", "--requests", table.name, *some]) == 0
    scenario = load_scenario("sub/own.yaml")
    assert scenario.cluster.servers == 3
    assert len(build_world(scenario).draw(0)) == 5
    assert main(["init"]) == MISTAKE
    assert "first.yaml: is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("init", "--node", "cpu: 4 GB"), "cluster.node.cpu: 'GB' is not a unit of cpu"),
        (("init", "--node", "cpu: ["), "--node: is not a YAML value (got '{cpu: [}')"),
        (("init", "--node", ""), "cluster.node: has nothing on it"),
        (("init", "--requests", "Export of VMs.csv", "--node", "cpu: 4"),
         "workload.columns.mem: is neither a resource of the cluster"),
        (("traces", "describe", "some.yaml"), "some.yaml: is a scenario"),
        (("traces", "describe", "odd.csv"), "odd.csv:3: cpu: not a number (got 'x')"),
    ],
)  # fmt: skip
def test_mistakes(
    arguments: tuple[str, ...],
    message: str,
    table: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("BINWRIGHT_TRACES", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(table.parent))
    Path("odd.csv").write_text("start,cpu,mem\n0,1,1\n5,x,1\n9,2,1\n")
    assert main(list(arguments)) == MISTAKE
    assert message in capsys.readouterr().err


@given(st.lists(st.tuples(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6)), min_size=1, max_size=5))
@scaled(0.5)
def test_proposed_servers_take_every_request_and_the_peak(rows: list[tuple[float, float]]) -> None:
    names = [f"r{number}" for number in range(len(rows))]
    peak = {name: max(row) for name, row in zip(names, rows, strict=True)}
    largest = {name: min(row) for name, row in zip(names, rows, strict=True)}
    number, node = servers_for(peak, largest)
    for name in names:
        assert node[name] >= largest[name]
        assert node[name] * number >= peak[name] * 0.999999
