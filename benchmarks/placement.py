"""`python -m benchmarks.placement [--requests N] [--repeats R] [--page]`: what rules of placement cost.

Plays the same requests without rules, with labels alone, with one rule after another, and with all of them on. Prints
processor time per request in Markdown; with `--page` into docs/experiments/placement.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

from agents import AGENTS
from fabric.cluster import NEVER, Cluster
from fabric.compiled.numa_run import CompiledSimulation, play_compiled
from fabric.ledger import Ledger
from fabric.placement import Apart, AtMost, Drain, Near, Rule, ServerLabels, Spread, Together, numbered
from fabric.ruled_ledger import ConstrainedLedger
from simcore.cores import usable_threads
from simcore.engine import Simulation
from simcore.play import play
from simcore.record import PLACED
from simcore.roles import Role, Roles, where_of
from simcore.types import QUANTUM, Workload

PAGE = Path(__file__).parents[1] / "docs/experiments/placement.md"
TEXT = """# What rules of placement cost

`python -m benchmarks.placement --page` measured this and wrote the page, on {cores} cores, load {load:.1f} when it
began. {requests:,} requests of four groups meet servers in racks of 20 and in three zones, at 70 % of their cpu; the
whole engine plays them, on SimPy's clock (`simpy`), and in the compiled loop (`compiled`), which is what runs take by
themselves. Times are microseconds of processor time per request, the least of {repeats}; behind them, how many times
that is of the first line, and the requests that get a place. With `all of them` every request has labels to look for
and a taint to tolerate, and most have rules that count. A request that is refused has the ledger look for the reason.

In the compiled loop a run without rules looks only at the servers that changed, where there are many; with rules it
looks at all of them, since what changed depends on who asks.

"""
SIZES = (50, 1213, 5000)
AGENTS_ASKED = ("first-fit", "best-fit")
FORMS = tuple((agent, engine) for agent in AGENTS_ASKED for engine in ("simpy", "compiled"))
OPEN = (Role("web"), Role("db"), Role("cache"), Role("job"))
RULES: dict[str, tuple[Rule, ...]] = {
    "at most, per rack": (AtMost(0, "web", "rack"),),
    "spread over zones": (Spread("web", "zone", 3),),
    "spread over servers": (Spread("db", "server", 3),),
    "apart per server": (Apart(("db", "job"), "server"),),
    "together per zone": (Together(("cache",), "zone"),),
    "near per zone": (Near("job", ("db",), "zone"),),
    "a server is emptied": (Drain((0,)),),
}


def cluster(servers: int) -> Cluster:
    """Double-NUMA servers of two nodes of 40 cores and 90 GB."""
    node = np.array([40, 90], np.int64) * QUANTUM
    capacity = np.broadcast_to(node, (servers, 2, 2)).copy()
    return Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0])


def workload(servers: int, requests: int) -> Workload:
    """Poisson arrivals of requests for 1 to 11 cores, exponential lifetimes, 70 % of the cpu."""
    rng = np.random.default_rng(0)
    demand = {"cpu": rng.integers(1, 12, requests), "mem": rng.integers(1, 24, requests)}
    rate = 0.7 * 80 * servers / demand["cpu"].mean()
    arrival = np.cumsum(rng.exponential(1 / rate, requests))
    found = Workload.of_units(arrival - arrival[0], rng.exponential(1, requests), demand)
    return replace(found, roles=Roles(OPEN, rng.choice(4, requests, p=[0.4, 0.3, 0.05, 0.25])))


def labels(servers: int) -> ServerLabels:
    """Put servers into racks of 20 and three zones; a tenth of them is tainted."""
    zone = np.array(["a", "b", "c"])[np.arange(servers) * 3 // servers]
    tainted = {"spot": np.arange(servers) % 10 == 9}
    return ServerLabels(servers, {"zone": zone, "rack": numbered(servers, 20)}, tainted)


def fitting(rule: Rule, servers: int) -> Rule:
    """Have a limit be one that few requests meet: twice the usual number of requests of the group in a rack."""
    usual = 0.7 * 80 * 20 / 6 * 0.4
    return replace(rule, count=round(usual * 2)) if isinstance(rule, AtMost) else rule


def cases(servers: int) -> dict[str, tuple[tuple[Role, ...], tuple[Rule, ...]]]:
    """Return the roles and the rules of each line."""
    tolerant = tuple(role._replace(tolerates=("spot",)) for role in OPEN)
    looking = tuple(role._replace(where=where_of({"zone": ["a", "b", "c"]})) for role in tolerant)
    rules = {name: tuple(fitting(rule, servers) for rule in some) for name, some in RULES.items()}
    every = tuple(rule for some in rules.values() for rule in some)
    return {
        "labels alone": (tolerant, ()),
        "a taint": (OPEN, ()),
        **{name: (tolerant, some) for name, some in rules.items()},
        "all of them": (looking, every),
    }


def measured(requests: Workload, ledger: Ledger, agent_name: str, engine: str) -> tuple[float, float]:
    """Play a run; returns seconds of processor time per request, and the share of requests that get a place."""
    simulation = CompiledSimulation(requests, ledger) if engine == "compiled" else Simulation(requests, ledger)
    agent = AGENTS.load(agent_name)()
    agent.start(simulation.view, np.random.default_rng(0))
    if isinstance(simulation, CompiledSimulation):
        simulation.prepare(agent.compiled)
    began = process_time()
    if isinstance(simulation, CompiledSimulation):
        play_compiled(simulation, agent)
    else:
        play(simulation, agent)
    took = process_time() - began
    return took / len(requests), float((simulation.record.outcome == PLACED).mean())


def table(servers: int, requests: int, repeats: int) -> str:
    """Measure all lines for a number of servers, in turns, so that what disturbs the machine disturbs all of them."""
    asked, here, where = workload(servers, requests), cluster(servers), labels(servers)
    lines = {"no rules": None, **cases(servers)}
    best: dict[tuple[str, tuple[str, str]], tuple[float, float]] = {}
    for _ in range(repeats):
        for agent in FORMS:
            for name, case in lines.items():
                assert asked.roles is not None
                if case is None:
                    found = measured(replace(asked, roles=None), Ledger(here), *agent)
                else:
                    roles = replace(asked.roles, all=case[0])
                    found = measured(replace(asked, roles=roles), ConstrainedLedger(here, where, case[1]), *agent)
                best[name, agent] = min(best.get((name, agent), found), found)
    rows = [
        f"## {servers:,} servers\n",
        f"| rules | {' | '.join(f'{agent}, {engine} | times | placed' for agent, engine in FORMS)} |",
    ]
    rows.append(f"| --- |{' --- |' * 3 * len(FORMS)}")
    for name in lines:
        cells = []
        for agent in FORMS:
            took, placed = best[name, agent]
            cells.append(f"{took * 1e6:.2f} | {took / best['no rules', agent][0]:.2f} | {placed:.1%}")
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables, or write the page."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--requests", type=int, default=6000)
    asked.add_argument("--repeats", type=int, default=4)
    asked.add_argument("--page", action="store_true")
    given = asked.parse_args(argv)
    head = TEXT.format(cores=usable_threads(), load=os.getloadavg()[0], requests=given.requests, repeats=given.repeats)
    tables = "\n\n".join(table(servers, given.requests, given.repeats) for servers in SIZES)
    if given.page:
        PAGE.write_text(f"{head}{tables}\n", encoding="utf-8")
    else:
        print(f"{head}{tables}")


if __name__ == "__main__":
    main()
