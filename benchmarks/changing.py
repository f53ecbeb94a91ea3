"""`python -m benchmarks.changing [--servers N ...] [--agents NAMES] [--page FILE]`: a decision where servers change.

Servers of two nodes of 40 cores and 90 GB, each node free to a random extent. Requests of the six commonest sizes of
Huawei-East-1 come and take their place, and for each one somebody leaves a random server. The same requests are
answered by the scan over all servers and by the form of the rule that looks only at what changed, in turns. Prints, in
Markdown, microseconds of CPU of a decision, or writes the page.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from agents import AGENTS
from benchmarks.cvd import markdown
from benchmarks.decisions import SIZES
from benchmarks.value import cluster_of
from fabric.changes import log_of
from fabric.compiled.numa_loop import as_argument, demand_of, move
from fabric.ledger import Ledger
from fabric.standings import KEPT, standings
from simcore.jit import kernel, prepared
from simcore.record import SPREAD
from simcore.vocabulary import QUANTUM, Agent, Amounts, Compiled, Floats, Ints

PAGE = Path(__file__).parents[1] / "docs/experiments/decisions.md"
RULES = "first-fit,best-fit,worst-fit,balance-fit,dot-product,internal,value-es,hindsight"
SERVERS = [50, 500, 5000, 50_000, 1_000_000]
WARM, MOST, LEAST, TURNS = 1000, 50_000, 12, 3
"""Decisions before the clock starts; decisions that are timed, at most and at least; turns of each form."""
SERVERS_TIMES = 20_000_000
"""So many servers the scan looks at in a turn, where there is time for it."""
TEXT = """# A decision at fifty servers and at a million

What does a decision cost where there are many servers? `python -m benchmarks.changing --page` measured it and wrote
this page, on one core of {cores}, load {load:.1f} when it began. Servers have two nodes of 40 cores and 90 GB, each
free to a random extent; requests of the six commonest sizes of Huawei-East-1 take their place, and for each one
somebody leaves a random server. Microseconds of CPU of a decision, the least of {turns} turns, less what it takes to
apply it.
The scan looks at all servers; the other form looks at those that changed since the demand was last asked for
([how](../developers/compiled-runs.md#what-changed)). Both had the same requests, in turns, and gave the same answers.
The last column compares the most servers with the fewest, each in the form that runs take there.

{table}

The first two decisions for a demand look at all servers in either form, and are not in the times. Every demand that is
kept looks at every change: with twice as many kinds of demands a decision takes up to twice as long. At most {kept}
demands are kept, in 3 bytes a server each; one more takes the place of the one that was not asked for for the longest
time.
`padrl` and `sched-rl` see the whole cluster, and `cvd-rl` and `random-top` choose among the best few: they scan.
"""


class Requests(NamedTuple):
    """Holds what comes and goes: `demand` int64 [n, 2], `spread` bool [n], and the node that is left, int64 [n]."""

    demand: Ints
    spread: npt.NDArray[np.bool_]
    leaving: Ints
    nothing: Amounts


@kernel
def decide(
    rule: Any, weights: Any, free: Ints, capacity: Ints, log: Ints, asked: Requests, first: int, codes: Ints
) -> None:
    """Answer requests from the `first` on into `codes` int64 [any], and apply them; changes `free` and `log`."""
    servers = len(free)
    for i in range(len(codes)):
        demand, spread = demand_of(asked.demand, first + i, asked.nothing), asked.spread[first + i]
        code = rule(free, capacity, demand, spread, *weights)
        codes[i] = code
        if code < 0:
            continue
        move(free, free, log, demand, code // 2, SPREAD if spread else code % 2, -1)
        server, node = asked.leaving[first + i] // 2, asked.leaving[first + i] % 2
        for _ in range(50):  # whoever is first to have held as much
            fits = True
            for r in range(2):
                part = (demand[r] + 1) // 2 if spread else demand[r]
                fits &= free[server, node, r] + part <= capacity[server, node, r]
                fits &= not spread or free[server, 1 - node, r] + part <= capacity[server, 1 - node, r]
            if fits:
                move(free, free, log, demand, server, SPREAD if spread else node, 1)
                break
            server = (server + 1) % servers


def drawn(servers: int, count: int) -> tuple[Ints, Ints, Requests]:
    """Draw what is free, and requests; returns the capacity, too."""
    rng = np.random.default_rng(servers)
    capacity = np.ascontiguousarray(cluster_of(servers).capacity)
    free = rng.integers(0, 41, (servers, 2, 1)) * np.array([1, 2]) + rng.integers(0, 11, (servers, 2, 2))
    chosen = rng.choice(len(SIZES), count, p=[size[2] for size in SIZES])
    demand = np.array([size[:2] for size in SIZES], np.int64)[chosen]
    leaving = rng.integers(0, 2 * servers, count)
    requests = Requests(demand * QUANTUM, demand[:, 1] > 10, leaving, (0, 0))
    return np.minimum(free * QUANTUM, capacity), capacity, requests


@kernel
def told(free: Ints, capacity: Ints, demand: Amounts, spread: bool, answers: Floats) -> int:
    """Answer, as a `Scan`, with what is next in `answers` float64 [1 + any], whose first number counts; it changes."""
    answers[0] += 1
    return int(answers[int(answers[0])])


def timed(rule: Compiled, servers: int) -> tuple[float, float]:
    """Return the microseconds of a decision by the scan, and by what changed."""
    free, capacity, requests = drawn(servers, WARM + MOST)
    scan: Any = rule.scan
    took: dict[str, float] = {}
    codes: dict[str, Ints] = {}
    for _ in range(TURNS):
        for form in ("scan", "what changed", "none"):
            state, log = free.copy(), log_of(servers)
            by: Any = scan
            weights: tuple[Any, ...] = rule.weights
            if form == "what changed":
                by, weights = scan.incremental, (*weights, log, *standings(servers, 2))
            elif form == "none":
                by, weights = told, (np.concatenate([[0], codes["what changed"]]).astype(np.float64),)
            count = MOST if form != "scan" else min(MOST, max(LEAST, SERVERS_TIMES // servers))
            warm, answers = np.zeros(WARM if form != "scan" else 1, np.int64), np.zeros(count, np.int64)
            fixed = as_argument(by, 2, weights), weights, state, capacity, log, requests
            run = prepared(decide, *fixed, 0, warm)
            run(*fixed, 0, warm)
            began = time.thread_time()
            run(*fixed, len(warm), answers)
            seconds = (time.thread_time() - began) / count
            took[form] = min(took.get(form, np.inf), seconds)
            codes[form] = np.concatenate([warm, answers])
    both = len(codes["scan"])
    if not np.array_equal(codes["scan"], codes["what changed"][:both]):
        raise AssertionError("the two forms answer differently")
    return (took["scan"] - took["none"]) * 1e6, (took["what changed"] - took["none"]) * 1e6


def rule_of(name: str, servers: int) -> Compiled:
    """Load an agent's rule."""
    agent: Agent = AGENTS.load(name)()
    agent.start(Ledger(cluster_of(min(servers, 50))).view, np.random.default_rng(0))
    rule = agent.compiled
    assert rule
    return rule


def table(names: list[str], servers: list[int]) -> str:
    """Measure, and write a table in Markdown."""
    rows = [["rule", "", *(f"{count:,} servers" for count in servers), "times"]]
    for name in names:
        rule = rule_of(name, max(servers))
        times = [timed(rule, count) for count in servers]
        worth_it = rule.scan.worth_it
        chosen = [
            following if count >= worth_it else scan for count, (scan, following) in zip(servers, times, strict=True)
        ]
        for kind, column in (("scan", 0), ("what changed", 1)):
            cells = [f"{each[column]:.2f}" if each[column] < 100 else f"{each[column]:,.0f}" for each in times]
            rows.append([f"`{name}`" * (column == 0), kind, *cells, f"{chosen[-1] / chosen[0]:.1f}" * column])
    return markdown(rows)


def main() -> None:
    """Print a table, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, nargs="*", default=SERVERS)
    parser.add_argument("--agents", default=RULES)
    parser.add_argument("--page", type=Path, nargs="?", const=PAGE)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    found = table(options.agents.split(","), options.servers)
    if options.page:
        text = TEXT.format(cores=os.cpu_count(), load=load, turns=TURNS, table=found, kept=KEPT)
        options.page.write_text(text, "utf-8")
    print(found)


if __name__ == "__main__":
    main()
