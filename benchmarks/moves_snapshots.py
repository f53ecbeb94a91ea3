"""Measures movers on snapshots of clusters in use: how far each lowers the rate of fragments, with how many moves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.moves_bound import best
from binwright.agents.heuristics.movers.defragment import Defragment
from binwright.agents.learned.vmr.agent import Vmr
from binwright.agents.learned.vmr.trainer import snapshots
from binwright.agents.rules.moving import Standing, apply, fits, fragment_rate, standing
from binwright.scenarios.build.world import build_learning
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.files import replacing
from binwright.simcore.moves import Move, Mover, Running
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, View

SIZE = 16
LIMITS = (5, 10, 25, 50)
OPTIMUM = "the best possible (CP-SAT)"


class Case(NamedTuple):
    """Says whose snapshots are looked at: a shipped scenario with changes, and how many seeds.

    With `bound` CP-SAT says what is possible; `own` are weights of vmr that learned on such requests.
    """

    title: str
    scenario: str
    changes: tuple[str, ...]
    seeds: int
    bound: bool = False
    own: str | None = None


def of_servers(servers: int, every: float, requests: int) -> tuple[str, ...]:
    """Return the changes that make moves/vmr another size."""
    times = f"workload.arrivals={{poisson: {{every: {every} s}}}}"
    return (f"cluster.servers={servers}", f"workload.requests={requests}", times)


CASES = {
    "small": Case("24 servers", "moves/vmr", of_servers(24, 60, 900), 12, bound=True),
    "medium": Case("280 servers", "moves/vmr", (), 8),
    "large": Case("1,000 servers", "moves/vmr", of_servers(1000, 1.43, 28000), 3),
    "huawei": Case("The Huawei trace, 60 servers", "lifetimes/huawei", ("sweep=null",), 8, own="huawei-60"),
}
OWN = "vmr, learned on this trace"
MOVERS: dict[str, Callable[[], Mover]] = {
    "greedy, single moves": lambda: Defragment(size=SIZE, together=1),
    "greedy, groups of up to 4": lambda: Defragment(size=SIZE),
    "vmr": lambda: Vmr(size=SIZE),
    "vmr and 8 samples": lambda: Vmr(size=SIZE, samples=8),
    "control: vmr, untrained": lambda: Vmr("untrained", size=SIZE),
    "control: at random": lambda: Vmr("random", size=SIZE),
}


def applied(view: View, running: Running, plan: list[Move]) -> Any:
    """Make the moves and return what is free then; asserts that each fits beside its old place."""
    now, nodes = standing(view, running), view.free.shape[1]
    rows = {row: which for which, row in enumerate(running.row.tolist())}
    for row, placement in plan:
        place = placement.shares[0][0] * nodes + (0 if len(placement.shares) > 1 else placement.shares[0][1])
        which, node = rows[row], place % nodes
        kind = now.kind[which]
        assert place != now.place[which]
        assert fits(now.free[place // nodes], now.demands[kind], now.spread[kind], node)
        apply(now, which, place)
    return now.free


def movers_of(case: Case) -> dict[str, Callable[[], Mover]]:
    """Return the movers that are measured in a case."""
    found = dict(MOVERS)
    if case.own:
        found[OWN] = partial(Vmr, case.own, size=SIZE)
    return found


def rows_of(case: Case) -> Iterator[dict[str, Any]]:
    """Yield what became of the snapshot of every seed, by mover and limit."""
    world = build_learning(load_scenario(case.scenario, list(case.changes)))
    for seed in range(case.seeds):
        for view, running in snapshots(world, seed, "best-fit", 1):
            size = SIZE * QUANTUM
            before = fragment_rate(view.free, size)
            common = {"seed": seed, "before": before, "requests": len(running.row), "servers": len(view.free)}
            for name, make in movers_of(case).items():
                mover = make()
                mover.start(view, stream(seed, "mover"))
                mover.plan(view, running, 1)  # compiles
                for limit in LIMITS:
                    mover.start(view, stream(seed, "mover"))
                    began = process_time()
                    plan = list(mover.plan(view, running, limit))
                    seconds = process_time() - began
                    assert len(plan) <= limit
                    after = fragment_rate(applied(view, running, plan), size)
                    yield {**common, "mover": name, "limit": limit, "after": after, "moves": len(plan)} | {
                        "seconds": seconds
                    }
            for limit in LIMITS if case.bound else ():
                yield {**common, "mover": OPTIMUM, "limit": limit, **_bound(standing(view, running), limit)}


def _bound(now: Standing, limit: int) -> dict[str, Any]:
    began = process_time()
    found = best(now, SIZE * QUANTUM, limit)
    after = found.lost / int(now.free[:, :, 0].sum())
    return {"after": after, "moves": limit, "seconds": process_time() - began, "proved": found.proved}


def measured(out: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every case; what is in the folder `out` is not measured again."""
    found = {}
    for name, case in CASES.items():
        file = out / f"snapshots-{name}.json"
        if not file.exists():
            out.mkdir(parents=True, exist_ok=True)
            rows = list(rows_of(case))
            with replacing(file) as unfinished:
                unfinished.write_text(json.dumps(rows), "utf-8")
            print(f"{case.title}: {len(rows)} plans, into {file}", flush=True)
        found[name] = json.loads(file.read_text("utf-8"))
    return found


def falls(rows: list[dict[str, Any]], mover: str, limit: int) -> Any:
    """Return by how much the rate of fragments fell in every snapshot, float64 [seeds]."""
    return np.array([row["before"] - row["after"] for row in rows if (row["mover"], row["limit"]) == (mover, limit)])
