"""`make bench`: how fast runs are, with agents in Python and in the loop. Prints; never fails on time.

Ratios are within one run of this script; absolute numbers move with the machine.
"""

import subprocess
import sys
import tempfile
import tracemalloc
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from binwright.agents import AGENTS
from binwright.analysis.measure.contention import contention_of
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.samples import Sampler
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.routing import Routing
from binwright.fabric.run.play import play, play_compiled
from binwright.fabric.run.simulation import Simulation
from binwright.fabric.topology import topology
from binwright.scenarios.features.preemption import Preempt, Preemption
from binwright.scenarios.features.queues import Queue, QueueBook
from binwright.scenarios.features.quotas import Quota, QuotaBook, Quotas
from binwright.scenarios.schema.workload import MultiServer
from binwright.simcore.errors import WorkloadError
from binwright.simcore.faults import Faults
from binwright.simcore.gangs import Gangs
from binwright.simcore.record import PLACED
from binwright.simcore.rng import stream
from binwright.simcore.roles import Roles
from binwright.simcore.rules import Overflow, Pacing
from binwright.simcore.types import QUANTUM, Agent, Placement, Request, View
from binwright.simcore.workload import Workload
from binwright.workloads.traces.library import find
from binwright.workloads.use import UseCase, draw_use

REQUESTS, REPEATS = 200_000, 5
MONTH = """\
cluster: {servers: 50, nodes: 2, node: {cpu: 40, mem: 90 GB}, spread_above: {mem: 10 GB}}
workload: {trace: huawei-east-1}
agents: [best-fit]
"""


def cluster(servers: int) -> Cluster:
    """Double-NUMA servers of two nodes of 40 cores and 90 GB."""
    node = np.array([40, 90], np.int64) * QUANTUM
    capacity = np.broadcast_to(node, (servers, 2, 2)).copy()
    return Cluster(("cpu", "mem"), capacity, (NEVER, 10 * QUANTUM), capacity[0])


def workload(servers: int, load: float = 0.8) -> Workload:
    """Poisson arrivals of the most frequent flavours of the Huawei trace, exponential lifetimes; `load` of the cpu."""
    rng = np.random.default_rng(0)
    flavours = np.array([[1, 1], [1, 2], [1, 4], [2, 4], [4, 8], [8, 16], [16, 32]]) * QUANTUM
    demand = flavours[rng.choice(len(flavours), REQUESTS, p=[0.2, 0.45, 0.05, 0.15, 0.1, 0.03, 0.02])]
    rate = load * 80 * servers / (demand[:, 0].mean() / QUANTUM)
    arrival = np.cumsum(rng.exponential(1 / rate, REQUESTS))
    return Workload(("cpu", "mem"), arrival, rng.exponential(1, REQUESTS), demand, np.arange(REQUESTS))


def best_of(function: Any) -> float:
    """Seconds of the fastest of some calls: the least disturbed one."""
    seconds = []
    for _ in range(REPEATS):
        began = perf_counter()
        function()
        seconds.append(perf_counter() - began)
    return min(seconds)


def engine() -> None:
    """Print requests per second of agents in Python, recording on, and beside the same rule in the loop."""
    print(
        f"{'agent':12}{'servers':>8}{'requests/s':>14}{'us/request':>12}{'x of 50 servers':>17}{'compiled run x':>17}"
    )
    for name in ("first-fit", "best-fit"):
        small = 0.0
        for servers in (50, 5000):
            requests, agent, machines = workload(servers), AGENTS.load(name)(), cluster(servers)

            def simulate(requests: Workload = requests, machines: Cluster = machines, agent: Any = agent) -> None:
                ledger = Ledger(machines)
                simulation = Simulation(requests, ledger)
                agent.start(simulation.view, stream(0, "agent"))
                play(simulation, agent, Sampler(simulation, ledger))

            def compiled(requests: Workload = requests, machines: Cluster = machines, agent: Any = agent) -> None:
                Simulation(requests, Ledger(machines)).loop.go(agent.compiled)

            seconds, bare = best_of(simulate), best_of(compiled)
            small = small or seconds
            print(
                f"{name:12}{servers:8}{REQUESTS / seconds:14,.0f}{seconds / REQUESTS * 1e6:12.2f}"
                f"{seconds / small:17.2f}{seconds / bare:17.1f}"
            )


class Fixed(Agent):
    """Answers at once, with one place after another: what a request costs beside its agent."""

    place = 0

    def decide(self, view: View, request: Request) -> Placement:
        self.place = (self.place + 1) % 100
        return request.on(self.place // 2, self.place % 2)


def python() -> None:
    """Print microseconds of CPU a request with an agent in Python that answers at once, all and its own."""
    capacity = np.full((50, 2, 2), 10**12)  # nothing is ever refused
    machines, requests, took = Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0]), workload(50, 0.5), []
    for _ in range(REPEATS):
        simulation, agent = Simulation(requests, Ledger(machines)), Fixed()
        began = process_time()
        play(simulation, agent)
        took.append((process_time() - began) / REQUESTS * 1e6)
    request = simulation.request(0)
    began = process_time()
    for _ in range(REQUESTS):
        agent.decide(simulation.view, request)
    own = (process_time() - began) / REQUESTS * 1e6
    print(f"\nus of CPU a request, a Python agent that answers at once: {min(took):.2f}, its own {own:.2f}")


def changes() -> None:
    """Print microseconds of CPU a request where something changes or bounds a run, in the loop and in Python."""
    print(f"\n{'50 servers':28}{'compiled us':>13}{'Python us':>11}{'failures':>10}{'evicted':>9}")
    plain, alone, fails = workload(50), Overflow("wait"), [Faults(25.0, 0.3, requeue=True)]
    urgent = replace(workload(50, 0.975), priority=(np.arange(REQUESTS) % 50 == 0).astype(np.int64))
    teams = replace(plain, roles=Roles.of_texts(REQUESTS, [*"ab"] * (REQUESTS // 2)))
    queue, preempt = Overflow("wait", together=64), Preempt.model_validate({})
    quotas = Quotas(of={name: Quota(nominal={"cpu": 2000}, cohort="all") for name in "ab"})
    owned = {"a": 1900, "b": 1635}
    lent = Quotas(of={n: Quota(nominal={"cpu": own}, cohort="all") for n, own in owned.items()}, reclaim="any")
    lines = {name: Queue(of={"group": [name]}, priority=int(name == "a"), running={"cpu": 2500}) for name in "ab"}
    for title, name, requests, overflow, faults, attach in (
        ("best-fit, nothing", "best-fit", plain, alone, [], None),
        ("best-fit, failures, requeue", "best-fit", plain, alone, fails, None),
        (
            "best-fit, preemption",
            "best-fit",
            urgent,
            replace(alone, preempt=True),
            [],
            lambda run: Preemption(run, preempt),
        ),
        ("best-fit, quotas reclaimed", "best-fit", teams, alone, [], lambda run: QuotaBook(run, lent)),
        ("in-line, nothing", "in-line", plain, queue, [], None),
        ("in-line, failures, requeue", "in-line", plain, queue, fails, None),
        ("in-line, quotas", "in-line", teams, queue, [], lambda run: QuotaBook(run, quotas)),
        ("in-line, two queues", "in-line", teams, queue, [], lambda run: QueueBook(run, lines, "queues")),
    ):
        took, agent = [], AGENTS.load(name)()
        for compiled, way in (True, play_compiled), (True, play_compiled), (False, play):  # the first may compile
            simulation = Simulation(requests, Ledger(cluster(50)), overflow, faults=faults, compiled=compiled)
            if attach:
                attach(simulation)
            agent.start(simulation.view, stream(0, "agent"))
            if compiled:
                simulation.loop.prepare(agent.compiled)
            began = process_time()
            way(simulation, agent)
            took.append((process_time() - began) / REQUESTS * 1e6)
        log = simulation.preempting.log if simulation.preempting else []
        evicted = sum(each.outcome == "evicted" for each in log)
        print(f"{title:28}{took[1]:13.2f}{took[2]:11.2f}{len(simulation.changes) // 2:10}{evicted:9}")


def queues() -> None:
    """Print how many jobs a second a batch queue takes in the loop: gangs of 1 to 16 parts on 16 servers."""
    print(f"\n{'gangs in a batch queue':28}{'jobs/s':>13}{'us/job':>11}")
    jobs, rng = 20_000, np.random.default_rng(0)
    parts = rng.choice([1, 2, 4, 8, 16], jobs)
    arrival = np.cumsum(rng.exponential(parts.mean() / (0.9 * 256), jobs))
    demand, gangs = np.full((jobs, 1), QUANTUM), Gangs.of_parts(parts)
    requests = Workload(("cpu",), arrival, rng.exponential(1, jobs), demand, np.arange(jobs), gangs=gangs)
    capacity = np.full((16, 1, 1), 16 * QUANTUM)
    machines = Cluster(("cpu",), capacity, (NEVER,), capacity[0])
    for order, backfilling in (("fcfs", "none"), ("fcfs", "easy"), ("sjf", "easy")):
        took, agent = [], AGENTS.load("in-line")(order=order, backfilling=backfilling)
        for _ in range(REPEATS):
            simulation = Simulation(requests, Ledger(machines), Overflow("wait", together=64), compiled=True)
            agent.start(simulation.view, stream(0, "agent"))
            simulation.loop.prepare(agent.compiled)
            began = process_time()
            play_compiled(simulation, agent)
            took.append((process_time() - began) / jobs)
        print(f"{f'{order}, {backfilling}':28}{1 / min(took):13,.0f}{min(took) * 1e6:11.2f}")


def memory() -> None:
    """Print what a run takes beside its workload, at most and in the end."""
    requests, machines, agent = workload(50), cluster(50), AGENTS.load("first-fit")()
    ledger = Ledger(machines)
    agent.start(ledger.view, stream(0, "agent"))
    tracemalloc.start()
    simulation = Simulation(requests, ledger)
    play(simulation, agent, Sampler(simulation, ledger))
    held, most = (taken / REQUESTS for taken in tracemalloc.get_traced_memory())
    tracemalloc.stop()
    print(f"\nbytes a request beside the workload, first-fit on 50 servers: {most:.0f} at most, {held:.0f} in the end")


def networks() -> None:
    """Print requests per second in networks: the published protocol, recording on."""
    print(f"\n{'agent':12}{'network':>28}{'requests/s':>14}{'accepted':>10}{'build s':>9}")
    large = {"racks": 2504, "servers_per_rack": 40, "racks_per_pod": 8, "fabric_switches": 4, "uplinks": 4}
    cases: list[tuple[str, str, dict[str, Any], int, int]] = [
        ("alpha", "alpha", {}, 5000, 30),
        ("gamma", "gamma", {}, 5000, 480),
        ("gamma, overloaded", "gamma", {}, 5000, 620),  # 124 % of what it has is asked for
        ("delta", "delta", {}, 10_000, 1920),
        ("delta, overloaded", "delta", {}, 10_000, 2350),  # 117 %
        ("fabric", "fabric", {**large, "capacities": [1, 2, 2]}, 2000, 90_000),
    ]
    for title, name, options, requests, holding in cases:
        began = perf_counter()
        routing = Routing(topology(name, **options))
        seconds = perf_counter() - began
        capacity = np.full((routing.topology.servers, 1, 2), 10 * QUANTUM, np.int64)
        machines = Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0])
        spec = {"demand": "uniform", "requests": requests, "holding": holding}
        drawn = MultiServer.model_validate(spec).draw(("cpu", "mem"), 0)
        # best-home tries every rack: the larger networks would take minutes.
        for agent in ("tetris", "nalb", "best-home") if routing.topology.servers < 1000 else ("tetris", "nalb"):
            accepted = paced(agent, drawn, machines, routing)
            best = best_of(partial(paced, agent, drawn, machines, routing))
            label = f"{title} ({routing.topology.servers:,})"
            print(f"{agent:12}{label:>28}{requests / best:14,.0f}{accepted:10.3f}{seconds:9.2f}")


def paced(name: str, requests: Workload, machines: Cluster, routing: Routing) -> float:
    """One run of the published protocol; the share of requests that got a place."""
    ledger = Ledger(machines, routing=routing)
    agent = AGENTS.load(name)()
    agent.start(ledger.view, stream(0, "agent"))
    simulation = Simulation(requests, ledger, pacing=Pacing(step=1.0, await_room=True))
    play(simulation, agent, Sampler(simulation, ledger))
    return float((simulation.record.outcome[: len(requests)] == PLACED).mean())


def contention() -> None:
    """Print how long it takes to measure contention over a day, and what that is for a month of 30 days."""
    print(f"\n{'contention':>10}{'servers':>9}{'running':>9}{'s/day':>8}{'s/month':>9}")
    for servers, running in ((50, 2_000), (10_000, 100_000)):
        rng = np.random.default_rng(0)
        arrival = np.sort(np.concatenate([np.zeros(running), rng.random(running) * 86_400]))
        base = Workload.of_units(arrival, rng.exponential(86_400, len(arrival)), {"cpu": 2, "mem": 2})
        case = UseCase.model_validate({"mean": 0.3, "peak": 0.9, "daily": 0.4})
        requests = replace(base, use=draw_use(base, 300.0, {"cpu": [case]}, [UseCase(mean=0.8, peak=0.8)], 0))
        agent, ledger = AGENTS.load("worst-fit")(), Ledger(cluster(servers))
        simulation = Simulation(requests, ledger)
        simulation.loop.go(agent.compiled)
        run = FinishedRun(simulation, 0, {}, 0, prices={})
        run.places  # noqa: B018 # what other metrics need, too
        contention_of(FinishedRun(simulation, len(requests) - 9, {}, 0, prices={}))  # compiles
        began = perf_counter()
        contention_of(run)
        seconds = perf_counter() - began
        print(f"{'':10}{servers:9}{running:9}{seconds:8.2f}{30 * seconds:9.1f}")


def commands() -> None:
    """Whole commands, start to results on disk."""
    executable = str(Path(sys.executable).with_name("binwright"))
    seconds = best_of(lambda: subprocess.run([executable, "--help"], check=True, capture_output=True))
    print(f"binwright --help: {seconds:.2f} s")
    try:
        find("huawei-east-1")
    except WorkloadError as error:
        print(f"the Huawei month was not run: {error}")
        return
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder, "month.yaml")
        scenario.write_text(MONTH, "utf-8")
        command = [executable, "run", str(scenario), "--fresh", "--out", str(Path(folder, "results", "month"))]
        seconds = best_of(lambda: subprocess.run(command, check=True, capture_output=True))
        print(f"binwright run of the Huawei month (116,313 requests, 50 servers, best-fit): {seconds:.2f} s")


if __name__ == "__main__":
    engine()
    python()
    changes()
    queues()
    memory()
    networks()
    contention()
    commands()
