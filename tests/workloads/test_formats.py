"""Trace formats with fixtures written by hand from their documentation, each with its pitfalls."""

import contextlib
import gzip
import json
import random
import re
from math import isnan
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from binwright.simcore.errors import WorkloadError
from binwright.workloads.traces.kubernetes import quantity
from binwright.workloads.traces.library import read, recognised

INF = float("inf")


def refused(name: str, path: Path, **options: Any) -> str:
    with pytest.raises(WorkloadError) as caught:
        read(name, path, options=options)
    assert caught.value.remedy
    return str(caught.value).removeprefix(str(path)).splitlines()[0]


# -- Standard Workload Format ------------------------------------------------------------------------------------------

SWF = """\
; Version: 2.2
; Computer: A parallel machine of a test
; UnixStartTime: 1000000000
;
  1     0    5  100   4   98.5  2048   8  3600  1024  1  3 1  7 0  1 -1 -1
  2    10   -1   -1  -1   -1      -1   4  3600    -1  5  3 1  7 0  1 -1 -1
  3    20    0    0   2    0      -1  -1    -1    -1  1 -1 1  7 2 -1 -1 -1
  4    30    0   50   2   -1      -1  -1    -1    -1  0  4 1  7 2 -1 -1 -1
  4    30    0   20   2   -1      -1  -1    -1    -1  2  4 1  7 2 -1 -1 -1
  4    50    0   30   2   -1      -1  -1    -1    -1  3  4 1  7 2 -1 -1 -1
  5    40    0    0   2   -1      -1   2    -1    -1  5  4 1  7 2 -1 -1 -1
  6    25    0    9  -1   -1      -1  -1    -1    -1  1  4 1  7 2 -1 -1 -1
  7    35    0  7.5   1   -1      -1   0    -1    -1  1  4 1  7 2 -1 -1 -1
"""


@pytest.mark.parametrize("name", ["log.swf", "log.swf.gz"])
def test_standard_workload_format(name: str, tmp_path: Path) -> None:
    """Jobs that never ran, parts of jobs, and jobs without processors are left out; what was requested counts."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(SWF.encode()) if name.endswith("gz") else SWF.encode())
    assert recognised(path) == "swf"
    frame = read("swf", path)
    assert frame.select("id", "arrival", "lifetime", "cpu", "labels.tenant", "labels.queue").rows() == [
        (1, 0, 100, 8, "3", "0"),
        (3, 20, 0, 2, "", "2"),
        (4, 30, 50, 2, "4", "2"),
        (7, 35, 7.5, 1, "4", "2"),
    ]
    requested, *unknown = frame["requested_time"].to_list()
    assert requested == 3600
    assert all(map(isnan, unknown))
    assert frame["mem"].to_list() == pytest.approx([8 * 1024 * 1.024e-6, 0, 0, 0])  # per processor, in kilobytes


def test_mistakes_in_a_standard_workload(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(SWF + "8 60 0 1\n")
    assert refused("swf", path) == ":14: 4 fields instead of 18"
    path.write_text(SWF.replace("  3 1  7 0", "  1e300 1  7 0", 1))
    assert refused("swf", path) == ":5: user: not a number (got '1e300')"
    path.write_text("; nothing\n")
    assert refused("swf", path) == ": no requests: this trace is empty"
    path.write_text("1 2 3\n")
    assert recognised(path) is None


# -- Kubernetes --------------------------------------------------------------------------------------------------------


def pod(name: str, node: str = "", requests: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": requests or {"cpu": "500m", "memory": "1Gi"}}}
    spec = {"containers": [container], **({"nodeName": node} if node else {}), **more.pop("spec", {})}
    about = {"name": name, "namespace": more.pop("namespace", "web"), **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec, "status": {"phase": "Running", **more}}


def node(name: str, zone: str, **spec: Any) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    has = {"cpu": "3920m", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi", "hugepages-2Mi": "0"}
    status = {"allocatable": has, "capacity": {"cpu": "4", "memory": "17Gi", "pods": "110"}}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}


ZONE_B = {"nodeSelector": {"topology.kubernetes.io/zone": "b"}}
IN_A_OR_B = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a", "b"]}
TERMS = {"nodeSelectorTerms": [{"matchExpressions": [IN_A_OR_B]}]}
AFFINE = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": TERMS}}}
SPOT = [{"key": "spot", "value": "yes", "effect": "NoSchedule"}, {"key": "soft", "effect": "PreferNoSchedule"}]
SNAPSHOT = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        node("n1", "a"),
        node("n2", "b", taints=SPOT),
        node("n3", "b", unschedulable=True),
        pod("on-2", "n2", {"cpu": "2", "memory": "512Mi"}, metadata={"ownerReferences": [{"name": "web-5d9f"}]}),
        pod("on-3", "n3", namespace="db", spec={"priorityClassName": "high"}),
        pod("done", "n1", phase="Succeeded"),
        pod("going", "n1", metadata={"deletionTimestamp": "2026-11-03T08:00:00Z"}),
        pod("waits-b", spec=ZONE_B, phase="Pending"),
        pod("waits-spot", spec={**AFFINE, "tolerations": [{"key": "spot", "operator": "Exists"}]}, phase="Pending"),
        pod("waits-other", spec={"nodeSelector": {"disk": "ssd"}}, phase="Pending"),
        pod(
            "waits-big",
            requests={"cpu": "1", "memory": "1Gi"},
            spec={
                "overhead": {"cpu": "250m"},
                "initContainers": [{"resources": {"requests": {"cpu": "500m", "memory": "3Gi"}}}],
                "tolerations": [{"operator": "Exists"}],
            },
            phase="Pending",
        ),
    ],
}


@pytest.fixture
def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(SNAPSHOT, indent=1))
    return path


def test_a_snapshot_of_kubernetes(snapshot: Path) -> None:
    assert recognised(snapshot) == "kubernetes"
    frame = read("kubernetes", snapshot)
    gib = 1024**3 / 1e9
    assert frame.select("id", "arrival", "cpu", "mem", "pods", "where", "tolerates").rows() == [
        ("web/on-2", 0, 2, 0.5 * gib, 1, "host=n2", "spot=yes"),
        ("db/on-3", 0, 0.5, gib, 1, "host=n3", "node.kubernetes.io/unschedulable"),
        ("web/waits-b", 1, 0.5, gib, 1, "topology.kubernetes.io/zone=b", ""),
        ("web/waits-spot", 1, 0.5, gib, 1, "topology.kubernetes.io/zone=a|b", "spot=yes"),
        ("web/waits-other", 1, 0.5, gib, 1, "disk=ssd", ""),
        ("web/waits-big", 1, 1.25, 3 * gib, 1, "", "node.kubernetes.io/unschedulable|spot=yes"),
    ]
    assert frame["group"].to_list() == ["web/web-5d9f", *[""] * 5]
    assert frame["labels.tenant"].to_list() == ["web", "db", *["web"] * 4]
    assert frame["labels.priority"].to_list() == ["", "high", *[""] * 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"kind": "List"}', "not as Kubernetes has it: 'items' is missing"),
        ('{"items": [{}, {"kind": "Pod", "metadata": {}}]}', "items.1 is not as Kubernetes has it: 'spec' is missing"),
    ],
)
def test_what_a_snapshot_lacks_is_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "k.json").write_text(text)
    assert message in refused("kubernetes", tmp_path / "k.json")


@pytest.mark.parametrize(
    ("text", "amount"),
    [("500m", 0.5), ("2", 2), (3, 3), ("1.5Gi", 1.5 * 2**30), ("128974848", 128974848), ("1e3", 1000), ("100k", 1e5)],
)
def test_quantities_of_kubernetes(text: str, amount: float) -> None:
    assert quantity(text) == pytest.approx(amount)


# -- Azure 2019 --------------------------------------------------------------------------------------------------------

AZURE = """\
vm1,sub1,dep1,0,2592000,90.1,1.2,5.0,Delay-insensitive,2,4
vm3,sub2,dep2,600,1200,80,1,5,Interactive,>24,>64
vm2,sub1,dep1,300,900,80,1,5,Unknown,24,64
"""


def test_azure_2019(tmp_path: Path) -> None:
    """Buckets without an upper end need a size; what is deleted at the last moment was there when the trace ended."""
    path = tmp_path / "vmtable.csv.gz"
    path.write_bytes(gzip.compress(AZURE.encode()))
    assert recognised(path) == "azure-vm-2019"
    frame = read("azure-vm-2019", path)
    assert frame.rows() == [
        ("vm1", 0, INF, 2, 4, "dep1", "sub1", "Delay-insensitive", "1.2", "5.0", "90.1"),
        ("vm2", 300, 600, 24, 64, "dep1", "sub1", "Unknown", "1", "5", "80"),
        ("vm3", 600, 600, 32, 128, "dep2", "sub2", "Interactive", "1", "5", "80"),
    ]
    path.write_text("vm1,sub1,dep1,0,,90.1,1.2,5.0,Delay-insensitive,2,4\n")
    assert read("azure-vm-2019", path)["lifetime"].to_list() == [INF]
    names = "vmid,subscriptionid,deploymentid,vmcreated,vmdeleted,maxcpu,avgcpu,p95maxcpu,vmcategory,"
    names += "vmcorecountbucket,vmmemorybucket"
    path.write_text("\ufeff" + ",".join(f'"{name}"' for name in names.split(",")) + "\n" + AZURE)
    assert read("azure-vm-2019", path).equals(frame)


# -- Google 2019 -------------------------------------------------------------------------------------------------------


def event(time: float, kind: int | str, collection: int, instance: int = 0, cpus: float = 0.1, **more: Any) -> str:
    """An event as it is downloaded: whole numbers are texts, since JSON has no 64 bits."""
    options = {"cpus": cpus, "memory": 0.02}
    about = {"time": str(int(time * 1e6)), "type": kind, "collection_id": str(collection), "instance_index": instance}
    return json.dumps({**about, "priority": "103", "resource_request": options, "alloc_collection_id": "0", **more})


GOOGLE = [
    event(0, 0, 1),
    event(0, 3, 1),  # it ran before the trace, which says so again
    event(0, 3, 1),
    event(700, 4, 1),  # evicted, and placed again
    event(701, 0, 1),
    event(710, 3, 1, cpus=0.2),
    event(720, 10, 1),  # updates are no placements
    event(800, 6, 1),
    event(650, "SUBMIT", 2),
    event(660, "SCHEDULE", 2),
    event(655, 3, 2, instance=1),
    event(670, 7, 2, instance=1),
    event(690, 3, 3, alloc_collection_id="9"),  # in an alloc set, which asked for the room
    event(600, 3, 9, collection_type=1, cpus=0.5),
    event(640, 0, 4),  # never placed
    event(645, 3, 5, resource_request={"cpus": 0.0, "memory": 0.0}),
    event(1, 6, 9).replace('"1000000"', f'"{2**63 - 1}"'),  # after the end of the trace
]


def test_google_2019(tmp_path: Path) -> None:
    path = tmp_path / "instance_events.json.gz"
    path.write_bytes(gzip.compress("\n".join(GOOGLE).encode()))
    assert recognised(path) == "google-2019"
    frame = read("google-2019", path)
    assert frame.select("id", "arrival", "lifetime", "cpu", "mem", "group", "labels.priority").rows() == [
        ("1-0-0", 0, 700, 0.1, 0.02, "1", "103"),
        ("9-0-0", 600, INF, 0.5, 0.02, "9", "103"),
        ("2-1-0", 655, 15, 0.1, 0.02, "2", "103"),
        ("2-0-0", 660, INF, 0.1, 0.02, "2", "103"),
        ("1-0-1", 710, 90, 0.2, 0.02, "1", "103"),
    ]
    about = {"collection_type": 0, "collection_name": "x", "scheduling_class": 2}
    collections = [
        json.dumps({"time": "0", "type": kind, "collection_id": str(number), "priority": "103", "user": user, **about})
        for number, kind, user in ((1, 0, "ann"), (1, 3, "ann"), (2, "SUBMIT", "bob"), (7, 0, "cid"))
    ]
    path.write_text("\n".join([*GOOGLE, *collections]))
    assert read("google-2019", path).equals(frame)
    path.write_text("\n".join([*GOOGLE, event(9, "STARTED", 1)]))
    assert refused("google-2019", path).startswith(": not lines of JSON with events of instances: conversion from")
    path.write_text("\n".join([*GOOGLE, '{"time": "1", "type": 3}']))
    assert refused("google-2019", path) == f":{len(GOOGLE) + 1}: an event has no collection_id"
    path.write_text('{"time": 1}\n')
    assert refused("google-2019", path).startswith(": not lines of JSON with events of instances: unable to find")


# -- Alibaba 2018 ------------------------------------------------------------------------------------------------------

CONTAINERS = """\
c_1,m_1,0,app_1,started,400,800,1.56
c_2,m_2,0,app_1,allocated,800,800,3.13
c_2,m_2,500,app_1,started,800,800,3.13
c_1,m_1,86400,app_1,stopped,400,800,1.56
c_1,m_1,90000,app_1,unknown,400,800,1.56
c_3,m_2,700,app_2,started,,,
c_4,m_3,300,app_2,unknown,1600,1600,6.25
"""


def test_containers_of_alibaba_2018(tmp_path: Path) -> None:
    """Each is one request, from its first row to the first that says that it stopped; not all say what they ask for."""
    path = tmp_path / "container_meta.csv"
    path.write_text(CONTAINERS)
    assert recognised(path) == "alibaba-containers-2018"
    frame = read("alibaba-containers-2018", path)
    assert frame.drop("mem").rows() == [
        ("c_1", 0, 86400, 4, "app_1"),
        ("c_2", 0, INF, 8, "app_1"),
        ("c_4", 300, INF, 16, "app_2"),
    ]
    assert frame["mem"].to_list() == pytest.approx([0.0156, 0.0313, 0.0625])


# -- OpenDC ------------------------------------------------------------------------------------------------------------


def test_opendc(tmp_path: Path) -> None:
    """Times are milliseconds, memory is in MB; in older versions times are dates, and an end says how long."""
    common = {"cpu_count": [4, 2], "cpu_capacity": [10400.0, 5200.0], "mem_capacity": [181352, 4096]}
    path = tmp_path / "tasks.parquet"
    tasks = {"id": ["b", "a"], "submission_time": [1376314846000, 1376314840000], "duration": [3600000, 500], **common}
    pl.DataFrame(tasks).write_parquet(path)
    assert recognised(path) == "opendc"
    rows = [("a", 1376314840, 0.5, 2, 4.096), ("b", 1376314846, 3600, 4, 181.352)]
    assert read("opendc", path).rows() == rows
    older = tmp_path / "meta.parquet"
    begins = pl.Series([1376314846000, 1376314840000]).cast(pl.Datetime("ms"))
    ends = pl.Series([1376314846000 + 3600000, 1376314840500]).cast(pl.Datetime("ms"))
    pl.DataFrame({"id": ["b", "a"], "start_time": begins, "stop_time": ends, **common}).write_parquet(older)
    assert recognised(older) == "opendc"
    assert read("opendc", older).rows() == rows
    pl.DataFrame({"id": ["b"]}).write_parquet(path)
    assert refused("opendc", path).startswith(": missing columns cpu_count, duration")


# -- what is damaged ---------------------------------------------------------------------------------------------------

BITS = [b"null", b"[]", b"{}", b'"x"', b"-1", b"inf", b"nan", b"1e999", b"", b"\n", b",", b";", b":", b"\xff", b"true"]


NEW = ["swf", "kubernetes", "azure-vm-2019", "google-2019", "alibaba-containers-2018"]


@pytest.mark.parametrize("name", NEW)
def test_damaged_traces_are_read_or_refused(name: str, tmp_path: Path) -> None:
    texts = {"swf": SWF, "azure-vm-2019": AZURE, "alibaba-containers-2018": CONTAINERS}
    texts |= {"kubernetes": json.dumps(SNAPSHOT), "google-2019": "\n".join(GOOGLE)}
    whole = texts[name].encode()
    path = tmp_path / "damaged"
    for number in range(20):
        drawn = random.Random(f"{name}{number}")
        data = bytearray(whole)
        for _ in range(drawn.randint(1, 3)):
            if name == "kubernetes":  # whole values
                values = re.finditer(rb'(?<=: )("[^"]*"|\[[^][]*\])', data)
                first, last = drawn.choice([result.span() for result in values])
            else:
                first = drawn.randrange(len(data))
                last = first + drawn.choice([0, 1, 5, 50])
            data[first:last] = drawn.choice(BITS)
        path.write_bytes(data)
        with contextlib.suppress(WorkloadError):
            read(name, path)
