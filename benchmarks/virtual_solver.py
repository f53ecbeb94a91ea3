"""`python -m benchmarks.virtual_solver [NAME...]`: virtual networks placed by the solver, how many and how fast.

The settings of Wrasse (SoCC 2012): tenants arrive one after another and stay. Each answer goes through the ledger,
which checks all of it. Prints Markdown; NAME is a part of a row's name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from time import perf_counter, process_time
from typing import TypeAlias

import numpy as np

from agents import AGENTS
from fabric.cluster import Cluster
from fabric.network import NetworkLedger
from fabric.routing import Routing
from fabric.shapes import fat_tree, tree
from fabric.topology import Topology
from simcore import rng
from simcore.types import QUANTUM, Embedding, Form, Request
from workloads.arrivals import Fixed
from workloads.lifetimes import Fixed as Always
from workloads.virtual import Hose, Networks, Pairs, Sizes, TenantRequests

SECONDNET = {"slots": 16.0, "mem": 8.0, "disk": 1000.0}
MACHINE = {"slots": 1.0, "mem": 0.25, "disk": 10.0}
OKTOPUS = {"slots": 4.0}
TOTAL, EACH = (0.05, 0.15), (0.01, 0.1)
CLIPPED = Sizes(10, 340, 49)
DS = {"DS1, 100": Sizes(100, 100), "DS2, 64 to 128": Sizes(64, 128), "DS2, 64 + Exp(8)": Sizes(1, float("inf"), 8, 64)}

Setting: TypeAlias = tuple[str, Form, Callable[[], Topology], Mapping[str, float], Networks, int]
"""Name, form, topology, server, what tenants ask for, how many of them."""


def ledger_of(topology: Topology, node: Mapping[str, float]) -> NetworkLedger:
    """Make the ledger of an empty cluster of such servers."""
    each = np.array([[round(units * QUANTUM) for units in node.values()]])
    capacity = np.repeat(each[None], topology.servers, axis=0)
    return NetworkLedger(Cluster(tuple(node), capacity, (2**62,) * len(node), each), Routing(topology))


def row(setting: Setting, agent: str) -> None:
    """One run, seed 1."""
    name, form, build, node, networks, count = setting
    topology = build()
    ledger = ledger_of(topology, node)
    ledger.view.virtual = form
    workload = TenantRequests(count, Fixed(1.0), Always(float("inf")), networks).draw(tuple(node), seed=1)
    assert workload.networks is not None
    chosen = AGENTS.load(agent)()
    began = perf_counter()
    chosen.start(ledger.view, rng.stream(1, "agent"))
    start = perf_counter() - began
    placed, until, times, bound, room = 0, -1, [], 0, topology.servers * round(node["slots"])
    for index, network in enumerate(workload.networks):
        request = Request(index, 0.0, 1.0, tuple(network.machines.sum(axis=0).tolist()), False, 0, network)
        began, busy = perf_counter(), process_time()
        answer = chosen.decide(ledger.view, request)
        times.append((perf_counter() - began, process_time() - busy))
        if isinstance(answer, Embedding):
            ledger.apply(request, answer)
            placed += 1
        elif until < 0:
            until = index
        room -= len(network)
        bound += room >= 0
    ledger.check()
    mean, most = 1000 * np.mean(times[1:], axis=0), 1000 * np.max(times[1:], axis=0)
    print(
        f"| {name} | {agent} | {topology.servers:,} | {count} | {bound} | {until if until >= 0 else placed} | {placed} "
        f"| {mean[0]:.2f} | {most[0]:.1f} | {mean[1]:.2f} | {most[1]:.1f} | {start + times[0][0]:.1f} |",
        flush=True,
    )


def settings() -> Iterator[Setting]:
    """All of them."""
    for k in (16, 40, 74):
        for name, sizes in DS.items() if k == 16 else [("DS1, 100", DS["DS1, 100"])]:
            yield name, "pairs", partial(fat_tree, k), SECONDNET, Pairs(sizes, MACHINE, TOTAL), 300
    for fanouts in ((40, 5, 5), (40, 40, 10), (40, 40, 63)):
        build = partial(tree, fanouts, (1, 1, 1))
        yield "virtual clusters", "hose", build, OKTOPUS, Hose(CLIPPED, {"slots": 1.0}, EACH), 300


def main(names: list[str]) -> None:
    """All rows, or those that are named."""
    print(f"Load when it began: {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores.\n")
    print(
        "| | agent | servers | requests | slots allow | placed until the first refusal | placed | ms, mean | max "
        "| of processor time, mean | max | s until the first answer |\n" + 12 * "| --- " + "|"
    )
    for agent in [name for name in ("solver", "secondnet", "oktopus") if name in AGENTS]:
        kind = AGENTS.load(agent)
        for setting in settings():
            if setting[1] in kind.embeds and all(part in f"{agent} {setting[0]}" for part in names):
                row(setting, agent)


if __name__ == "__main__":
    main(sys.argv[1:])
