"""Takes snapshots of clusters in use: what runs at some moments of a world's runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from agents import AGENTS
from agents.rules.moving import Standing, standing
from agents.world import World
from simcore.engine import Simulation
from simcore.moves import Running
from simcore.play import play
from simcore.rng import stream
from simcore.vocabulary import View

BEGIN = 0.5
"""Snapshots are taken after this share of a run's requests."""


def running_in(simulation: Simulation) -> Running:
    """List what runs in a simulation now."""
    rows = np.array(sorted(simulation.ledger.running), np.int64)
    record, workload = simulation.record, simulation.workload
    told = record.decided[rows] + workload.told[rows] - simulation.now
    return Running(
        rows,
        record.server[rows].astype(np.int64),
        record.node[rows].astype(np.int64),
        workload.demand[rows],
        np.maximum(told, 0.0),
        simulation.request,
    )


def snapshots(world: World, seed: int, agent: str, count: int) -> Iterator[tuple[View, Running]]:
    """Yield the cluster at so many moments of a run, evenly spaced over its later part; valid until the next one."""
    simulation = world.simulation(seed)
    rows = len(simulation.workload)
    times = simulation.workload.arrival[np.linspace(BEGIN * rows, rows - 1, count).astype(np.int64)]
    filler = AGENTS.load(agent)()
    filler.start(simulation.view, stream(seed, "agent"))
    for time in times.tolist():
        play(simulation, filler, _until(simulation, time))
        yield simulation.view, running_in(simulation)


def _until(simulation: Simulation, time: float) -> Callable[[], int]:
    return lambda: int(simulation.now < time)


def standings(world: World, seed: int, agent: str, count: int) -> list[Standing]:
    """Copy what runs at so many moments of a run."""
    return [standing(view, running) for view, running in snapshots(world, seed, agent, count) if len(running.row)]
