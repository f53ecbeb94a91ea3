"""Readers of traces: every format from tiny files, every error beside the file that triggers it, the real ones."""

import gzip
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from binwright.scenarios.schema.workload import Generated
from binwright.simcore.errors import UnknownName, WorkloadError
from binwright.workloads import TRACES
from binwright.workloads.describe import describe, peaks
from binwright.workloads.fit import fit
from binwright.workloads.traces.check import check
from binwright.workloads.traces.library import find, read, recognised
from binwright.workloads.windows import Window, select
from tests.support import ROOT

INF = float("inf")
HUAWEI = "vmid,cpu,mem,at,lt\n"
EVENTS = "vmid,cpu,memory,time,type\n"
AZURE = "vmid,cpu,mem,at,lt,censored,tenant_batch\n"
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)
TABLE = "id,arrival,lifetime,cpu\n"


def put(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def packing(path: Path, vms: Sequence[tuple[object, ...]], types: Sequence[tuple[object, ...]] | None = None) -> Path:
    """vms: vmId, vmTypeId, starttime, endtime. types: vmTypeId, machineId, core, memory, hdd, ssd, nic."""
    if types is None:
        types = [(7, 0, 0.5, 0.25, None, 0.1, 0.1), (7, 1, 0.25, 0.4, None, 0.1, 0.1), (8, 1, 0.1, 0.1, 0.2, 0.0, 0.05)]
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE vm (vmId, tenantId, vmTypeId, priority, starttime, endtime)")
        base.execute("CREATE TABLE vmType (id, vmTypeId, machineId, core, memory, hdd, ssd, nic)")
        base.executemany("INSERT INTO vm VALUES (?, 0, ?, 0, ?, ?)", vms)
        base.executemany("INSERT INTO vmType VALUES (0, ?, ?, ?, ?, ?, ?, ?)", types)
        base.commit()
    return path


def test_huawei_intervals(tmp_path: Path) -> None:
    path = put(tmp_path / "h.csv", HUAWEI + "0,4,16,0.0,194.0\n1,1,2,5.5,inf\n\n")
    frame = read("huawei-east-1", path)
    assert frame.columns == ["id", "arrival", "lifetime", "cpu", "mem"]
    assert frame.rows() == [(0, 0.0, 194.0, 4.0, 16.0), (1, 5.5, INF, 1.0, 2.0)]
    assert frame.dtypes == [pl.Int64, *[pl.Float64] * 4]
    assert recognised(path) == "huawei-east-1"


def test_huawei_events_pair_creations_with_deletions(tmp_path: Path) -> None:
    path = put(tmp_path / "h.csv", EVENTS + "5,1,2,10,0\n9,4,8,12,0\n5,1,2,30,1\n6,2,4,40,0\n6,2,4,40,1\n")
    frame = read("huawei-east-1", path)
    assert frame.rows() == [(5, 10.0, 20.0, 1.0, 2.0), (9, 12.0, INF, 4.0, 8.0), (6, 40.0, 0.0, 2.0, 4.0)]
    assert frame.equals(read("huawei-east-1-events", path))
    assert recognised(path) == "huawei-east-1-events"
    with pytest.raises(WorkloadError, match="missing columns memory, time, type"):
        read("huawei-east-1-events", put(tmp_path / "i.csv", HUAWEI + "0,4,16,0.0,194.0\n"))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_azure_vm_censored_keeps_running(tmp_path: Path, name: str) -> None:
    text = (AZURE + "0,8,14.0,0,450,0,0\n1,1,0.75,300,1350,1,0\n").encode()
    path = put(tmp_path / name, gzip.compress(text) if name.endswith("gz") else text)
    assert read("azure-vm-2017", path).rows() == [(0, 0.0, 450.0, 8.0, 14.0), (1, 300.0, INF, 1.0, 0.75)]
    assert recognised(path) == "azure-vm-2017"


def test_openb_units(tmp_path: Path) -> None:
    rows = "p-0,12000,1000,1,460,,LS,Running,0,100,0\np-1,500,0,0,0,,BE,Pending,7,20,\n"
    rows += "p-2,1000,1,8,1000,,LS,Running,9,,9\n"
    path = put(tmp_path / "o.csv", OPENB + rows)
    frame = read("alibaba-openb", path)
    assert frame["id"].to_list() == ["p-0", "p-1", "p-2"]
    assert frame.select("arrival", "lifetime").rows() == [(0.0, 100.0), (7.0, 13.0), (9.0, INF)]
    quanta = [[12_000_000, 1_048_576, 460_000], [500_000, 0, 0], [1_000_000, 1_049, 8_000_000]]
    assert select(frame, Window(), ("cpu", "mem", "gpu"), seed=0).demand.tolist() == quanta
    assert recognised(path) == "alibaba-openb"
    # Some lists are in no order of time, and some have no times or models: then all pods come at once, and none ends.
    first, second, _ = rows.splitlines(keepends=True)
    late = read("alibaba-openb", put(tmp_path / "gpushare100.csv", OPENB + second + first))
    assert late.select("id", "arrival", "lifetime").rows() == [("p-0", 0.0, 100.0), ("p-1", 7.0, 13.0)]
    few = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np-1,500,0,0,0\np-0,12000,1000,1,460\n"
    path = put(tmp_path / "multigpu50.csv", few)
    assert recognised(path) == "alibaba-openb"
    some = read("alibaba-openb", path).select("id", "arrival", "lifetime", "gpu")
    assert some.rows() == [("p-1", 0, INF, 0), ("p-0", 0, INF, 0.46)]


def test_azure_packing_prices(tmp_path: Path) -> None:
    vms = [(3, 8, 1.5, None), (1, 7, -2.0, 0.5), (2, 7, 0.25, 0.75), (4, 7, -3.0, -1.0)]
    path = packing(tmp_path / "p.sqlite", vms)
    day = 86_400.0
    best = read("azure-packing-2020", path)
    assert best.columns == ["id", "arrival", "lifetime", "cpu", "mem", "hdd", "ssd", "nic"]
    assert best.rows() == [
        (1, 0.0, 0.5 * day, 0.25, 0.4, 0.0, 0.1, 0.1),
        (2, 0.25 * day, 0.5 * day, 0.25, 0.4, 0.0, 0.1, 0.1),
        (3, 1.5 * day, INF, 0.1, 0.1, 0.2, 0.0, 0.05),
    ]
    assert recognised(path) == "azure-packing-2020"
    assert [file.name for file in tmp_path.iterdir()] == ["p.sqlite"]


WORDS = {
    "id": ["a", "b"],
    "arrival": [0, 1],
    "lifetime": [5.0, 6.0],
    "cpu": [1, 2],
    "prio": ["low", "high"],
    "zone": ["1", "x"],
    "rank": [-1, -2],
    "note": ["", ""],
}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_other_columns_of_an_own_table_are_not_read(tmp_path: Path, form: str) -> None:
    frame, path = pl.DataFrame(WORDS), tmp_path / f"t.{form}"
    frame.write_csv(path) if form == "csv" else frame.write_parquet(path)
    wanted = [("a", 0.0, 5.0, 1.0), ("b", 1.0, 6.0, 2.0)]
    assert read("table", path, resources=("cpu",)).rows() == wanted
    with pytest.raises(WorkloadError, match=r"missing column gpu\n.*has id, arrival, lifetime, cpu, prio"):
        read("table", path, resources=("cpu", "gpu"))
    with pytest.raises(WorkloadError, match="prio: not "):
        read("table", path, resources=("cpu", "prio"))
    with pytest.raises(WorkloadError, match="rank: negative demand"):
        read("table", path, resources=("rank", "cpu"))
    # Where nobody says what is asked for, words are passed over, and what has some numbers is not.
    with pytest.raises(WorkloadError, match="zone: not "):
        read("table", path)
    plain = frame.drop("zone", "rank")
    plain.write_csv(path) if form == "csv" else plain.write_parquet(path)
    assert read("table", path).rows() == wanted
    assert recognised(path) == "table"


CSV_ERRORS = [
    ("huawei-east-1", "", "{file}: has no rows: the file is empty"),
    ("huawei-east-1", "vmid,cpu,at,lt\n0,1,0,1\n", "{file}:1: missing column mem"),
    ("huawei-east-1", HUAWEI + "0,1,1,0,1\n1,-2,1,0,1\n", "{file}:3: cpu: negative demand (got -2)"),
    ("huawei-east-1", HUAWEI + "0,0,0,0,1\n", "{file}:2: cpu: a request for nothing (got 0)"),
    ("huawei-east-1", HUAWEI + "0,1,1,0,-0.5\n", "{file}:2: lt: negative lifetime (got '-0.5 s')"),
    ("huawei-east-1", HUAWEI + "4,1,1,0,1\n5,1,1,0,1\n4,1,1,0,1\n", "{file}:4: vmid: duplicate id (got 4)"),
    ("huawei-east-1", HUAWEI + "0,1,1,0,1\n1,one,1,0,1\n", "{file}:3: cpu: not a number (got 'one')"),
    ("huawei-east-1", HUAWEI + "0,1,1,0,1\n1,1,1,0,1,6\n", "{file}:3: not a CSV file: rows differ"),
    ("huawei-east-1", (HUAWEI + "0,1,1,0,1\n\xff").encode("latin-1"), "{file}:3: not UTF-8 text"),
    ("huawei-east-1", EVENTS + "0,1,1,0,0\n0,1,1,3,2\n", "{file}:3: type: neither 0 nor 1 (got '2')"),
    ("huawei-east-1", EVENTS + "0,1,1,0,0\n0,1,1,3,1\n0,1,1,4,1\n",
     "{file}:2: vmid: duplicate id (got 0)"),
    ("huawei-east-1", EVENTS + "0,1,1,9,0\n0,1,1,3,1\n",
     "{file}:2: deleted: ends before it arrives (got '9 s to 3 s')"),
    ("azure-vm-2017", gzip.compress(AZURE.encode() * 99, mtime=0)[:-20], "{file}: corrupt gzip: "),
    ("azure-vm-2017", AZURE + "0,1,1,0,1,maybe,0\n", "{file}:2: censored: not a number (got 'maybe')"),
    ("azure-packing-2020", "PK, a zip", "{file}: not a readable SQLite file: file is not a database"),
    ("table", TABLE + "0,0,,1\n", "{file}:2: lifetime: no value"),
    ("table", b"PAR1 and nothing more", "{file}: not a readable Parquet trace: "),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "message"), CSV_ERRORS)
def test_a_wrong_cell_is_refused_with_its_line_and_column(
    tmp_path: Path, name: str, text: str | bytes, message: str
) -> None:
    path = put(tmp_path / "trace", text)
    with pytest.raises(WorkloadError) as caught:
        read(name, path)
    assert str(caught.value).startswith(message.format(file=path))
    assert caught.value.remedy
    with pytest.raises(WorkloadError):
        read(recognised(path) or "table", path)


def test_lookup_order_and_what_a_missing_file_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, cache = tmp_path / "named", tmp_path / "cache" / "binwright" / "traces"
    named.mkdir()
    cache.mkdir(parents=True)
    monkeypatch.setenv("BINWRIGHT_TRACES", str(named))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(WorkloadError) as caught:
        find("huawei-east-1")
    for part in (
        "huawei-east-1.csv",
        str(named),
        str(cache),
        "VM-placement-dataset",
        "CC BY-NC 4.0",
        "BINWRIGHT_TRACES",
    ):
        assert part in str(caught.value)
    with pytest.raises(WorkloadError, match=r"elsewhere.csv: workload.path: there is no such file(.|\n)*CC BY 4.0"):
        find("azure-vm-2017", tmp_path / "elsewhere.csv")
    second = put(cache / "huawei-east-1.csv", HUAWEI)
    assert find("huawei-east-1") == second
    first = put(named / "huawei-east-1.csv", HUAWEI)
    assert find("huawei-east-1") == first
    monkeypatch.delenv("BINWRIGHT_TRACES")
    assert find("huawei-east-1") == second
    with pytest.raises(UnknownName, match="Did you mean 'huawei-east-1'"):
        find("huawei-east1")
    with pytest.raises(WorkloadError, match=r"nowhere: cannot read it: No such file"):
        recognised(tmp_path / "nowhere")
    assert recognised(put(tmp_path / "other.csv", "a,b\n1,2\n")) is None


def test_a_parquet_file_of_the_common_columns_is_read_in_place_of_the_original(tmp_path: Path) -> None:
    path = put(tmp_path / "h.csv", HUAWEI + "0,4,16,0,194\n1,1,2,8,inf\n")
    out = tmp_path / "h.parquet"
    read("huawei-east-1", path).write_parquet(out)
    assert recognised(out) == "table"
    assert read("huawei-east-1", out).equals(read("huawei-east-1", path))
    with pytest.raises(WorkloadError, match="missing columns arrival, lifetime"):
        read("table", _parquet(tmp_path / "x", {"id": [1], "cpu": [1.0]}))
    with pytest.raises(WorkloadError, match="cpu: negative demand in request 7"):
        read("table", _parquet(tmp_path / "x", {"id": [7], "arrival": [0], "lifetime": [1], "cpu": [-1]}))


def _parquet(path: Path, columns: Mapping[str, Sequence[object]]) -> Path:
    pl.DataFrame(columns).write_parquet(path)
    return path


def test_describe(tmp_path: Path) -> None:
    path = put(tmp_path / "h.csv", HUAWEI + "0,1,2,0,10\n1,4,8,10,20\n2,1,2,10,inf\n3,1,2,47,1\n")
    assert recognised(path) == "huawei-east-1"
    frame = read("huawei-east-1", path)
    resources, flavours, lifetimes = describe(frame)
    assert resources.rows() == [("cpu", "cores", 7.0, 1.75, 4.0), ("mem", "GB", 14.0, 3.5, 8.0)]
    assert flavours.select("cpu", "mem", "count", "share", "never_ending", "p50", "mean").rows() == [
        (1.0, 2.0, 3, 0.75, 1, 10.0, 5.5),
        (4.0, 8.0, 1, 0.25, 0, 20.0, 20.0),
    ]
    # What never ends counts as longer than 1, 10 and 20 s.
    assert lifetimes.select("count", "p10", "p50", "p90", "p99", "mean").row(0) == (4, 1, 20, INF, INF, 31 / 3)
    # The release at 10 comes before the arrivals at 10.
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    running = peaks(columns["arrival"], columns["lifetime"], {name: columns[name] for name in ("cpu", "mem")})
    assert [*running.values()] == [5.0, 10.0]


def real(name: str) -> Path:
    files: tuple[str, ...] = TRACES.load(name).files
    folder = Path(os.environ.get("BINWRIGHT_TRACES") or ROOT.parent / "shared" / "traces")
    for path in (folder / file for file in files):
        if path.is_file():
            return path
    pytest.skip(f"{name} is not in {folder}: name its folder in $BINWRIGHT_TRACES")


def test_real_azure_and_its_fit() -> None:
    frame = read("azure-vm-2017", real("azure-vm-2017"))
    assert len(frame) == 669_435
    assert frame["lifetime"].is_infinite().sum() == 37_628
    spec = fit(frame, flavours=6) | {"requests": 100_000}
    workload = Generated.model_validate(spec).draw(("cpu", "mem"), seed=0)
    drawn, wanted = workload.demand.mean(axis=0) / 1e6, frame.select("cpu", "mem").mean().row(0)
    assert drawn == pytest.approx(wanted, rel=0.02)
    assert np.median(workload.duration) == pytest.approx(frame["lifetime"].median(), rel=0.05)


def test_rows_of_a_reader_must_be_in_order_of_arrival(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"line": [2, 3], "id": [0, 1], "arrival": [9.0, 8.0], "lifetime": [1.0, 1.0], "cpu": [1.0, 1.0]}
    )
    with pytest.raises(WorkloadError, match=":3: at: arrivals are not sorted"):
        check(frame, tmp_path / "t", {"arrival": "at"})
