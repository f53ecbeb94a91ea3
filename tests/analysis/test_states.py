"""What `record: [states]` keeps: held to the requests that the same run placed, and to the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import binwright as bw
from agents import AGENTS
from analysis.samples import KEPT, Sampler
from analysis.states import StateSampler
from fabric.cluster import NEVER, Cluster
from fabric.network import NetworkLedger
from fabric.presets import topology
from fabric.routing import Routing
from simcore.engine import Simulation, play
from simcore.rng import stream
from simcore.rules import Pacing
from simcore.vocabulary import QUANTUM
from workloads.demands import Uniform
from workloads.multiserver import MultiServer

BASE: dict[str, Any] = {
    "cluster": {"servers": 4, "nodes": 2, "node": {"cpu": 8, "mem": "16 GB"}, "spread_above": {"mem": "6 GB"}},
    "workload": {
        "requests": 400,
        "arrivals": {"poisson": {"every": "10 s"}},
        "flavours": [{"cpu": 1, "mem": "2 GB"}, {"cpu": 4, "mem": "8 GB"}],
        "lifetimes": {"exponential": {"mean": "5 min"}},
    },
    "agents": ["best-fit"],
    "record": ["requests", "states"],
}


def states_of(tmp_path: Path, **changes: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The requests and states of the only run of the scenario with these changes."""
    results = bw.run(bw.scenario(BASE | changes), out=tmp_path / "results" / "x")
    run = results.done["run"].item()
    return results.requests(run), results.states(run)


def test_servers_hold_what_requests_were_placed_on_them(tmp_path: Path) -> None:
    requests, states = states_of(tmp_path)
    assert KEPT / 2 <= len(states) <= KEPT + 1
    assert states["time"].is_sorted()
    installed = {"cpu": 16.0, "mem": 32.0}
    assert states.row(0)[:4] == (0, 0, 0, 0)
    for row in states[1:].iter_rows(named=True):
        held = requests.filter(pl.col("decided") <= row["time"], pl.col("end") > row["time"])
        for name, capacity in installed.items():
            used = [held.filter(pl.col("server") == server)[name].to_numpy().sum() / capacity for server in range(4)]
            np.testing.assert_allclose(row[f"used_{name}"], used, atol=1e-6)
        seen = requests.filter(pl.col("arrival") <= row["time"])
        assert row["offered"] == len(seen)
        assert row["accepted"] == len(seen.filter(pl.col("outcome") == "placed"))
    assert "links" not in states.columns


def test_servers_out_of_service_are_null_and_new_ones_are_added(tmp_path: Path) -> None:
    failures = {"scheduled": [{"server": 1, "at": "1000 s", "repair_after": "1000 s"}]}
    expansion = [{"at": "3000 s", "by": 2}]
    _, states = states_of(tmp_path, cluster=BASE["cluster"] | {"failures": failures, "expansion": expansion})
    for time, used in states.select("time", "used_cpu").rows():
        assert len(used) == (4 if time < 3000 else 6)
        assert [server for server, share in enumerate(used) if share is None] == ([1] if 1000 <= time < 2000 else [])


def test_requests_of_the_warm_start_are_not_counted(tmp_path: Path) -> None:
    warm = {"resource": "cpu", "until": "50 %", "with": "best-fit"}
    requests, states = states_of(tmp_path, warm_start=warm)
    assert states["offered"][0] == 0
    assert sum(states["used_cpu"][0]) / 4 >= 0.5
    assert states["offered"][-1] == len(requests.filter(~pl.col("warm")))


def test_a_resource_that_a_server_lacks_is_not_used(tmp_path: Path) -> None:
    groups = [{"count": 1, "node": {"cpu": 8, "gpu": 2}}, {"count": 1, "node": {"cpu": 8}}]
    workload = BASE["workload"] | {"flavours": [{"cpu": 1, "gpu": 1}]}
    _, states = states_of(tmp_path, cluster={"groups": groups}, workload=workload)
    assert {used[1] for used in states["used_gpu"].to_list()} == {0.0}
    assert max(used[0] for used in states["used_gpu"].to_list()) == 1.0


def test_links_say_what_is_reserved_and_which_are_out_of_service() -> None:
    routing = Routing(topology("alpha"))
    capacity = np.full((40, 1, 2), 10 * QUANTUM, np.int64)
    ledger = NetworkLedger(Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0]), routing)
    simulation = Simulation(
        MultiServer(300, Uniform(), 31).draw(("cpu", "mem"), 0), ledger, pacing=Pacing(1.0, await_room=True)
    )
    agent = AGENTS.load("tetris")()
    agent.start(simulation.view, stream(0, "agent"))
    seen: dict[float, tuple[set[int], Any]] = {}
    states = StateSampler(Sampler(simulation, ledger), simulation, 0)
    switch = 4  # the first above the racks
    cut = set(np.flatnonzero((routing.topology.link_ends == switch).any(axis=1)).tolist())
    out: set[int] = set()

    def watch() -> int:
        nonlocal out
        if len(simulation.record.sequence) == 60:
            simulation.fail(7, "link")
            simulation.fail(switch, "switch")
            out = {7} | cut
        if len(simulation.record.sequence) == 90:
            simulation.repair(switch, "switch")
            out = {7}
        seen[simulation.now] = out, 1 - ledger.view.link_free / ledger.view.link_capacity
        states()
        return 1

    play(simulation, agent, watch)
    rows = states.frame().select("time", "links").rows()
    assert len(rows) > KEPT / 2
    assert max(max(filter(None, links), default=0) for _, links in rows) > 0.1
    for time, links in rows[1:]:  # the first two are of one time: before the first decision, and after it
        out, share = seen[time]
        assert {link for link, used in enumerate(links) if used is None} == out
        np.testing.assert_allclose([share[link] if used is None else used for link, used in enumerate(links)], share)


def test_it_is_kept_only_when_asked_for(tmp_path: Path) -> None:
    results = bw.run(bw.scenario(BASE | {"record": []}), out=tmp_path / "results" / "x")
    with pytest.raises(bw.UserError, match=r"record: \[states\]"):
        results.states(results.runs["run"][0])


def test_it_changes_no_other_number(tmp_path: Path) -> None:
    rows = [
        bw.run(bw.scenario(BASE | {"record": record}), out=tmp_path / "results" / name).runs.drop(
            "run", "seconds", "decision_us"
        )
        for name, record in (("with", ["samples", "states"]), ("without", []))
    ]
    assert rows[0].equals(rows[1])
