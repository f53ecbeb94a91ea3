"""Requests for several servers: their laws, what each seed fixes, holding times for a load, and what is refused."""

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.workload import MultiServer
from binwright.simcore.errors import UserError, WorkloadError
from binwright.simcore.types import QUANTUM
from binwright.simcore.workload import Workload
from binwright.workloads.demands import DEMANDS, Alibaba, AlibabaLike, Azure, AzureLike, Law, Uniform

R = ("cpu", "mem")
CONTAINERS = (
    "c_1,m_1,0,app_1,started,400,400,1.56\n"
    "c_1,m_1,287942,app_1,started,800,800,1.56\n"  # the same one again: not read
    "c_2,m_2,0,app_2,started,800,800,3.13\n"
    "c_3,m_2,0,app_2,started,400,400,1.56\n"
    "c_4,m_2,0,app_2,started,1600,1600,0.2\n"
    "c_5,m_2,0,app_2,started,100,100,0.1\n"
)
ODD = (  # without a size, invalid, or above 100 units
    "c_6,m,0,a,started,,400,1\nc_7,m,0,a,started,400,400,\nc_8,m,0,a,started,400,400,-1\n"
    "c_9,m,0,a,started,400,400,101\nd_1,m,0,a,started,1700,400,1\n"
)
POOL: dict[str, Any] = {
    name: kind() for name in ("uniform", "azure-like", "alibaba-like") for kind in [DEMANDS.load(name)]
}


def units(workload: Workload) -> Any:
    assert (workload.demand % QUANTUM == 0).all()
    return workload.demand // QUANTUM


def drawn_by(requests: int, demand: str, holding: int, **more: float) -> Any:
    return MultiServer.model_validate({"requests": requests, "demand": demand, "holding": holding, **more}).draw


# -- laws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POOL)
def test_draws_follow_the_law(name: str) -> None:
    law = POOL[name].law()
    drawn = units(drawn_by(100_000, name, 1)(R, 5))
    pairs, counts = np.unique(drawn, axis=0, return_counts=True)
    assert pairs.tolist() == law.pairs.tolist()  # each of them, and nothing else
    assert chisquare(counts, law.weights * len(drawn)).pvalue > 0.01


def test_published_demand_laws_are_exact() -> None:
    law = Uniform().law()
    assert law.pairs.tolist() == [[cpu, mem] for cpu in range(1, 51) for mem in range(1, 51)]
    assert set(law.weights) == {1 / 2500}
    # Flavours of 2017 on a machine of 64 cores and 360 GB.
    flavours = [(1, 0.75), (1, 1.75), (2, 3.5), (4, 7), (2, 14), (8, 14), (2, 16), (4, 28), (8, 56)]
    law = AzureLike().law()
    pairs = sorted([int(500 * cores / 64), max(1, int(500 * memory / 360))] for cores, memory in flavours)
    assert law.pairs.tolist() == pairs
    assert set(law.weights) == {1 / 9}
    law = AlibabaLike().law()
    assert (law.pairs.tolist(), law.weights.tolist()) == ([[25, 7], [50, 15]], [0.75, 0.25])
    assert law.weights @ law.pairs == pytest.approx((31.25, 9.0))


# -- draws -----------------------------------------------------------------------------------------------------------


def test_a_workload() -> None:
    workload = drawn_by(20_000, "uniform", 31, step=2.0)(R, 3)
    assert workload.arrival.tolist() == list(range(0, 40_000, 2))
    steps, counts = np.unique(workload.duration / 2, return_counts=True)
    assert steps.tolist() == list(range(1, 32))
    assert chisquare(counts).pvalue > 0.01
    assert workload.bandwidth is not None
    assert QUANTUM // 10 <= workload.bandwidth.min() < 101_000
    assert kstest(workload.bandwidth / QUANTUM, "uniform", (0.1, 0.9)).pvalue > 0.01
    mixed = drawn_by(20_000, "uniform", 31, step=2.0)(("mem", "gpu", "cpu"), 3)
    assert mixed.demand[:, [2, 0]].tolist() == workload.demand.tolist()
    assert not mixed.demand[:, 1].any()


# -- traces ----------------------------------------------------------------------------------------------------------


def put(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def table(law: Law) -> dict[tuple[int, int], float]:
    pairs = [(cpu, mem) for cpu, mem in law.pairs.tolist()]
    return dict(zip(pairs, law.weights.tolist(), strict=True))


@pytest.mark.parametrize(("name", "header"), [("container_meta.csv", False), ("container_meta.csv.gz", True)])
def test_alibaba_containers(tmp_path: Path, name: str, header: bool) -> None:
    first = "container_id,machine_id,time_stamp,app_du,status,cpu_request,cpu_limit,mem_size\n" * header
    path = put(tmp_path / name, first + CONTAINERS)
    # 1.56 is int(7.8), the 16 cores are 100 and stay, 0.1 is nothing and becomes 1.
    rows = [(25, 7), (50, 15), (25, 7), (100, 1), (6, 1)]
    assert table(Alibaba(path, "all").law()) == {pair: rows.count(pair) / 5 for pair in set(rows)}
    [last] = table(Alibaba(path, "test").law())
    rows.remove(last)
    assert table(Alibaba(path).law()) == {pair: rows.count(pair) / 4 for pair in set(rows)}
    more = put(tmp_path / "more.csv", CONTAINERS + ODD)
    assert table(Alibaba(more, "all").law()) == table(Alibaba(path, "all").law())


def test_a_split_is_the_same_every_time_and_takes_every_row_once(tmp_path: Path) -> None:
    rows = "".join(f"c_{cpu},m,0,a,started,{16 * cpu},,1\n" for cpu in range(1, 101))
    problem = {
        (part, name): {cpu for cpu, _ in table(Alibaba(put(tmp_path / name, rows), part).law())}
        for part in ("train", "test")
        for name in ("a.csv", "b.csv")
    }
    train, test = problem["train", "a.csv"], problem["test", "a.csv"]
    assert (len(train), len(test)) == (80, 20)
    assert train | test == set(range(1, 101))
    assert train != set(range(1, 81))  # rows of one kind stand together in these tables
    assert (train, test) == (problem["train", "b.csv"], problem["test", "b.csv"])


def test_azure_packing_2020(tmp_path: Path) -> None:
    path = tmp_path / "packing.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE vm (vmId, tenantId, vmTypeId, priority, starttime, endtime)")
        base.execute("CREATE TABLE vmType (id, vmTypeId, machineId, core, memory, hdd, ssd, nic)")
        types = [(7, 0, 0.006, 0.001), (7, 1, 0.1, 0.1), (8, 0, 0.2, 0.2), (8, 2, 0.1, 0.1), (9, 0, 0.5, 0.1)]
        base.executemany("INSERT INTO vmType VALUES (0, ?, ?, ?, ?, 0, 0, 0)", types)
        base.commit()
    # A row of vmType each; half a machine is 250: drawn again.
    assert table(Azure(path, "all").law()) == {(3, 1): 0.25, (50, 50): 0.5, (100, 100): 0.25}
    with closing(sqlite3.connect(path)) as base:
        base.execute("UPDATE vmType SET core = 'half' WHERE vmTypeId = 9")
        base.commit()
    with pytest.raises(WorkloadError, match=r"packing\.sqlite: vmType: not a number: .*half"):
        Azure(path, "test").law()


# -- wrong input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bandwidth": [0.6, 0.5]}, r"workload\.bandwidth: is an empty range \(got \[0\.6, 0\.5\]\)\n  Give the lower"),
        ({"bandwidth": [0.1, 2e9]}, r"workload\.bandwidth: is more than 1000000000 Gbps"),
        ({"load": 0.9}, "Write `holding: H`"),
    ],
)
def test_impossible_requests(change: dict[str, Any], message: str) -> None:
    cluster = {"network": {"topology": "alpha"}, "node": {"cpu": 10, "mem": 10}}
    workload = {"demand": "uniform", "requests": 128, "holding": 31} | change
    with pytest.raises(UserError, match=message):
        scenario_from({"cluster": cluster, "workload": workload, "agents": ["tetris"]})
