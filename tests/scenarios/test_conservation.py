"""Nothing is lost or made in any run: nodes and links are recomputed after every event, and from the record."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.analysis.measure.finished_run import FinishedRun
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from tests.support.bookkeeping import Books
from tests.support.networks import SMALL_FABRIC
from tests.support.properties import scaled
from tests.support.scenarios import deciding

SERVER = {"cpu": 8.0, "mem": 16.0}
NETWORKS: list[dict[str, Any]] = [
    {"tree": {"fanouts": [3, 2, 2], "capacities": [1, 1, 2]}},
    {"fat-tree": {"k": 4}},
    {"fabric": SMALL_FABRIC},
]
OVERFLOWS = ["drop", "wait", "stop", {"wait": {"together": 4}}]
LIFETIMES = st.sampled_from(["10 s", "1 min", "5 min"]).map(lambda mean: {"exponential": {"mean": mean}})
ARRIVALS = st.sampled_from(["2 s", "9 s", "30 s"]).map(lambda every: {"poisson": {"every": every}})
GROUPS = ("a", "a", "b", "c")
RULES: list[dict[str, Any]] = [
    {"at_most": 2, "of": "*", "per": "rack"},
    {"spread": "a", "over": "server"},
    {"apart": ["a", "b"], "per": "server"},
    {"together": "c", "per": "rack"},
    {"near": "a", "of": "b", "per": "rack"},
    {"drain": [0], "at": "1 min"},
]
ON_SERVERS = ["first-fit", "best-fit", "worst-fit", "dot-product", "balance-fit", "internal", "random", "random-top"]
ON_NETWORKS = ["tetris", "nalb", "nulb", "random", "best-home", {"feasible": {"agent": "tetris"}}]


def failures(draw: st.DrawFn, kinds: dict[str, int]) -> dict[str, Any]:
    """Draw failures of parts, given how many of each kind there are."""
    frame: dict[str, Any] = {"on_failure": draw(st.sampled_from(["lose", "requeue"]))}
    for kind, count in kinds.items():
        part = "server" if kind == "servers" else "part"
        planned = [
            {"at": at, part: number, **({"repair_after": after} if after else {})}
            for at, number, after in draw(
                st.lists(
                    st.tuples(st.sampled_from([30.5, 90, 250]), st.integers(0, count - 1), st.sampled_from([0, 40])),
                    max_size=3,
                )
            )
        ]
        at_random = draw(st.sampled_from([{}, {"mtbf": "4 min", "mttr": "30 s"}]))
        spec = {"scheduled": planned, **at_random}
        frame |= spec if kind == "servers" else {kind: spec}
    return frame


@st.composite
def on_servers(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a scenario of servers that are all alike."""
    nodes = draw(st.integers(1, 3))
    overflow = draw(st.sampled_from([*OVERFLOWS, {"expand": {"by": 1, "limit": 6}}]))
    cluster = {
        "servers": draw(st.integers(1, 4)),
        "nodes": nodes,
        "node": SERVER,
        **({"spread_above": {"mem": draw(st.sampled_from([4, 6]))}} if nodes > 1 else {}),
        **({"failures": failures(draw, {"servers": 1})} if draw(st.booleans()) else {}),
        **({"expansion": [{"at": 60, "by": 2}]} if draw(st.booleans()) else {}),
    }
    flavours: list[dict[str, Any]] = [
        {"cpu": 1, "mem": 2},
        {"cpu": 3, "mem": 1},
        {"cpu": 2, "mem": 5},
        {"cpu": 5, "mem": 8},
    ]
    placement: dict[str, Any] = {}  # and quotas
    if draw(st.booleans()):
        cluster["domains"] = {"rack": 2}
        flavours = [{**flavour, "group": group} for flavour, group in zip(flavours, GROUPS, strict=True)]
        placement = {"placement": draw(st.lists(st.sampled_from(RULES), max_size=3, unique_by=str))}
        if draw(st.booleans()):
            of = {"a": {"nominal": {"cpu": 6}, "cohort": "x"}, "b": {"nominal": {"mem": 20, "cpu": 9}, "cohort": "x"}}
            above = {"above": draw(st.sampled_from(["wait", "refuse"]))}
            placement["quotas"] = {"of": of, **above, "reclaim": draw(st.sampled_from(["never", "lower", "any"]))}
    moving: dict[str, Any] = {}
    if draw(st.booleans()):
        moving = {
            "rescheduling": {"every": "40 s", "on_drain": True, "moves": 3},
            "moves": {
                "bandwidth": draw(st.sampled_from([None, "1 Gbps"])),
                "at_once": draw(st.sampled_from([None, 1])),
            },
        }
        if overflow in ("drop", "wait", "stop") and not placement:
            overflow = {"make_room": {"moves": 2, "then": overflow}}
    if "make_room" not in overflow and draw(st.booleans()):
        flavours = [{**flavour, "priority": number % 3} for number, flavour in enumerate(flavours)]
        overflow = {
            "preempt": {
                "victims": draw(st.sampled_from(["fewest", "lowest", "youngest", "cheapest"])),
                "grace": draw(st.sampled_from([0, "5 s"])),
                "then": draw(st.sampled_from(["requeue", "drop"])),
                "checkpoint": draw(st.sampled_from([None, "20 s"])),
                "otherwise": overflow,
            }
        }
    return {
        "name": "drawn", "cluster": cluster, **placement, **moving,
        "workload": {
            "arrivals": draw(ARRIVALS),
            "flavours": flavours,
            "lifetimes": draw(LIFETIMES),
            "requests": draw(st.integers(1, 60)),
        },
        "overflow": overflow, "agents": [draw(st.sampled_from(ON_SERVERS))], "seed": draw(st.integers(0, 99)),
        "record": ["requests", "samples"],
    }  # fmt: skip


@st.composite
def on_devices(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a scenario of servers with devices, on which movers move."""
    servers = draw(st.integers(2, 4))
    mover = {"agent": {"agent": "fgd"}}
    overflow = draw(
        st.sampled_from(
            ["drop", "wait", {"preempt": {}}, {"make_room": {"moves": 2, "mover": {"agent": {"agent": "fgd"}}}}]
        )
    )
    return {
        "name": "drawn",
        "cluster": {
            "servers": servers,
            "node": SERVER,
            "devices": {"model": "A", "count": 2},
            **({"failures": failures(draw, {"servers": 1})} if draw(st.booleans()) else {}),
        },
        "workload": {
            "arrivals": draw(ARRIVALS),
            "flavours": [
                {"cpu": 1, "mem": 2, "gpu": 0.5},
                {"cpu": 3, "mem": 1, "gpu": 0.3},
                {"cpu": 1, "mem": 5, "gpu": 1},
                {"cpu": 2, "mem": 1, "gpu": 2},
                {"cpu": 5, "mem": 3, "priority": 1},
            ],
            "lifetimes": draw(LIFETIMES),
            "requests": draw(st.integers(20, 60)),
        },
        "rescheduling": {"every": "40 s", "moves": 3, "mover": mover},
        "moves": {"bandwidth": draw(st.sampled_from([None, "1 Gbps"])), "at_once": draw(st.sampled_from([None, 1]))},
        "overflow": overflow,
        "agents": [draw(st.sampled_from(["gpu-random", "worst-fit", "gpu-packing"]))],
        "seed": draw(st.integers(0, 99)),
        "record": ["requests", "samples"],
    }


@st.composite
def on_networks(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a scenario of a network, of requests or of virtual networks; those that come at times may be moved."""
    kind = draw(st.sampled_from(["plain", "plain", "flavours", "hose", "pairs"]))
    topology = draw(st.sampled_from(NETWORKS[: 1 if kind == "hose" else 3]))
    cluster = {
        "network": {"topology": topology},
        "node": {"cpu": 4, "mem": 8},
        **({"failures": failures(draw, {"servers": 8, "links": 8, "switches": 4})} if draw(st.booleans()) else {}),
    }
    requests = draw(st.integers(1, 40))
    workload: dict[str, Any] = {"arrivals": draw(ARRIVALS), "lifetimes": draw(LIFETIMES), "requests": requests}
    if kind == "plain":
        holding = draw(st.sampled_from([3, 10, 100]))
        workload = {"demand": {"uniform": {"high": 6}}, "requests": requests, "holding": holding, "step": "1 s"}
        agent = draw(st.sampled_from(ON_NETWORKS))
    elif kind == "flavours":
        workload["flavours"] = [{"cpu": cpu, "mem": 1} for cpu in (1, 3, 6, 9)]
        agent = draw(st.sampled_from(ON_NETWORKS))
    else:
        machines = {"machines": {"uniform": [2, 9]}, "machine": {"cpu": 1, "mem": 1}, "bandwidth": "200 Mbps"}
        workload |= {"networks": {kind: machines}}
        special = "oktopus" if kind == "hose" else "secondnet" if "fat-tree" in topology else "vm-first-fit"
        agent = draw(st.sampled_from(["vm-first-fit", special]))
    overflow: Any = draw(st.sampled_from(OVERFLOWS[:3] if kind in ("hose", "pairs") else OVERFLOWS))
    moving: dict[str, Any] = {}
    if kind != "plain" and draw(st.booleans()):
        mover = {"agent": {"agent": agent if isinstance(agent, str) else "nulb"}}
        moving["rescheduling"] = {"every": "20 s", "moves": 3, "mover": mover}
        moving["moves"] = {"downtime": draw(st.sampled_from([0, "15 s"])), "at_once": draw(st.sampled_from([None, 1]))}
        if isinstance(overflow, str) and draw(st.booleans()):
            overflow = {"make_room": {"moves": 2, "mover": mover, "then": overflow}}
    return {
        "name": "drawn", "cluster": cluster, "workload": workload, **moving, "overflow": overflow, "agents": [agent],
        "seed": draw(st.integers(0, 99)), "record": ["requests", "samples"],
    }  # fmt: skip


def kept_books(data: dict[str, Any], folder: Path) -> tuple[Books, pl.DataFrame, FinishedRun]:
    """Run a scenario with books beside it; returns them, the samples, and the run."""
    [run] = plan(scenario_from(data))
    books: list[Books] = []
    runs: list[FinishedRun] = []

    def finished(*inputs: Any, **named: Any) -> FinishedRun:
        runs.append(FinishedRun(*inputs, **named))
        return runs[-1]

    class Watched(Simulation):
        def __init__(self, *inputs: Any, **named: Any) -> None:
            if type(inputs[1]) is Ledger:  # a run writes to the arrays of a plain ledger, and does not ask it
                inputs[1].__class__ = type("Asked", (Ledger,), {})
            super().__init__(*inputs, **named)
            books.append(Books(self.ledger, lambda: self.now))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("binwright.agents.world.Simulation", Watched)
        patch.setattr("binwright.scenarios.run.execute.FinishedRun", finished)
        with deciding("python"):
            execute(run, folder)
    return books[0], pl.read_parquet(folder / "details" / f"{run.name}.samples.parquet"), runs[0]


def check(data: dict[str, Any], folder: Path) -> None:
    """Run a scenario, and hold it to the books: what is used when, and what was held over the measured time."""
    books, samples, over = kept_books(data, folder)
    books.check_samples(samples)
    lasts = np.clip(np.append(books.times[1:], np.inf), over.begin, over.finish) - np.clip(
        books.times, over.begin, over.finish
    )
    np.testing.assert_allclose(over.held_until(over.finish), lasts @ np.array(books.totals), rtol=1e-9, atol=1e-3)
    books.close()


@given(on_servers())
@scaled(0.2)
def test_every_node_is_accounted_for(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]) -> None:
    check(data, tmp_path_factory.getbasetemp() / "books")


@pytest.mark.long
@given(on_devices())
def test_every_device_is_accounted_for(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]) -> None:
    check(data, tmp_path_factory.getbasetemp() / "books")


@pytest.mark.long
@given(on_networks())
def test_every_link_is_accounted_for(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]) -> None:
    check(data, tmp_path_factory.getbasetemp() / "books")
