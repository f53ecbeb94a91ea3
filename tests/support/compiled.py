"""Cases for compiled runs, and ways to play them and to hold them to the engine."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
from hypothesis import strategies as st

from binwright.agents.heuristics.servers.costs import best_fit, first_fit
from binwright.agents.rules.scan import ScanAgent
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.run.simulation import Simulation
from binwright.fabric.servers import fits_node, fits_spread
from binwright.simcore.jit import kernel
from binwright.simcore.record import Record
from binwright.simcore.rules import Overflow
from binwright.simcore.types import Amounts, Ints
from binwright.simcore.workload import Workload
from tests.support.properties import forms


@kernel
def moody(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """Take, as a `Scan`, any place or none: at random, but always the same in the same situation."""
    chance = 12345
    for place in range(free.size):
        chance = (chance * 31 + int(free.ravel()[place]) + demand[0]) % 1_000_003
    best, nodes = -1, free.shape[1]
    for place in range(len(free) * nodes):
        server, node = place // nodes, place % nodes
        if fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand):
            if best < 0 or chance % 3 == 0:
                best = server * nodes if spread else place
            chance = (chance * 31 + 7) % 1_000_003
    return -1 if chance % 5 == 0 else best


@kernel
def wrong(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
    """Take, as a `Scan`, the second node whatever is free there."""
    return 1


RULES = [first_fit, best_fit, moody]


@dataclass
class Case:
    """Holds a run, in two parts as with a warm start: `looks` are the answers between one look and the next."""

    workload: Workload
    cluster: Cluster
    overflow: Overflow
    expansion: list[tuple[float, int]]
    warm: int
    rules: tuple[Any, Any]
    looks: list[int]


@st.composite
def cases(draw: st.DrawFn, most: int = 3) -> Case:
    """Draw small clusters, full most of the time, and many things at one instant."""
    resources, nodes, servers = draw(forms(2, 1)), draw(st.integers(1, 3)), draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(0, 40))
    capacity = rng.integers(0, 6, (servers, nodes, resources))
    workload = Workload(
        ("a", "b")[:resources],
        np.sort(rng.integers(0, 1 + n // draw(st.integers(1, 4)), n) / 2),
        rng.choice([0.0, 0.5, 1.0, 2.0, 3.0, 7.0, inf], n),
        rng.integers(0, 7, (n, resources)),
        np.arange(n),
    )
    above = tuple(rng.choice([2, 4, NEVER], resources).tolist())
    expand = draw(st.tuples(st.integers(1, 2), st.integers(0, 6), st.sampled_from(["drop", "stop"])))
    mode = draw(st.sampled_from(["drop", "wait", "stop", "expand"]))
    return Case(
        workload,
        Cluster(workload.resources, capacity, above, rng.integers(0, 6, (nodes, resources))),
        Overflow("expand", *expand) if mode == "expand" else Overflow(mode),  # type: ignore[arg-type]
        draw(st.lists(st.tuples(st.integers(0, 20).map(lambda half: half / 2), st.integers(1, 2)), max_size=3)),
        draw(st.integers(0, 10)),
        (draw(st.sampled_from(RULES)), draw(st.sampled_from(RULES))),
        draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)),
    )


@dataclass
class Looker:
    """Keeps, as a `watch`, what there is to see, and ends the play after so many answers."""

    simulation: Simulation
    looks: list[int]
    last: int = -1
    seen: list[Any] = field(default_factory=list)

    def __call__(self) -> int:
        simulation = self.simulation
        counts = (
            simulation.offered,
            simulation.stopped,
            simulation.waiting,
            list(simulation.record.sequence),
            len(simulation.changes),
        )
        self.seen.append(
            (simulation.now, *counts, simulation.view.everything_free.tolist(), simulation.view.capacity.tolist())
        )
        return 0 if len(self.seen) == self.last else self.looks[len(self.seen) % len(self.looks)]


def agent_of(scan: Any) -> ScanAgent:
    """Make an agent of a kernel."""
    agent = ScanAgent()
    agent.scan = scan
    return agent


def played(case: Case, simulation: Simulation, play_one: Callable[[Any, Looker], object]) -> list[Any]:
    """Play a case, and return all that was seen on the way."""
    warm = Looker(simulation, [1], last=case.warm + 1)
    simulation.overflow = Overflow("drop")
    play_one(case.rules[0], warm)
    simulation.overflow = case.overflow
    rest = Looker(simulation, case.looks)
    play_one(case.rules[1], rest)
    rest()
    return warm.seen + rest.seen


def assert_same(simulation: Simulation, other: Simulation) -> None:
    """Compare everything that two runs leave behind."""
    assert simulation.changes == other.changes
    assert simulation.record.sequence.tolist() == other.record.sequence.tolist()
    assert simulation.record.reasons == other.record.reasons
    for name in Record.COLUMNS:
        np.testing.assert_array_equal(getattr(simulation.record, name), getattr(other.record, name), name)


def busy(n: int, resources: int = 2) -> tuple[Workload, Cluster]:
    """Make ten double-NUMA machines that are full half of the time."""
    rng = np.random.default_rng(5)
    demand = rng.integers(1, 16, (n, resources)) * 1_000_000
    times = np.cumsum(rng.exponential(1, n)), rng.exponential(90, n)
    capacity = np.full((10, 2, resources), 40_000_000)
    names = ("cpu", "mem", "disk")[:resources]
    cluster = Cluster(names, capacity, (NEVER,) * (resources - 1) + (10_000_000,), capacity[0])
    return Workload(names, *times, demand, np.arange(n)), cluster
