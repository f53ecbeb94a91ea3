"""`python -m benchmarks.own [--servers N ...] [--page FILE]`: one rule as a cost, by hand, and in plain Python.

Best-Fit on servers of two nodes of 40 cores and 90 GB, each node free to a random extent; requests of the commonest
sizes of Huawei-East-1 that go to one node. Four ways to write the rule answer the same requests, and must answer alike.
Prints, in Markdown, microseconds of CPU of a decision, or writes the page.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agents import AGENTS
from benchmarks.cells import cluster_of
from benchmarks.cvd import markdown
from benchmarks.decisions import SIZES
from fabric.ledger import Ledger
from simcore.jit import kernel, prepared
from simcore.types import QUANTUM, Agent, Amounts, Ints

PAGE = Path(__file__).parents[1] / "docs/experiments/own.md"
SERVERS = [10, 50, 500, 5000]
TURNS, TIMED = 5, 0.5
"""Turns of each way, and about how many seconds one of them takes."""
TEXT = """# What a rule costs that is written as a cost, by hand, or in plain Python

How much does it matter [in which way](../guides/my-agent.md) a rule is written? `python -m benchmarks.own --page`
measured it and wrote this page, on one core of {cores}, load {load:.1f} when it began. The rule is Best-Fit, on servers
of two nodes of 40 cores and 90 GB, each free to a random extent; the requests are of the commonest sizes of
Huawei-East-1, as far as they go to one node. Microseconds of CPU of a decision by a scan over all servers, the least of
{turns} turns; all ways gave the same answers.

{table}

The cost is the function that `@cheapest` compiles, "by hand" two loops that numba compiles. In plain Python there are
the same two loops in `decide`, or the whole arrays are handed to numpy. Runs of a cost need no Python between
decisions either, and look only at servers that changed [where there are many](decisions.md).
"""


@kernel
def by_hand(free: Ints, demand: Amounts) -> int:
    """Find the server with the least CPU left, and its node with the least: their code, -1 if the request fits nowhere.

    The code is twice the server's number, and 1 more for its second node.
    """
    code, least, least_node = -1, 0, 0
    for server in range(free.shape[0]):
        left = free[server, 0, 0] + free[server, 1, 0]
        if code >= 0 and left > least:
            continue
        for node in range(2):
            fits = free[server, node, 0] >= demand[0] and free[server, node, 1] >= demand[1]
            of_node = free[server, node, 0]
            if fits and (code < 0 or left < least or (code // 2 == server and of_node < least_node)):
                code, least, least_node = 2 * server + node, left, of_node
    return code


def in_python(free: Ints, demand: Amounts) -> int:
    """Do the same in Python's own loops."""
    code, least = -1, None
    for server in range(len(free)):
        left = sum(int(free[server, node, 0]) for node in range(2))
        for node in range(2):
            if all(free[server, node, resource] >= amount for resource, amount in enumerate(demand)):
                cost = left, int(free[server, node, 0])
                if least is None or cost < least:
                    code, least = 2 * server + node, cost
    return code


def by_numpy(free: Ints, demand: Amounts) -> int:
    """Do the same with whole arrays."""
    fits: npt.NDArray[np.bool_] = np.all(free >= np.array(demand), axis=2)
    most = np.iinfo(np.int64).max
    server = int(np.where(fits.any(axis=1), free[:, :, 0].sum(axis=1), most).argmin())
    return 2 * server + int(np.where(fits[server], free[server, :, 0], most).argmin()) if fits[server].any() else -1


def ways(free: Ints, capacity: Ints, agent: Agent) -> dict[str, Callable[[Amounts], int]]:
    """Prepare each way to answer a demand on these servers."""
    rule = agent.compiled
    assert rule
    scan = prepared(rule.scan, free, capacity, (1, 1), False, *rule.weights)
    hand = prepared(by_hand, free, (1, 1))
    return {
        "a cost": lambda demand: scan(free, capacity, demand, False, *rule.weights),
        "by hand": lambda demand: hand(free, demand),
        "numpy in Python": lambda demand: by_numpy(free, demand),
        "loops in Python": lambda demand: in_python(free, demand),
    }


def timed(servers: int) -> dict[str, float]:
    """Measure the microseconds of a decision in each way."""
    rng = np.random.default_rng(servers)
    ledger = Ledger(cluster_of(servers))
    free = rng.integers(0, 41, (servers, 2, 1)) * np.array([1, 2]) + rng.integers(0, 11, (servers, 2, 2))
    free = np.minimum(free * QUANTUM, ledger.view.capacity)
    agent: Agent = AGENTS.load("best-fit")()
    agent.start(ledger.view, rng)
    sizes = [size for size in SIZES if size[1] <= 10]
    chances = np.array([size[2] for size in sizes]) / sum(size[2] for size in sizes)
    demands = [(sizes[k][0] * QUANTUM, sizes[k][1] * QUANTUM) for k in rng.choice(len(sizes), 1000, p=chances)]
    found: dict[str, float] = {}
    answers: dict[str, list[int]] = {}
    for name, answer in ways(free, ledger.view.capacity, agent).items():
        answers[name] = [answer(demand) for demand in demands[:20]]
        began = time.thread_time()
        answer(demands[0])
        count = int(np.clip(TIMED / TURNS / max(time.thread_time() - began, 1e-7), 3, 20_000))
        turns = []
        for _ in range(TURNS):
            began = time.thread_time()
            for number in range(count):
                answer(demands[number % len(demands)])
            turns.append((time.thread_time() - began) / count * 1e6)
        found[name] = min(turns)
    if any(one != answers["by hand"] for one in answers.values()):
        raise AssertionError("the ways answer differently")
    return found


def table(servers: list[int]) -> str:
    """Measure, and write a table in Markdown."""
    each = [timed(count) for count in servers]
    rows = [["Best-Fit as", *(f"{count:,} servers" for count in servers), f"times, at {servers[-1]:,}"]]
    for name in each[0]:
        cells = [f"{one[name]:.2f}" if one[name] < 100 else f"{one[name]:,.0f}" for one in each]
        times = each[-1][name] / each[-1]["a cost"]
        rows.append([name, *cells, f"{times:.2g}" if times < 10 else f"{times:,.0f}"])
    return markdown(rows)


def main() -> None:
    """Print a table, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, nargs="*", default=SERVERS)
    parser.add_argument("--page", type=Path, nargs="?", const=PAGE)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    found = table(options.servers)
    if options.page:
        options.page.write_text(TEXT.format(cores=os.cpu_count(), load=load, turns=TURNS, table=found), "utf-8")
    print(found)


if __name__ == "__main__":
    main()
