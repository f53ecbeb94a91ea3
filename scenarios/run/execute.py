"""One run, from its plan to its row of figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from analysis.bounds import scheduled_bound
from analysis.metrics import measure
from analysis.overlap import written
from analysis.samples import Sampler
from fabric.ledger import Ledger
from scenarios.build.engines import Engine, agents_of, check_compiled, not_compiled
from scenarios.build.parts import (
    build_expansion,
    build_faults,
    build_ledger,
    build_overflow,
    build_pacing,
    build_workload,
    is_drawn,
    windows_of,
)
from scenarios.build.plan import Run
from scenarios.run.details import write_requests, write_samples, write_states, write_times
from scenarios.run.guard import STARTING, limited
from scenarios.schema.scenario import Scenario, WarmStart
from simcore.engine import Simulation, play
from simcore.errors import RunError
from simcore.rng import Watched, stream
from simcore.rules import Overflow
from simcore.vocabulary import Agent

if TYPE_CHECKING:
    from analysis.states import StateSampler


Player: TypeAlias = Callable[[Any, Agent, Callable[[], int]], int]
"""As `simcore.engine.play`."""


def execute(run: Run, folder: Path, engine: Engine = "auto") -> dict[str, Any]:
    """Every metric of a run, and the engine that ran it; writes what is to be recorded into `folder`/details."""
    scenario = run.scenario
    agent, warm_agent = agents_of(run)
    if engine == "compiled":
        check_compiled(run)
    compiled = engine != "simpy" and not not_compiled(scenario, agent, warm_agent)
    warm_luck, luck = Watched(stream(run.seed, "warm-start")), Watched(stream(run.seed, "agent"))
    simulation, ledger, play_on = warmed_up(run, folder, warm_agent, compiled, warm_luck)
    first = simulation.offered
    limit = scenario.decision_limit
    with limited(max(limit, STARTING)):
        agent.start(simulation.view, luck)
    sampler = Sampler(simulation, ledger)
    watch: Callable[[], int] = sampler
    states: StateSampler | None = None
    if "states" in scenario.record:
        from analysis.states import StateSampler

        watch = states = StateSampler(sampler, simulation, first)
    if "times" in scenario.record:
        simulation.times = []
    with limited(limit, partial(_state, simulation)):
        thought = play_on(simulation, agent, watch)
    sampler()  # how it ended
    samples = sampler.columns()
    metrics = measure(simulation, first, scenario.hourly, samples, thought)
    if is_bounded(scenario):
        metrics["scheduled_bound"] = scheduled_bound(simulation, first)
    if scenario.cluster.network:
        from analysis.spans import measure_spans
        from fabric.network import NetworkLedger

        assert isinstance(ledger, NetworkLedger)
        metrics |= measure_spans(simulation, ledger, first)
    details = folder / "details"
    if "requests" in scenario.record:
        write_requests(details / f"{run.name}.requests.parquet", simulation, first)
    if "samples" in scenario.record:
        write_samples(details / f"{run.name}.samples.parquet", simulation, samples)
    if "times" in scenario.record:
        write_times(details / f"{run.name}.times.parquet", simulation, first)
    if states:
        write_states(details / f"{run.name}.states.parquet", states)
    requests = len(simulation.workload)
    rows = windows_of(scenario, run.seed, requests, simulation.offered / requests)
    chance = is_drawn(scenario) or warm_luck.drawn or luck.drawn
    return {
        **metrics,
        **({"windows": written(rows)} if rows else {}),
        "random": chance,
        "engine": "compiled" if compiled else "simpy",
    }


def warmed_up(
    run: Run, folder: Path, warm_agent: Agent | None, compiled: bool, luck: np.random.Generator | None = None
) -> tuple[Simulation, Ledger, Player]:
    """The simulation as a run's agent finds it, after the warm start; its ledger, and how an agent plays it.

    The agent of the warm start draws from `luck`, by default its stream.
    """
    simulation, ledger, play_on = _set_up(run, folder, compiled)
    if run.scenario.warm_start and warm_agent:
        overflow, simulation.overflow = simulation.overflow, Overflow("drop")
        progress = _Reached(simulation, ledger, run.scenario.warm_start)
        limit = run.scenario.decision_limit
        with limited(max(limit, STARTING)):
            warm_agent.start(simulation.view, luck or stream(run.seed, "warm-start"))
        with limited(limit, partial(_state, simulation)):
            play_on(simulation, warm_agent, progress)
        progress.check()
        simulation.overflow = overflow
    return simulation, ledger, play_on


def _state(simulation: Simulation) -> object:
    """What changes with every decision."""
    return simulation.offered, simulation.now, simulation.waiting, len(simulation.offer)


def is_bounded(scenario: Scenario) -> bool:
    """Does `scheduled_bound` hold for its runs?"""
    cluster = scenario.cluster
    changes = build_faults(scenario, 0) or cluster.expansion or cluster.network
    return scenario.overflow == "stop" and not changes and not scenario.pacing


def _set_up(run: Run, folder: Path, compiled: bool) -> tuple[Simulation, Ledger, Player]:
    """What is played, its ledger, and how an agent plays it."""
    scenario = run.scenario
    ledger = build_ledger(scenario)
    workload = build_workload(scenario, run.seed, cache_of(folder))
    overflow, expansion = build_overflow(scenario), build_expansion(scenario)
    if compiled:
        from fabric.numa_episodes import CompiledSimulation, play_compiled  # numba

        return CompiledSimulation(workload, ledger, overflow, expansion=expansion), ledger, play_compiled
    faults, pacing = build_faults(scenario, run.seed), build_pacing(scenario)
    return Simulation(workload, ledger, overflow, expansion=expansion, faults=faults, pacing=pacing), ledger, play


def cache_of(folder: Path) -> Path:
    """Where converted traces are kept: beside the results, for all of them."""
    return folder.absolute().parent / ".traces"


class _Reached:
    """The `watch` that ends a warm start, whose agent places requests, skipping misfits, until enough is allocated."""

    def __init__(self, simulation: Simulation, ledger: Ledger, warm: WarmStart) -> None:
        self._view = view = simulation.view
        self._ledger = ledger
        self._resource = view.resources.index(warm.resource)
        demand = simulation.workload.demand[:, self._resource]
        self._largest, self._requests = int(demand.max()), len(demand)
        self._until = warm.until
        self.reached = False
        self.share = 0.0

    def __call__(self) -> int:
        r = self._resource
        used, installed = int(self._ledger.used()[r]), int(self._view.capacity[:, :, r].sum())
        self.share = used / installed
        missing = self._until * installed - used
        self.reached = missing <= 0
        # No fewer requests than that can make up what is missing: no need to look before.
        return 0 if self.reached else max(1, int(missing // max(1, self._largest)))

    def check(self) -> None:
        """Refuse to go on from a warm start that ended before it was warm."""
        if not self.reached:
            raise RunError(
                f"the warm start never reached {self._until:.0%} of {self._view.resources[self._resource]}: all "
                f"{self._requests} requests were offered, and {self.share:.1%} is allocated. Give it more requests, "
                "fewer servers, or a lower `until`"
            )
