"""What tests of rules that look only at what changed share: servers that change, and runs in which they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fabric.ledger
from agents.rules.scan import ScanAgent
from fabric.changes import log_of
from fabric.cluster import NEVER, Cluster
from fabric.compiled.numa_run import CompiledSimulation, play_compiled
from fabric.ledger import Ledger
from simcore.engine import Simulation
from simcore.play import play
from simcore.rng import stream
from simcore.rules import Overflow
from tests.reference.engine import Case as Run
from tests.reference.moving import Rules
from tests.support import simulations
from tests.support.compiled import assert_same, busy
from tests.support.moving import Told, move_in, shuffler


class Changing:
    """Servers that change, and a log of it. Of `sizes` sizes, with less than `most` free of anything."""

    def __init__(self, servers: int, nodes: int, rng: np.random.Generator, most: int = 6, sizes: int = 1) -> None:
        self.rng, self.most, self.sizes = rng, most, sizes
        self.free, self.capacity = self.drawn(servers, nodes), self.sized(servers, nodes)
        self.log = log_of(servers)

    def drawn(self, servers: int, nodes: int) -> Any:
        return self.rng.integers(0, self.most, (servers, nodes, 2))

    def sized(self, servers: int, nodes: int) -> Any:
        return np.repeat(5 + self.rng.integers(0, self.sizes, (servers, 1, 1)), nodes, 1).repeat(2, 2)

    def change(self, count: int) -> None:
        """Change some servers, some of them several times, some to what they were."""
        servers, nodes, _ = self.free.shape
        for server in self.rng.integers(0, min(servers, self.rng.integers(1, 40)), count).tolist():
            self.free[server] = self.drawn(1, nodes)[0]
            self.log[1 + self.log[0] % (len(self.log) - 1)] = server
            self.log[0] += 1

    def grow(self, by: int) -> None:
        servers, nodes, _ = self.free.shape
        self.free = np.concatenate([self.free, self.drawn(by, nodes)])
        self.capacity = np.concatenate([self.capacity, self.sized(by, nodes)])
        self.log = log_of(servers + by, self.log)


def followed(cluster: Changing, room: Callable[[Any], Any], steps: int) -> Iterator[Any]:
    """Have a cluster change and grow; yields what `room` made for it, which its rule keeps up to date."""
    rng = cluster.rng
    log, known = cluster.log, room(cluster.free)
    for _ in range(steps):
        cluster.change(int(rng.choice([0, 1, 2, 5, 40])))
        if rng.random() < 0.1:
            cluster.grow(int(rng.integers(1, 12)))
        if cluster.log is not log:
            log, known = cluster.log, room(cluster.free)
        yield known


def engines(case: Run, agent: ScanAgent, worth_it: int, moves: Rules | None = None) -> Simulation:
    """Play a case on the engine, by an agent that follows what changed from so many servers on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fabric.ledger, "SERVERS_WORTH_IT", worth_it)
        patch.setattr(agent.scan, "worth_it", worth_it)
        simulation = simulations.simulate(case)
        if moves:
            move_in(simulation, moves, Told(shuffler(0)))
        agent.start(simulation.view, stream(0, "agent"))
        play(simulation, agent)
    assert (simulation.view.changed is None) == (worth_it > len(simulation.view.free))
    return simulation


def assert_same_on_both(agent: ScanAgent) -> None:
    """Hold runs of an agent with lines and growth to one another: on both engines, and in both forms."""
    workload, cluster = busy(1500)
    capacity = np.tile(cluster.capacity[:1], (40, 1, 1))
    large = Cluster(cluster.resources, capacity, cluster.spread_above, capacity[0])
    workload = replace(workload, duration=workload.duration * 5)
    growth = [(float(workload.arrival[600]), 3), (float(workload.arrival[900]), 60)]
    found = []
    for compiled, worth_it in ((False, NEVER), (False, 1), (True, NEVER), (True, 1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fabric.ledger, "SERVERS_WORTH_IT", worth_it)
            patch.setattr(agent.scan, "worth_it", worth_it)
            engine = CompiledSimulation if compiled else Simulation
            simulation = engine(workload, Ledger(large), Overflow("wait"), expansion=growth)
            agent.start(simulation.view, stream(0, "agent"))
            if isinstance(simulation, CompiledSimulation):
                play_compiled(simulation, agent)
            else:
                play(simulation, agent)
        found.append(simulation)
    for other in found[1:]:
        assert_same(other, found[0])
    assert (found[0].record.server > len(capacity)).any()
