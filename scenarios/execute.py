"""One run, from its plan to its row of figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.metrics import measure
from analysis.samples import Sampler
from fabric.ledger import Ledger
from scenarios.build import (
    build_agent,
    build_expansion,
    build_faults,
    build_ledger,
    build_overflow,
    build_pacing,
    build_workload,
)
from scenarios.details import write_requests, write_samples
from scenarios.plan import Run
from scenarios.schema import WarmStart
from simcore.engine import Overflow, Simulation, play
from simcore.errors import RunError
from simcore.rng import stream
from simcore.vocabulary import View


def execute(run: Run, folder: Path) -> dict[str, Any]:
    """Every metric of a run; writes what the scenario wants recorded into `folder`/details."""
    scenario = run.scenario
    ledger = build_ledger(scenario)
    simulation = Simulation(
        build_workload(scenario, run.seed, cache_of(folder)),
        ledger,
        build_overflow(scenario),
        expansion=build_expansion(scenario),
        faults=build_faults(scenario, run.seed),
        pacing=build_pacing(scenario),
    )
    if scenario.warm_start:
        _warm(simulation, ledger, scenario.warm_start, run.seed)
    first = simulation.offered
    agent = build_agent(run.agent)
    agent.start(simulation.view, stream(run.seed, "agent"))
    sampler = Sampler(simulation, ledger)
    thought = play(simulation, agent, sampler)
    sampler()  # how it ended
    samples = sampler.columns()
    metrics = measure(simulation, first, scenario.hourly, samples, thought)
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
    return dict(metrics)


def cache_of(folder: Path) -> Path:
    """Where converted traces are kept: beside the results, for all of them."""
    return folder.absolute().parent / ".traces"


def _warm(simulation: Simulation, ledger: Ledger, warm: WarmStart, seed: int) -> None:
    """Place requests with the warm start's agent, skipping misfits, until enough is allocated."""
    overflow, simulation.overflow = simulation.overflow, Overflow("drop")
    agent = build_agent(warm.agent)
    agent.start(simulation.view, stream(seed, "warm-start"))
    progress = _Reached(simulation.view, ledger, simulation.workload.demand.max(axis=0).tolist(), warm)
    play(simulation, agent, progress)
    if not progress.reached:
        raise RunError(
            f"the warm start never reached {warm.until:.0%} of {warm.resource}: all {len(simulation.workload)} "
            f"requests were offered, and {progress.share:.1%} is allocated. Give it more requests, fewer servers, or a "
            "lower `until`"
        )
    simulation.overflow = overflow


class _Reached:
    """The `watch` that ends a warm start."""

    def __init__(self, view: View, ledger: Ledger, largest: list[int], warm: WarmStart) -> None:
        self._view = view
        self._ledger = ledger
        self._resource = view.resources.index(warm.resource)
        self._largest = largest[self._resource]
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
