"""The published waits of SPANE's baselines, to the last digit; and starts that are listed in a file."""

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from binwright.reproduction.claims import published
from binwright.reproduction.measures import Measure, Runs, exact_of
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.load import load_scenario, scenario_from
from binwright.scenarios.schema.yaml_source import LIBRARY
from binwright.simcore.errors import UserError, WorkloadError
from binwright.workloads.traces.library import FOLDER, find
from tests.reference import spane
from tests.support import ROOT

SHARED = ROOT.parent / "shared" / "traces"
STARTS = LIBRARY / "spane" / "starts.csv"
SOME = [0, 2, 900]
"""Seeds with few requests and with many, with and without waits."""
EVERY = 25
"""The slow program plays so many a start again; the means have all of them."""


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Path:
    if SHARED.is_dir():
        monkeypatch.setenv(FOLDER, str(SHARED))
    try:
        return find("huawei-east-1", None)
    except WorkloadError as error:
        pytest.skip(str(error))


def rows_of(trace: Path) -> list[spane.Row]:
    with trace.open(newline="") as text:
        return [
            (round(float(row["at"])), round(float(row["lt"])), round(float(row["cpu"])), round(float(row["mem"])))
            for row in csv.DictReader(text)
        ]


def starts() -> list[tuple[int, int]]:
    with STARTS.open(newline="") as text:
        return [(int(row["start"]), int(row["requests"])) for row in csv.DictReader(text)]


@pytest.mark.long
def test_some_starts_wait_as_the_published_program_says(trace: Path, tmp_path: Path) -> None:
    rows, listed = rows_of(trace), starts()
    for seed in SOME:
        start, requests = listed[seed]
        assert spane.length(rows, start) == requests
        runs = Batch(load_scenario("spane/waits", [f"seed={seed}", "replications=1"]), tmp_path / str(seed)).run().done
        actual = dict(runs.select("agent", "wait_total").iter_rows())
        assert runs["offered"].to_list() == [requests] * 2
        for name, rule in (("first-fit", spane.first_fit), ("balance-fit", spane.balance_fit)):
            assert actual[name] == spane.total_wait(rows, start, requests, rule)


@pytest.mark.long
def test_all_starts_have_the_published_means(trace: Path, tmp_path: Path) -> None:
    results = Batch(load_scenario("spane/waits"), tmp_path / "out").run()
    runs, done = Runs(results, {name: name for name in ("first-fit", "balance-fit")}), results.done
    measures: dict[str, Measure] = {
        "trimmed mean of total wait": exact_of("wait_total", trimmed=0.1),
        "mean of total wait": exact_of("wait_total"),
    }
    for each in published("spane"):
        assert measures[each.metric](runs, each.agent).mean == each.value
    rows = rows_of(trace)
    waits = done.filter(pl.col("agent") == "balance-fit").sort("seed")["wait_total"].to_list()
    for (start, requests), waited in list(zip(starts(), waits, strict=True))[::EVERY]:
        assert spane.length(rows, start) == requests
        assert spane.total_wait(rows, start, requests, spane.balance_fit) == waited


# -- starts from a file ----------------------------------------------------------------------------------------------


def scenario(tmp_path: Path, starts: str, **more: Any) -> Any:
    (tmp_path / "starts.csv").write_text(starts, "utf-8")
    (tmp_path / "trace.csv").write_text(
        "vmid,cpu,mem,at,lt\n" + "".join(f"{i},1,1,{i},9\n" for i in range(20)), "utf-8"
    )
    return scenario_from(
        {
            "cluster": {"servers": 9, "node": {"cpu": 9, "mem": 9}},
            "workload": {
                "trace": "huawei-east-1",
                "path": str(tmp_path / "trace.csv"),
                "start": {"path": str(tmp_path / "starts.csv")},
                **more,
            },
            "agents": ["first-fit"],
            "replications": 2,
        }
    )


@pytest.mark.parametrize(
    ("listed", "more", "offered"),
    [
        ("start,requests\n3,4\n7,2\n", {}, [4, 2]),
        ("start\n3\n7\n0\n", {}, [17, 13]),
        ("start\n3\n7\n", {"requests": 5}, [5, 5]),
        ("note,start,requests\na,3,4\nb,7,2\n", {"requests": 5}, [5, 5]),
    ],
)
def test_a_seed_takes_its_row(tmp_path: Path, listed: str, more: dict[str, Any], offered: list[int]) -> None:
    requested = scenario(tmp_path, listed, **more)
    assert check_scenario(requested) == 2
    done = Batch(requested, tmp_path / "out").run().done.sort("seed")
    assert done["offered"].to_list() == offered


def test_another_list_is_another_run(tmp_path: Path) -> None:
    for listed in ("start,requests\n3,4\n7,2\n", "start,requests\n3,5\n7,2\n"):
        Batch(scenario(tmp_path, listed), tmp_path / "out").run()
    assert Batch(scenario(tmp_path, listed), tmp_path / "out").run().done["offered"].to_list() == [5, 2]


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        ("start,requests\n3,4\n", "has 1 starts, and none for seed 1(?s:.*)below 1"),
        ("start\n3\n-1\n", r"starts.csv:3: workload.start.path: the start is not a whole number from 0 \(got '-1'\)"),
        ("start,requests\n3,1\n3,0\n", r"the requests is not a whole number from 1 \(got '0'\)"),
        ("start,requests\n3,1\n3\n", "starts.csv:3: not a CSV file: rows differ"),
        ("", "starts.csv: workload.start.path: has no rows: the file is empty"),
    ],
)
def test_a_wrong_list_is_told_before_anything_runs(tmp_path: Path, listed: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        check_scenario(scenario(tmp_path, listed))
