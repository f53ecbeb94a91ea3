"""A trace, or an agent's file, that changes while a batch is under way: nothing that met it is believed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from binwright.analysis.results_api import Results
from binwright.scenarios.batch import pool
from binwright.scenarios.batch.attempt import Row
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.plan import plan
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import UserError
from tests.support.batches import data, same
from tests.support.properties import first
from tests.support.scenarios import random_requests

TRACE = "id,cpu,mem,at,lives\n"


def trace(file: Path, cpu: int) -> None:
    """Write a trace whose requests ask for so much."""
    file.write_text(TRACE + "".join(f"{n},{cpu},1,{n},{5 + n % 7}\n" for n in range(200)))


def traced(folder: Path, agents: list[str]) -> Scenario:
    """Make a scenario of six runs: three sizes of a cluster, two agents."""
    columns = {"id": "id", "cpu": "cpu", "mem": "mem", "arrival": "at", "lifetime": "lives"}
    workload = {"trace": "table", "path": str(folder / "t.csv"), "columns": columns, "units": {"mem": "GB"}}
    cluster = {"servers": 2, "node": {"cpu": 8, "mem": "16 GB"}}
    sweep = {"product": {"cluster.servers": [1, 2, 3]}}
    return scenario_from(data(cluster=cluster, workload=workload, agents=agents, replications=1, sweep=sweep))


both = pytest.mark.parametrize("jobs", first(1, [1, 2]))
"""In this process, or in two others."""


def played(scenario: Scenario, folder: Path, jobs: int, finished: Callable[[Row], None]) -> Results:
    """Run in the folder `out`, with workers for more than one run at a time, however little there is to do."""
    with pytest.MonkeyPatch.context() as patch:
        if jobs > 1:
            patch.setattr(pool, "WORTH", 0)
        return Batch(scenario, folder / "out").run(jobs=jobs, finished=finished)


def edited(after: int, edit: Callable[[], object]) -> Callable[[Row], None]:
    """Make what edits a file when so many runs have finished."""
    rows: list[Row] = []

    def finished(row: Row) -> None:
        rows.append(row)
        if len(rows) == after:
            edit()

    return finished


@both
def test_a_trace_that_is_overwritten_ends_the_batch_and_the_same_command_goes_on(tmp_path: Path, jobs: int) -> None:
    """What met the old trace is done anew; what it holds before is as if it had stayed."""
    file, inputs = tmp_path / "t.csv", traced(tmp_path, ["first-fit", "best-fit"])
    expected = {}
    for cpu in (2, 5):
        trace(file, cpu)
        expected[cpu] = Batch(inputs, tmp_path / f"whole-{cpu}").run()
    assert not same(expected[2], expected[5])
    trace(file, 2)
    with pytest.raises(UserError, match=r"t\.csv: changed while it was used\n  Give the same command again"):
        played(inputs, tmp_path, jobs, edited(2, lambda: trace(file, 5)))
    assert same(Batch(inputs, tmp_path / "out").run(), expected[5])
    trace(file, 2)
    assert len(Batch(inputs, tmp_path / "out").done()) == 2
    assert same(Batch(inputs, tmp_path / "out").run(), expected[2])


def test_a_file_that_was_exchanged_and_put_back_is_noticed(tmp_path: Path) -> None:
    """What it holds and when it was written are what they were; nobody knows what a run met between."""
    file, scenario = tmp_path / "t.csv", traced(tmp_path, ["first-fit", "best-fit"])
    trace(file, 2)

    def exchanged() -> None:
        stat = file.stat()
        file.rename(tmp_path / "aside")
        trace(file, 5)
        (tmp_path / "aside").replace(file)
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    with pytest.raises(UserError, match=r"t\.csv: changed while it was used"):
        Batch(scenario, tmp_path / "out").run(finished=edited(2, exchanged))


def test_only_paths_and_options_name_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("class Mine:\n    def __init__(self, table: str): ...\n")
    grouped = data(workload=random_requests(9, "1 min", [{"cpu": 1, "mem": "1 GB", "group": "web"}], "1 h"))
    both = [scenario_from(scenario) for scenario in (grouped, data(workload={"mine.py:Mine": {"table": "web"}}))]
    before = [plan(scenario)[0].name for scenario in both]
    (tmp_path / "web").write_text("is called as the group is")
    assert [plan(scenario)[0].name == name for scenario, name in zip(both, before, strict=True)] == [True, False]
