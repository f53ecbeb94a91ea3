"""`python -m benchmarks.racks [--servers N ...] [--agents NAMES] [--page [FILE]]`: a decision in networks of any size.

Fabrics with racks of 40 servers of 10 cpu and 10 mem, 8 racks to a pod, 4 planes of 4 uplinks, and the published
uniform requests. tetris fills the network with as many as ask for half of its cpu. Then requests come and take their
place, and for each one another leaves. The same requests are answered, in turns, by an agent that follows what changed
and by one that looks at all servers, and the answers are compared; learned agents have the second form only. Prints, in
Markdown, microseconds of CPU of a decision, or writes the page.
"""

from __future__ import annotations

import argparse
import os
import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import thread_time

import numpy as np

from agents import AGENTS
from benchmarks.cvd import markdown
from fabric.cluster import NEVER, Cluster
from fabric.network import NetworkLedger, NetworkView
from fabric.routing import Routing
from fabric.shapes import fabric
from simcore.rng import stream
from simcore.types import QUANTUM, Agent, Placement, Request

PAGE = Path(__file__).parents[1] / "docs/experiments/racks.md"
NAMES = "tetris,feasible,nulb,nalb,best-home,nara,cheapest-candidate"
WHOLE = ("nara", "cheapest-candidate")
SERVERS = [960, 10_240, 100_160, 1_000_000]
RACK, POD, SIZE = 40, 8, 10
MOST, LEAST, SECONDS = 400, 8, 4.0
"""Decisions that are timed, at most and at least, and after how many seconds of CPU no more are begun."""
TEXT = """# A decision in a network of a thousand servers and of a million

What does a decision cost in a large network? `python -m benchmarks.racks --page` measured it and wrote this page, on
one core of {cores}, load {load:.1f} when it began, with {memory:.1f} GB of memory at most. Fabrics have racks of 40
servers of 10 cpu and 10 mem, 8 racks to a pod, and 4 planes of 4 uplinks, with links of 1, 2 and 2. Requests are the
published uniform ones: 1 to 50 of cpu and of mem, and 0.1 to 1.0 of a server's link. tetris fills the network with as
many as ask for half of the cpu; then, for each that comes, one leaves. Microseconds of CPU of a decision, the mean over
up to {most} after the first, with what Python takes for it.

Both forms had the same requests, in turns, and gave the same answers. One looks at all servers for every decision, as
in networks of fewer than 256; the other looks at those that changed since the last one
([how](../developers/compiled-runs.md#in-networks)). The last column compares the largest network with the smallest, by
what changed where an agent can do that.

{table}

`feasible` is tetris that passes over servers without a working route. `nulb` and `nalb` look at all servers for the
first of a request only. From there `nalb` passes spines, which have as many links as there are pods, but sorts none: a
link with as much free as any there can have is the next, and the others become a heap where they are needed.

`best-home` compares a placement for every rack as the one to start from. In both forms it gives up those that cannot be
cheaper any more, and by what changed it looks far away only where a rack may have a better server. It begins with every
rack, so its cost grows with the racks.

`nara`, with the weights shipped, and `cheapest-candidate` have to look at all servers. All that they see of a server or
a link is relative to the request: to its bandwidth, its duration and what it still needs. Hardly any two requests share
that, so there is no score to keep; and how much learned weights can like any server of a block is not known before all
were looked at. nara passes messages along all links for every server that it chooses. cheapest-candidate makes
candidates for every rack as home. Where these find nobody in their own pod they look anywhere, and most need the same
as another did: racks are looked at once for each need, and left out where nobody can be liked better. Requests with
much bandwidth, to which few servers are open, still take it many times as long as others, and its mean here is over few
of them.
"""


def ledger_of(servers: int) -> NetworkLedger:
    """Build an empty network."""
    capacity = np.full((servers, 1, 2), SIZE * QUANTUM)
    cluster = Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0])
    return NetworkLedger(cluster, Routing(fabric(servers // RACK, RACK, POD, 4, 4, (1, 2, 2))))


def requests(seed: int) -> Iterator[Request]:
    """Draw the published uniform requests, without end."""
    rng, row = np.random.default_rng(seed), 0
    while True:
        for cpu, mem, bandwidth in (
            np.column_stack([rng.integers(1, 51, (1000, 2)) * QUANTUM, rng.uniform(0.1, 1.0, 1000) * QUANTUM])
            .astype(np.int64)
            .tolist()
        ):
            yield Request(row, 0.0, 1.0, (cpu, mem), False, bandwidth)
            row += 1


def started(name: str, view: NetworkView) -> Agent:
    """Load an agent, and let it get ready."""
    agent: Agent = AGENTS.load(name)()
    agent.start(view, stream(0, "agent"))
    return agent


def filled(ledger: NetworkLedger, offered: Iterator[Request]) -> list[int]:
    """Fill the network; returns the requests that hold something."""
    agent, held = started("tetris", ledger.view), []
    wanted = ledger.view.capacity[..., 0].sum() // 2
    while wanted > 0:
        request = next(offered)
        wanted -= request.demand[0]
        answer = agent.decide(ledger.view, request)
        if isinstance(answer, Placement):
            ledger.apply(request, answer)
            held.append(request.index)
    return held


def timed(name: str, ledger: NetworkLedger, held: list[int], offered: Iterator[Request]) -> list[float]:
    """Return the microseconds of a decision by a look at all servers, and by what changed; the first is left out."""
    rng = np.random.default_rng(len(held))
    views = (replace(ledger.view, changed=None), ledger.view)[: 1 if name in WHOLE else 2]
    forms = [(started(name, view), view) for view in views]
    took: list[list[float]] = [[] for _ in forms]
    for decision in range(MOST + 1):
        request, answers = next(offered), []
        for form in range(len(forms)) if decision % 2 else reversed(range(len(forms))):
            if form < len(forms) - 1 and decision > LEAST and sum(took[form]) > SECONDS:
                continue
            agent, view = forms[form]
            began = thread_time()
            answers.append(agent.decide(view, request))
            took[form].append(thread_time() - began)
        if answers[0] != answers[-1]:
            raise AssertionError("the two forms answer differently")
        if isinstance(answers[0], Placement):
            ledger.apply(request, answers[0])
            held.append(request.index)
            place = int(rng.integers(len(held) - 1))
            held[place], held[-1] = held[-1], held[place]
            ledger.release(held.pop())
        if decision > LEAST and sum(took[-1]) > SECONDS:
            break
    return [float(np.mean(seconds[1:])) * 1e6 for seconds in took]


def table(names: list[str], sizes: list[int]) -> str:
    """Measure, and write a table in Markdown."""
    found: dict[str, list[list[float]]] = {name: [] for name in names}
    for servers in sizes:
        ledger, offered = ledger_of(servers), requests(servers)
        held = filled(ledger, offered)
        for name in names:
            found[name].append(timed(name, ledger, held, offered))
            print(name, servers, *(f"{each:.1f}" for each in found[name][-1]), flush=True)
    rows = [["rule", "looks at", *(f"{count:,} servers" for count in sizes), "times"]]
    for name, times in found.items():
        for column, kind in enumerate(("all servers", "what changed")[: len(times[0])]):
            cells = [f"{each[column]:.1f}" if each[column] < 100 else f"{each[column]:,.0f}" for each in times]
            growth = f"{times[-1][column] / times[0][column]:.1f}" * (column == len(times[0]) - 1)
            rows.append([f"`{name}`" * (column == 0), kind, *cells, growth])
    return markdown(rows)


def main() -> None:
    """Print a table, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, nargs="*", default=SERVERS, help="multiples of 320")
    parser.add_argument("--agents", default=NAMES)
    parser.add_argument("--page", type=Path, nargs="?", const=PAGE)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    found = table(options.agents.split(","), options.servers)
    if options.page:
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        text = TEXT.format(cores=os.cpu_count(), load=load, memory=memory, most=MOST, table=found)
        options.page.write_text(text, "utf-8")
    print(found)


if __name__ == "__main__":
    main()
