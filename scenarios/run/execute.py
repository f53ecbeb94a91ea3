"""One run, from its plan to its row of figures."""

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from binwright.agents.formulas.program import DECISIONS, LOST, Formula, no_score
from binwright.agents.world import Luck, World
from binwright.analysis.measure.definition import measure
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.samples import Sampler
from binwright.fabric.run.play import Watchers, play, play_compiled
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.build.plan import Run
from binwright.scenarios.build.world import agents_of, build_world, measured
from binwright.scenarios.features import used
from binwright.scenarios.run.details import write_details
from binwright.scenarios.run.progress import PORTION, OnProgress, Reporter
from binwright.scenarios.run.sandbox import STARTING, limited
from binwright.simcore.memmap import blocks
from binwright.simcore.record import REJECTED
from binwright.simcore.rng import stream
from binwright.simcore.types import Agent


class TrackedGenerator(np.random.Generator):
    """A generator that knows whether anything was drawn from it, or from what it spawned."""

    def __init__(self, generator: np.random.Generator) -> None:
        super().__init__(generator.bit_generator)
        self._before = str(self.bit_generator.state)
        self._spawned: list[TrackedGenerator] = []

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Make children as numpy does, whose draws count, too."""
        children = [TrackedGenerator(np.random.Generator(bits)) for bits in self.bit_generator.spawn(n_children)]
        self._spawned += children
        return [*children]

    @property
    def drawn(self) -> bool:
        """Whether there was a draw."""
        return str(self.bit_generator.state) != self._before or any(child.drawn for child in self._spawned)


def execute(run: Run, folder: Path, on_progress: OnProgress = lambda progress: None) -> dict[str, Any]:
    """Play a run; returns its row: every metric, and whether its agent was compiled.

    Writes what is to be recorded into `folder`/details. `on_progress` is called with how far it is.
    """
    scenario, world = run.scenario, build_world(run.scenario)
    agent, warm = agents_of(run, world)
    streams: list[TrackedGenerator] = []

    def luck(name: str) -> TrackedGenerator:
        streams.append(TrackedGenerator(stream(run.seed, name)))
        return streams[-1]

    over, begin, compiled = play_run(run, world, agent, warm, luck, on_progress)
    write_details(over, scenario.record, used(scenario), begin, folder / "details" / run.name)
    return {
        **_row(run, world, agent, over),
        "random": world.drawn or any(each.drawn for each in streams),
        "compiled": compiled,
        "resources": list(over.resources),
        "tiers": list(over.tiers),
    }


def play_run(
    run: Run,
    world: World,
    agent: Agent,
    warm: Agent | None,
    luck: Luck | None = None,
    on_progress: OnProgress | None = None,
    *,
    sampled: bool = True,
) -> tuple[FinishedRun, float, bool]:
    """Play a run to its end: returns it, when its agent took over, and whether in machine code.

    Random streams are those of the run's seed. `on_progress` is called with how far it is; the cluster is looked at now
    and then unless not `sampled`.
    """
    compiled = world.compiles(agent, warm)
    luck = luck or partial(stream, run.seed)
    simulation = prepare_run(run, world, warm, compiled, luck)
    world.begin(simulation, run.seed, luck)
    first, begin, ledger = measured_from(simulation), simulation.now, simulation.ledger
    limit = run.scenario.decision_limit
    with limited(max(limit, STARTING)):
        agent.start(simulation.view, luck("agent"))
    if world.timed:
        simulation.times = []
    sampler = Sampler(simulation, ledger, first) if sampled else None
    watchers: list[Callable[[], int]] = [sampler] if sampler else []
    if on_progress:
        watchers.append(Reporter(simulation, run, on_progress, PORTION if compiled else 1))
    with limited(limit, partial(_state, simulation)):
        thought = (play_compiled if compiled else play)(simulation, agent, Watchers(simulation, *watchers))
    if sampler:
        sampler.look()  # how it ended
    samples = sampler.columns() if sampler else {}
    known = measured(run.scenario, run.seed)
    return FinishedRun(simulation, first, samples, thought, **known), begin, compiled


def _row(run: Run, world: World, agent: Agent, over: FinishedRun) -> dict[str, Any]:
    """Put together what the journal notes of the run, beside who ran it."""
    scenario, simulation = run.scenario, over.simulation
    ledger, unscored = simulation.ledger, ""
    if isinstance(agent, Formula):
        unscored = no_score(int(agent.numbers[2][LOST]), int(agent.numbers[2][DECISIONS]))
    running = simulation.workload.running
    requests, came = len(simulation.workload) - running, max(0, simulation.offered - running)
    rows = world.requests.windows(run.seed, requests, came / requests)
    return {
        **measure(over, scenario.metrics),
        **({"windows": " ".join(f"{first}-{end - 1}" for first, end in rows)} if rows else {}),
        **({"missing_models": ", ".join(ledger.devices.missing)} if ledger.devices and ledger.devices.missing else {}),
        **({"unscored": unscored} if unscored else {}),
        **refusals(simulation, over.first),
    }


def prepare_run(run: Run, world: World, warm: Agent | None, compiled: bool, luck: Luck) -> Simulation:
    """Set up a run as its agent finds it, after the warm start."""
    simulation = world.simulation(run.seed, compiled=compiled)
    if warm:
        limit = run.scenario.decision_limit
        with limited(max(limit, STARTING)):
            warm.start(simulation.view, luck("warm-start"))
        with limited(limit, partial(_state, simulation)):
            world.prepare(simulation, warm, play_compiled if compiled else play)
    return simulation


def measured_from(simulation: Simulation) -> int:
    """Return the first row that is measured: that after the warm start, and after what runs already at the start."""
    return max(simulation.offered, simulation.workload.running)


def _state(simulation: Simulation) -> object:
    """Tell what changes with every decision, so that a guard sees progress."""
    return simulation.offered, simulation.now, simulation.waiting, len(simulation.offer)


def refusals(simulation: Simulation, first: int) -> dict[str, str]:
    """Count rejections by reason from row `first` on, the commonest first: as JSON, the column `reasons`, if any.

    Those of requests are among them that had run before the row `first` and were sent back.
    """
    record, requests, counts = simulation.record, simulation.as_workload(), Counter[str]()
    begin = requests.arrival[first]
    for some in chain(blocks(simulation.offered, first), blocks(record.rows, len(simulation.workload))):
        rows = requests.leads(np.arange(some.start, some.stop))
        codes = record.reason[rows[(record.outcome[rows] == REJECTED) & ~(record.decided[rows] < begin)]]
        counts.update({record.reasons[code]: int(count) for code, count in enumerate(np.bincount(codes)) if count})
    return {"reasons": json.dumps(dict(counts.most_common()), ensure_ascii=False)} if counts else {}
