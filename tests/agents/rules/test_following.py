"""The form of a rule that looks only at what changed, against the scan: decision by decision, ties included."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.agents.heuristics.servers.costs import best_fit, best_fit_loose, first_fit, internal, worst_fit
from binwright.agents.learned.value import beginning, value_of
from binwright.agents.rules.scan import ScanAgent
from binwright.fabric import inventory
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.ranking import SERVERS_WORTH_IT, log_of, standings
from binwright.fabric.run.play import play, play_compiled
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.rng import stream
from binwright.simcore.types import Compiled
from tests.reference.engine import Case as Run
from tests.reference.moving import Rules
from tests.support import simulations
from tests.support.compiled import Case, agent_of, assert_same, busy, cases, played
from tests.support.costs import bounded, choosy, dear, picky
from tests.support.moving import Told, move_in, rules_of_moves, shuffler
from tests.support.properties import first, scaled

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

DEMANDS = [(1, 1), (2, 3), (3, 0), (5, 5)]


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
        patch.setattr(inventory, "SERVERS_WORTH_IT", worth_it)
        patch.setattr(agent.scan, "worth_it", worth_it)
        simulation = simulations.simulate(case)
        if moves:
            move_in(simulation, moves, Told(shuffler(0)))
        agent.start(simulation.view, stream(0, "agent"))
        play(simulation, agent)
    assert (simulation.view.changed is None) == (worth_it > len(simulation.view.free))
    return simulation


def changing(nodes: int, retained: int, seed: int, demands: Any, steps: int = 60) -> Iterator[tuple[Any, Any]]:
    """Ask for random demands while a cluster changes and grows: arguments of a scan, and those of the form beside."""
    rng = np.random.default_rng(seed)
    cluster = Changing(int(rng.integers(1, 70)), nodes, rng)
    for known in followed(cluster, lambda free: standings(free, retained), steps):
        demand, spread = demands[rng.integers(len(demands))], bool(rng.random() < 0.3)
        yield (cluster.free, cluster.capacity, demand, spread), (cluster.log, *known)
        assert len(known.known) == retained


def follow(rule: Compiled, nodes: int, retained: int, seed: int, demands: Any, steps: int = 60) -> None:
    """Ask both forms of a rule, each with numbers of its own, as a random stream changes."""
    scans, follows = ([each.copy() for each in rule.weights] for _ in range(2))
    for state, changes in changing(nodes, retained, seed, demands, steps):
        assert rule.scan.incremental(*state, *follows, *changes) == rule.scan(*state, *scans)


RULES = [bounded, picky, first_fit, best_fit, choosy, best_fit_loose, worst_fit, internal, dear]
RULES += [AGENTS.load(name).scan for name in ("balance-fit", "dot-product")]


@pytest.mark.parametrize("rule", first(1, RULES))
@given(st.integers(1, 3), st.integers(1, 5), st.integers(0, 2**32))
@scaled(1)
def test_rules_following_changes_decide_as_the_scan(rule: Any, nodes: int, retained: int, seed: int) -> None:
    follow(Compiled(rule), nodes, retained, seed, DEMANDS)


@given(st.integers(1, 5), st.integers(0, 2**32))
@scaled(1)
def test_learned_rules_following_changes_decide_as_the_scan(retained: int, seed: int) -> None:
    sizes = np.array([[1.0, 1.0, 0.0, 1.0], [2.0, 3.0, 1.0, 0.5]])
    weights, scale = beginning(sizes, np.random.default_rng(seed))
    follow(value_of(weights * scale, sizes), 2, retained, seed, DEMANDS)


@given(cases(), st.sampled_from([(best_fit, bounded), (bounded, bounded)]))
@scaled(1)
def test_a_compiled_run_that_follows_changes_is_the_engines(case: Case, rules: tuple[Any, Any]) -> None:
    """With a warm start by another rule, with lines, with growth."""
    if len(case.cluster.resources) != 2:
        rules = best_fit, best_fit
    case.rules = rules
    ledger = Ledger(case.cluster)
    engine = Simulation(case.workload, ledger, case.overflow, expansion=case.expansion)
    expected = played(case, engine, lambda scan, watch: play(engine, agent_of(scan), watch))
    compiled = Simulation(case.workload, Ledger(case.cluster), case.overflow, expansion=case.expansion)
    compiled.loop.follows = True
    actual = played(case, compiled, lambda scan, watch: play_compiled(compiled, agent_of(scan), watch))
    assert actual == expected
    assert_same(compiled, engine)


@given(simulations.cases(), rules_of_moves)
@scaled(1)
def test_a_run_among_the_best_few_with_failures_growth_and_moves_is_the_scans(case: Run, moves: Rules) -> None:
    case.capacity *= 7
    assert_same(engines(case, agent_of(best_fit), 1, moves), engines(case, agent_of(best_fit), NEVER, moves))


@pytest.mark.parametrize("compiled", [False, True])
def test_a_cluster_that_grows_past_the_limit_goes_on_the_same(compiled: bool) -> None:
    workload, cluster = busy(1500)
    workload = replace(workload, duration=workload.duration * 20)
    servers, rule = SERVERS_WORTH_IT - 4, worst_fit
    capacity = np.tile(cluster.capacity[:1], (servers, 1, 1))
    large = Cluster(cluster.resources, capacity, cluster.spread_above, capacity[0])
    growth = [(float(workload.arrival[k]), by) for k, by in ((600, 3), (700, 2), (900, 600))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inventory, "SERVERS_WORTH_IT", NEVER)
        expected = Simulation(workload, Ledger(large), expansion=growth)
        play(expected, agent_of(rule))
    if compiled:
        simulation: Simulation = Simulation(workload, Ledger(large), expansion=growth)
        play_compiled(simulation, agent_of(rule))
    else:
        simulation, agent = Simulation(workload, Ledger(large), expansion=growth), agent_of(rule)
        agent.start(simulation.view, stream(0, "agent"))
        play(simulation, agent)
        assert simulation.view.changed is not None
    assert_same(simulation, expected)
    assert (expected.record.server > servers + 5).any()
