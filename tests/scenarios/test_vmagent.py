"""The table of the data set's README: the scenario against VMAgent's program, starts, slips and batches included."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.reproduction.publications.cvd_rl import BestFitOfVMAgent
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.errors import WorkloadError
from binwright.workloads.traces.library import FOLDER, find
from tests.reference import vmagent
from tests.support import ROOT
from tests.support.properties import scaled
from tests.support.views import ask, view_of

SHARED = ROOT.parent / "shared" / "traces"
SIZES = [(1, 1), (1, 2), (2, 4), (4, 8), (8, 16), (8, 32), (16, 32), (32, 64)]
node = st.tuples(st.integers(0, 20).map(lambda half: half * 2), st.integers(0, 18).map(lambda fifth: fifth * 5))


@given(st.lists(st.tuples(node, node), min_size=1, max_size=6), st.sampled_from(SIZES), st.booleans())
@scaled(8)
def test_its_best_fit_is_that_of_the_program(free: list[Any], demand: tuple[int, int], double: bool) -> None:
    inputs = [[[float(amount) for amount in each] for each in server] for server in free]
    result = vmagent.places(inputs, *demand, double)
    expected = vmagent.best_fit(result)[:2] if result else None
    # Half of 1 core is no whole number, so that everything is counted in halves here.
    view = view_of([[[2 * cpu, 2 * mem] for cpu, mem in server] for server in free], [[[80, 180]] * 2] * len(free))
    assert ask(BestFitOfVMAgent(), view, (2 * demand[0], 2 * demand[1]), double) == expected


def events_of(path: Path) -> list[vmagent.Event]:
    with path.open(newline="") as text:
        rows = list(csv.DictReader(text))
    return [(int(row["vmid"]), float(row["cpu"]), float(row["memory"]), row["type"] == "1") for row in rows]


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A trace in which four of five machines end; no two events at one time."""
    rng, rows = np.random.default_rng(5), []
    for number in range(300):
        size = SIZES[int(rng.integers(len(SIZES)))]
        rows.append((number, *size, 10 * number, 0))
        if rng.random() < 0.8:
            rows.append((number, *size, 10 * number + 10 * int(rng.integers(1, 40)) + number % 9 + 1, 1))
    rows.sort(key=lambda row: row[3])
    path = tmp_path / "events.csv"
    path.write_text("vmid,cpu,memory,time,type\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    return path


def played(path: Path, out: Path, starts: list[int], ends: str, above: int, seeds: int) -> pl.DataFrame:
    (out / "starts.csv").write_text("start\n" + "".join(f"{start}\n" for start in starts))
    requested = [
        *("sweep=null", "cluster.servers=3", f"cluster.spread_above.mem={above} GB", f"replications={seeds}"),
        *(f"workload.path={path}", f"workload.start.path={out / 'starts.csv'}", f"workload.ends={ends}"),
    ]
    return Batch(load_scenario("cvd/vmagent", requested), out / f"{ends}-{above}").run().done


@pytest.mark.parametrize(("ends", "above"), [("drop", 32), ("drop", 10), ("keep", 10)])
def test_its_starts_last_as_long_as_in_the_program(tmp_path: Path, events: Path, ends: str, above: int) -> None:
    listed = events_of(events)
    ends_at = next(number for number, event in enumerate(listed) if event[3])
    starts = [0, ends_at, ends_at + 1, 120, 121, 200]
    runs = played(events, tmp_path, starts, ends, above, len(starts))
    for rule in vmagent.RULES:
        columns = "scheduled", "allocation_cpu_end", "allocation_mem_end"
        result = runs.filter(pl.col("agent") == rule).sort("seed").select(columns).rows()
        expected = [vmagent.play(listed, start, 3, above, rule, ends == "keep") for start in starts]
        assert result == [pytest.approx(each) for each in expected]


@pytest.mark.long
def test_shipped_starts_are_measured_as_vmagent_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if SHARED.is_dir():
        monkeypatch.setenv(FOLDER, str(SHARED))
    try:
        file = find("huawei-east-1-events", None)
    except WorkloadError as error:
        pytest.skip(str(error))
    listed = events_of(file)
    requested = ["sweep=null", "replications=2", "agents=[first-fit]"]
    runs = Batch(load_scenario("cvd/vmagent", requested), tmp_path / "out").run().done.sort("seed")
    expected = [vmagent.play(listed, start, 5, 32, "first-fit", False)[0] for start in (2899, 8131)]
    assert runs["scheduled"].to_list() == expected
