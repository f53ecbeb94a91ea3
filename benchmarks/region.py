"""A region of a million servers: python -m benchmarks.region [--page | --cells] [--servers N] [--turns N].

Runs of growing length are played, each in a process of its own; what a month of a hundred million requests will take
is computed from two of them, and for one agent longer runs, up to that month, check how good that is. The same is
played in cells, in one thread and in two; `--cells` does only that. What a GPU could step is computed from what the
arrays of episodes hold. `--page` writes docs/experiments/region.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from functools import partial
from itertools import count
from math import log2
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.cvd import markdown

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/experiments/region.md"
SERVERS, CELLS, MONTH = 1_000_000, 4, 100_000_000
SHORT, LONG, CHECK = 1_000_000, 4_000_000, 10_000_000
"""Requests of the two runs that predictions are made from, and of the one that they are checked with."""
AGENTS = ("first-fit", "best-fit")
PARTS = ("draw", "play", "samples", "metrics")
H200_BYTES, H200_BANDWIDTH, SECTOR = 141e9, 4.8e12, 32
"""An H200's memory and bandwidth, as NVIDIA's data sheet has them, and the bytes of the least that it reads."""
SIZES = ((1, 2, 45), (2, 4, 25), (4, 8, 15), (8, 16, 8), (16, 32, 4), (32, 64, 2), (64, 128, 1))
"""cpu, GB of memory and weight of the flavours."""


def data(agent: str, servers: int, requests: int, cells: int, window: float) -> dict[str, Any]:
    """Write the scenario: a request every 25 ms, which stay 2 hours in the median, and 15 on average."""
    cluster: dict[str, Any] = {"servers": servers, "nodes": 2, "node": {"cpu": 40, "mem": "90 GB"}}
    cluster["spread_above"] = {"mem": "10 GB"}
    if cells:
        cluster["cells"] = {"count": cells, "window": window}
    return {
        "name": "region",
        "cluster": cluster,
        "workload": {
            "requests": requests,
            "arrivals": {"poisson": {"every": "25 ms"}},
            "flavours": [{"cpu": cpu, "mem": f"{mem} GB", "weight": weight} for cpu, mem, weight in SIZES],
            "lifetimes": {"lognormal": {"median": "2 h", "sigma": 2}},
        },
        "overflow": "drop",
        "agents": [agent],
    }


def played(agent_name: str, servers: int, requests: int, cells: int, window: float) -> dict[str, float]:
    """Play a run in this process; returns seconds of its parts, and what it left behind.

    They are seconds of CPU of this process, but for `wall`: by the clock, from when all is ready.
    """
    from analysis.measure.finished_run import FinishedRun
    from analysis.measure.measuring import measure
    from analysis.measure.samples import Sampler
    from scenarios.build.engines import agents_of
    from scenarios.build.plan import plan
    from scenarios.build.world import build_world
    from scenarios.run.execute import prepare_run
    from scenarios.schema.load import scenario_from
    from simcore.memmap import in_files, release_pages
    from simcore.rng import stream

    with TemporaryDirectory() as folder, in_files(Path(folder)):
        (run,) = plan(scenario_from(data(agent_name, servers, requests, cells, window)))
        world, found = build_world(run.scenario), dict.fromkeys((*PARTS, "memory MB"), 0.0)
        began = process_time()
        world.draw(run.seed)
        found["draw"] = process_time() - began
        agent, _ = agents_of(run, world)
        simulation, ledger, play_on = prepare_run(run, world, None, True)
        agent.start(simulation.view, stream(run.seed, "agent"))
        sampler = Sampler(simulation, ledger)
        looks = count()

        def look() -> int:
            before = process_time()
            given = sampler()
            found["samples"] += process_time() - before
            found["memory MB"] = max(found["memory MB"], in_memory())
            next(looks)
            return given

        look(), play_on(simulation, agent, partial(next, iter([0])))  # compiled
        began, before, starts = process_time(), found["samples"], list[float]()

        def watch() -> int:
            if not starts:
                starts.append(perf_counter())
            release_pages(here_and_there=True)
            return look()

        play_on(simulation, agent, watch)
        found["wall"] = perf_counter() - starts[0]
        found["play"] = process_time() - began - (found["samples"] - before)
        began = process_time()
        over = FinishedRun(simulation, 0, sampler.columns(), 0, prices={})
        found["allocated"] = measure(over)["allocation_cpu_end"]
        found["metrics"] = process_time() - began
        found["memory MB"] = max(found["memory MB"], in_memory())
        found["looks"] = next(looks)
        return found


def in_memory() -> float:
    """Count the megabytes of this process that are in memory and in no file, from where they could be read again."""
    status = Path("/proc/self/status").read_text(encoding="ascii").split()
    return int(status[status.index("RssAnon:") + 1]) / 1000


def apart(threads: int, *asked: Any) -> dict[str, float]:
    """Play a run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.region", "--one", json.dumps(asked)]
    environment = {**os.environ, "BINWRIGHT_THREADS": str(threads)}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def at(requests: int, short: float, long: float) -> float:
    """Predict from what runs of SHORT and of LONG requests took."""
    return short + (long - short) / (LONG - SHORT) * (requests - SHORT)


def lengths(servers: int) -> str:
    """Play runs of growing length, predict, check, and write the table."""
    rows = [["agent", "requests", *(f"{part}, s" for part in PARTS), "in all, s", "memory, GB", "cpu held"]]
    for agent in AGENTS:
        runs = {requests: apart(1, agent, servers, requests, 0, 0.0) for requests in (SHORT, LONG)}
        if agent == AGENTS[-1]:
            runs |= {requests: apart(1, agent, servers, requests, 0, 0.0) for requests in (CHECK, MONTH)}
        for requests, each in runs.items():
            rows.append([f"`{agent}`", f"{requests:,} measured", *_cells(each)])
        for requests in (CHECK, MONTH):
            guess = {name: at(requests, runs[SHORT][name], runs[LONG][name]) for name in PARTS}
            # What is held grows slower and slower, and the columns of short runs lie in memory.
            guess["allocated"] = guess["memory MB"] = np.nan
            rows.append([f"`{agent}`", f"{requests:,} predicted", *_cells(guess)])
    longest, rest = max(runs), runs[max(runs)]["memory MB"] - runs[SHORT]["memory MB"]
    note = (
        f"Up to {longest:,} requests, the memory of `{AGENTS[-1]}` grows by {rest * 1e6 / (longest - SHORT):.1f} bytes"
    )
    return f"{markdown(rows)}\n\n{note} with each."


def _cells(each: dict[str, float]) -> list[str]:
    total = sum(each[part] for part in PARTS)
    last = f"{each['memory MB'] / 1000:.2f}", f"{each['allocated']:.1%}"
    return [*(f"{each[part]:,.1f}" for part in PARTS), f"{total:,.0f}", *(last if each["allocated"] >= 0 else ("", ""))]


def in_cells(servers: int, turns: int) -> str:
    """Play the same run in cells, in one thread and in two in turn, and write the table."""
    rows = [["window", "one thread, s", "two threads, s", "times as fast"]]
    for window in (60.0, 600.0):
        took: dict[int, list[float]] = {1: [], 2: []}
        ends = set()
        for _ in range(turns):
            for threads, walls in took.items():
                run = apart(threads, AGENTS[-1], servers, SHORT, CELLS, window)
                walls.append(run["wall"] - run["samples"])
                ends.add(run["allocated"])
        if len(ends) != 1:
            raise AssertionError("the number of threads changed a result")
        ratios = [one / two for one, two in zip(*took.values(), strict=True)]
        row = [f"{window:.0f} s", *(f"{median(walls):.1f}" for walls in took.values())]
        rows.append([*row, f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"])
    return markdown(rows)


def on_a_gpu() -> str:
    """Count what a step of the quickstart's episodes reads and writes, and what follows for this core and an H200."""
    import gymnasium

    together = 64
    options: dict[str, Any] = {"scenario": "quickstart", "overrides": [], "in_place": True}
    env: Any = gymnasium.make_vec("binwright.environments:binwright/Numa-v0", together, **options)
    seen, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    actions = []
    for _ in range(3000):
        mask = seen["mask"]
        actions.append(np.argmax(rng.random(mask.shape, np.float32) * mask, axis=1))
        seen = env.step(actions[-1])[0]
    env.reset(seed=0)
    began = process_time()
    for action in actions:
        env.step(action)
    rate = len(actions) * together / (process_time() - began)
    places, resources, running, held = 20, 2, 60, 5000
    shown = places + 4 * (resources + 1)
    sectors = {
        "what is free, all places, for the mask": -(-places * resources * 8 // SECTOR),
        "the request: arrival, duration, demand, what is seen of it, reward, spread, row": 7,
        "what is written of the answer: outcome, server, node, time": 4,
        "mask and request, as they are seen": -(-shown // SECTOR),
        "the node that changes, and how it is seen": 2,
        f"one push and one pop of the heap of {running} ends: two arrays": 2 * 2 * round(log2(running)),
        "counters and clock": 3,
    }
    total = sum(sectors.values()) * SECTOR
    state = held * (2 * 8 + 8 * resources + 1 + 4 * (resources + 1) + 8 + 8 + 16 + 14) + places * resources * 12
    block = np.zeros(2**25)
    other = np.empty_like(block)
    other[:] = block
    began = process_time()
    for _ in range(4):
        other[:] = block
    core = 4 * 2 * block.nbytes / (process_time() - began)
    share = rate * total / core
    rows = [["of a step", f"sectors of {SECTOR} bytes"], *([name, str(number)] for name, number in sectors.items())]
    return TEXT_GPU.format(
        table=markdown([*rows, ["in all", f"{sum(sectors.values())}: {total:,} bytes"]]),
        **{"core": core / 1e9, "rate": rate / 1e6, "bound": core / total / 1e6, "share": share, "state": state / 1e3},
        **{"episodes": H200_BYTES / state, "memory": H200_BYTES / 1e9, "bandwidth": H200_BANDWIDTH / 1e12},
        **{"most": H200_BANDWIDTH / total / 1e9, "likely": H200_BANDWIDTH / total * min(1, share) / 1e9},
        **{"cores": H200_BANDWIDTH / total * min(1, share) / rate, "together": together, "held": held},
    )


TEXT_GPU = """{table}

- An H200 reads and writes {bandwidth:.1f} TB/s, so it takes at most {most:.1f} billion steps a second.
- Checked on this core, which copies {core:.1f} GB/s: the same arithmetic says at most {bound:.0f} million steps a
  second, and {rate:.2f} million were measured, {together} episodes together. It uses {share:.1%} of the bandwidth; the
  rest is comparing, and waiting for what depends on what was read before.
- A GPU hides waiting by having many episodes under way. If it came no nearer to its bandwidth than this core does, it
  would take {likely:.2f} billion steps a second, as {cores:,.0f} such cores do. The truth lies between the two.
- An episode of {held:,} requests holds {state:,.0f} kB, most of it the requests, so that {memory:.0f} GB hold
  {episodes:,.0f} episodes: many more than there are threads at a time.
"""
TEXT = """# A region of a million servers

What do a month of {month:,} requests on {servers:,} servers, and stepping episodes on a GPU, take?
`python -m benchmarks.region --page` measured what is called measured, computed the rest, and wrote this page, on
{cores} cores, load {load:.1f} when it began: others were using them.

## One run

Servers have two nodes of 40 cores and 90 GB; every 25 ms there is a request of 1 to 64 cores, which stays for 2 hours
in the median and 15 on average. Seconds are of CPU, each run in a process of its own: *draw* makes the requests, *play*
decides about them and applies it, *samples* are looks at the cluster (a few hundred to a thousand), *metrics* are
computed afterwards. Predictions take what {short:,} and {long:,} requests took, and go on along the straight line:
what does not depend on the number, plus so much for each request. The measured {check:,} and {month:,} check that.

{lengths}

*memory* is what the process has in memory and could not read again from a file, looked at after every sample. A
request and what became of it are 67 bytes, which lie in files of the results' folder where they are many: the system
keeps of them in memory what it has room for. Metrics, refusals and details are computed block by block.

*cpu held* is the share of the cores that are held at the end: little, as in a region that has just begun. The slope of
a decision grows slowly, since the heap of ends becomes deeper and what is looked at leaves the processor's caches: a
straight line is a lower bound for time.

## In cells

The same {short:,} requests in {cells} [cells](../guides/engine.md#cells), `best-fit` and the router `least-loaded`;
seconds by the clock without the samples, the median of {turns} turns, which had one thread and two in turn. The results
are the same. Others used the {cores} cores, too, so this shows no more than that cells go on side by side.

{in_cells}

One thread routes and takes samples between windows, so cells pay where windows have many requests.

## Episodes on an H200

Nothing of this was run on one, and no kernel here steps episodes on a GPU. A step of the quickstart's episodes (10
servers of two nodes) touches what follows, from the arrays in `fabric/compiled/numa_episodes.py`; a GPU reads and
writes whole sectors.

{gpu}"""


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=SERVERS)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--cells", action="store_true", help="print the table of runs in cells only")
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(played(*options.one)))
        return
    if options.cells:
        print(in_cells(options.servers, options.turns))
        return
    given = {"load": os.getloadavg()[0], "cores": os.cpu_count(), "month": MONTH, "servers": options.servers}
    given |= {"short": SHORT, "long": LONG, "check": CHECK, "cells": CELLS, "turns": options.turns}
    gpu, cells = on_a_gpu(), in_cells(options.servers, options.turns)
    text = TEXT.format(**given, gpu=gpu, in_cells=cells, lengths=lengths(options.servers))
    print(text)
    if options.page:
        PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
