"""One run, from its plan to its row of figures."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from agents.learned.common.training_conditions import Learned, outside, regime_of
from agents.world import WarmStart, World
from analysis.measure.finished_run import FinishedRun
from analysis.measure.measuring import measure
from analysis.measure.metric import Metric
from analysis.measure.overlap import written
from analysis.measure.samples import Sampler
from fabric.ledger import Ledger
from scenarios.build.costs import build_costs
from scenarios.build.engines import Engine, agents_of, is_compiled
from scenarios.build.movers import begin_moving
from scenarios.build.plan import Run, modules_of
from scenarios.build.world import build_world
from scenarios.run.checkpoints import Checkpoint, CheckpointMismatch, Keeper
from scenarios.run.details import write_devices, write_moves, write_requests, write_samples, write_states, write_times
from scenarios.run.progress import PORTION, Going, Tell
from scenarios.run.refusals import refusals
from scenarios.run.sandbox import STARTING, limited
from scenarios.schema.scenario import Scenario
from simcore.agent_state import named
from simcore.cores import WORKER
from simcore.engine import Simulation
from simcore.errors import RunError
from simcore.file_tracking import files_of
from simcore.play import Portions, play
from simcore.rng import TrackedGenerator, stream
from simcore.rules import Overflow
from simcore.types import Agent

if TYPE_CHECKING:
    from analysis.measure.states import StateSampler

Player: TypeAlias = Callable[[Any, Agent, Callable[[], int]], int]
"""As `simcore.play.play`."""


def execute(run: Run, folder: Path, engine: Engine = "auto", tell: Tell = lambda told: None) -> dict[str, Any]:
    """Play a run; returns every metric, the engine and the files that its agents read, each with a digest.

    Writes what is to be recorded into `folder`/details.

    A long run is kept in `folder`/checkpoints now and then, where it can be, and goes on from there if it was. `tell`
    is told how far it is.
    """
    checkpoint = Checkpoint(folder, run.name)
    try:
        return _execute(run, folder, engine, tell, checkpoint)
    except CheckpointMismatch:
        checkpoint.believed = False
        return _execute(run, folder, engine, tell, checkpoint)


def _execute(run: Run, folder: Path, engine: Engine, tell: Tell, checkpoint: Checkpoint) -> dict[str, Any]:
    """Do so, and go on from what is kept, if it is believed; a `CheckpointMismatch` where it should not have been."""
    scenario, world = run.scenario, build_world(run.scenario, cache_of(folder))
    agent, warm_agent = agents_of(run, world)
    compiled = is_compiled(engine, run, world, agent, warm_agent)
    warm_luck, luck = TrackedGenerator(stream(run.seed, "warm-start")), TrackedGenerator(stream(run.seed, "agent"))
    simulation, ledger, play_on = prepare_run(run, world, warm_agent, compiled, warm_luck)
    moving_luck = TrackedGenerator(stream(run.seed, "movers"))
    begin_moving(scenario, world, simulation, moving_luck)
    first, chance = measured_from(simulation), warm_luck.drawn
    limit = scenario.decision_limit
    if int(os.environ.get(WORKER, "0")) % 2:
        ledger.prepare()  # while another worker compiles the agent's rule
    with limited(max(limit, STARTING)):
        agent.start(simulation.view, luck)
    lost = not_kept(run, world, agent, compiled)  # what an agent remembers it may know only now
    sampler = Sampler(simulation, ledger, first)
    watch: Callable[[], int] = sampler
    states: StateSampler | None = None
    if "states" in scenario.record:
        from analysis.measure.states import StateSampler

        watch = states = StateSampler(sampler, simulation, first)
    if world.timed:
        simulation.times = []
    portions = Portions(watch, simulation)
    keeper: Keeper | None = None
    if not lost:
        keeper = Keeper(checkpoint, run)
        keeper.set_out(simulation, agent, luck, portions)
    going = Going(portions, simulation, run, tell, keeper, lost, PORTION if compiled else 1)
    with limited(limit, partial(_state, simulation)):
        thought = play_on(simulation, agent, going)
        thought += keeper.thought if keeper else 0
    sampler.look()  # how it ended
    samples = sampler.columns()
    costs = build_costs(scenario, run.seed)
    over = FinishedRun(
        simulation, first, samples, thought, prices=scenario.hourly, costs=costs, bounded=is_bounded(world)
    )
    metrics = measure(over, [one.asked for one in scenario.metrics])
    details = folder / "details"
    if "requests" in scenario.record:
        write_requests(details / f"{run.name}.requests.parquet", simulation, first)
    if "samples" in scenario.record:
        write_samples(details / f"{run.name}.samples.parquet", simulation, samples)
    if world.timed:
        write_times(details / f"{run.name}.times.parquet", simulation, first)
    if "devices" in scenario.record and over.devices:
        write_devices(details / f"{run.name}.devices.parquet", over.devices)
    if "moves" in scenario.record:
        write_moves(details / f"{run.name}.moves.parquet", simulation)
    if states:
        write_states(details / f"{run.name}.states.parquet", states)
    running = simulation.workload.running
    requests, came = len(simulation.workload) - running, max(0, simulation.offered - running)
    rows = world.requests.windows(run.seed, requests, came / requests)
    return {
        **metrics,
        **({"windows": written(rows)} if rows else {}),
        **_outside(agent, simulation, ledger),
        **({"missing_models": ", ".join(ledger.missing)} if ledger.missing else {}),
        **_unasked(ledger),
        **_too_late(scenario, simulation),
        **refusals(simulation, first),
        "random": world.drawn or chance or luck.drawn or moving_luck.drawn,
        "engine": "compiled" if compiled else "simpy",
        "files": keeper.files() if keeper else files_of(modules_of(run)),
        "resources": list(over.resources),
        "tiers": list(over.tiers),
    }


def not_kept(run: Run, world: World, agent: Agent, compiled: bool) -> str:
    """Say why a run cannot be kept while it is under way: then it begins anew. Empty if it can be."""
    if compiled:
        return "it is compiled, and takes minutes at most"
    if world.moves:
        return "requests that run are moved"
    return "" if named(agent) is not None else f"{run.agent.label} does not say what it remembers"


def prepare_run(
    run: Run, world: World, warm_agent: Agent | None, compiled: bool, luck: np.random.Generator | None = None
) -> tuple[Simulation, Ledger, Player]:
    """Set up a run as its agent finds it, after the warm start; returns its ledger and how an agent plays it, too.

    The agent of the warm start draws from `luck`, by default its stream.
    """
    ledger = world.ledger(run.seed)
    simulation = world.simulation(run.seed, ledger, compiled=compiled)
    play_on: Player = play
    if world.cells:
        from fabric.compiled.cells_run import play_cells  # numba

        play_on = play_cells
    elif compiled:
        from fabric.compiled.numa_run import play_compiled  # numba

        play_on = play_compiled
    if world.warm_start and warm_agent:
        overflow, simulation.overflow = simulation.overflow, Overflow("drop")
        progress = _Reached(simulation, ledger, world.warm_start)
        limit = run.scenario.decision_limit
        with limited(max(limit, STARTING)):
            warm_agent.start(simulation.view, luck or stream(run.seed, "warm-start"))
        with limited(limit, partial(_state, simulation)):
            play_on(simulation, warm_agent, progress)
        progress.check()
        simulation.overflow = overflow
    return simulation, ledger, play_on


def measured_from(simulation: Simulation) -> int:
    """Return the first row that is measured: that after the warm start, and after what runs already at the start."""
    return max(simulation.offered, simulation.workload.running)


def _state(simulation: Simulation) -> object:
    """Tell what changes with every decision, so that a guard sees progress."""
    return simulation.offered, simulation.now, simulation.waiting, len(simulation.offer)


def _outside(agent: Agent, simulation: Simulation, ledger: Ledger) -> dict[str, str]:
    """Say in which way the run is something else than what its agent learned on; a column if the agent knows that."""
    if not isinstance(agent, Learned) or agent.regime is None:
        return {}
    demand = simulation.workload.demand
    demand = demand[ledger.possible(demand)]
    now = regime_of(simulation.view.capacity, demand, ledger.spreads(demand))
    return {"outside": outside(agent.regime, now)} if now else {}


def _unasked(ledger: Ledger) -> dict[str, str]:
    """Say which groups rules name and no request has, and what may have been meant; a column if there are any."""
    said = "; ".join(f"{group}: {remedy}" for group, remedy in ledger.unasked.items())
    return {"missing_groups": said} if said else {}


def _too_late(scenario: Scenario, simulation: Simulation) -> dict[str, str]:
    """Say what was planned for a time when the run was over, unless a request ended it; a column if there is any."""
    if simulation.stopped:
        return {}
    said: dict[str, None] = {}
    for at, what in sorted((at, what) for what, at in scenario.planned if at > simulation.now):
        scale, unit = Metric("", "", "s").scale(at)
        said[f"{what} at {scale * at:.4g}{unit}"] = None
    return {"too_late": ", ".join(said)} if said else {}


def is_bounded(world: World) -> bool:
    """Tell whether `scheduled_bound` holds for the runs of a world."""
    changes = world.fails or world.expansion or world.networked
    return world.overflow.mode == "stop" and not changes and not world.pacing


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
        self._simulation = simulation
        self.reached = False
        self.share = 0.0

    def __call__(self) -> int:
        if (early := self._simulation.workload.running - self._simulation.offered) > 0:
            return early  # what runs already is there before anything begins
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
