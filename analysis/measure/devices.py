"""How much of the devices is in use, and how much of the rest is fragmented, after every decision of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from binwright.analysis.measure.stays import Order, stays
from binwright.fabric.devices import empty_devices
from binwright.fabric.fragmentation import CAUSES, USABLE, cpu_of, follow, typical
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.types import QUANTUM, Floats, Ints


@dataclass(frozen=True)
class DeviceHistory:
    """Holds a row per decision, in order, in devices.

    `row` int64 [n] is the request; `arrived` float64 [n] is what all requests up to it have asked for, `allocated`
    [n] what is held after the decision, `free` [n] what is not; `fragments` float64 [n, CAUSES] divides what is free
    by what keeps the usual requests from it.
    """

    row: Ints
    arrived: Floats
    allocated: Floats
    free: Floats
    fragments: Floats

    @property
    def fragmented(self) -> Floats:
        """What is free and not usable, float64 [n]."""
        found: Floats = self.fragments.sum(axis=1) - self.fragments[:, USABLE]
        return found


def history(simulation: Simulation, got_place: Ints, start: Floats, end: Floats) -> DeviceHistory | None:
    """Play a run's decisions again; None where servers have none, where they failed or were added, or requests evicted.

    `got_place` int64 [k] are the rows that got a place, `start` and `end` float64 [k] say when each begins and ends.
    """
    ledger, record = simulation.ledger, simulation.record
    changed = simulation.changes or simulation.preempting
    if ledger.devices is None or changed or not len(record.sequence):
        return None
    view, workload = ledger.view, simulation.workload
    answered = np.frombuffer(record.sequence, np.int32)
    lay = stays(simulation, got_place, start, end)
    held = got_place[lay.who]
    first, after = Order(answered, record.decided).lasting(held, lay.end)
    placed_at, gone_at = np.where(lay.first < 0, first, lay.first), np.where(lay.last < 0, after, lay.last)
    # Whoever moved on before the next decision was there after none.
    order = np.argsort(placed_at, kind="stable")
    order = order[gone_at[order] > placed_at[order]]
    held, placed_at, gone_at = held[order], placed_at[order], gone_at[order]
    last = np.array([ledger.devices.taken.get(row, 0) for row in held.tolist()], np.int64)
    taken = np.where(lay.devices[order] < 0, last, lay.devices[order])
    demand, empty = workload.demand, empty_devices(ledger.cluster)
    amounts = demand[held, view.resource]
    cpu = cpu_of(view)
    cores = demand[held, cpu] if cpu >= 0 else np.zeros(len(held), np.int64)
    room = view.capacity[:, 0, cpu].copy() if cpu >= 0 else np.zeros(len(view.capacity), np.int64)
    kinds, share = typical(view)
    out = np.zeros((len(answered), len(CAUSES)))
    follow(
        room,
        empty.free,
        empty.there,
        empty.model,
        kinds,
        share,
        lay.server[order],
        taken,
        np.ascontiguousarray(cores),
        np.ascontiguousarray(amounts),
        placed_at,
        gone_at,
        np.argsort(gone_at, kind="stable"),
        out,
    )
    change = np.zeros(len(answered) + 1, np.int64)
    np.add.at(change, placed_at, amounts)
    np.subtract.at(change, gone_at, amounts)
    allocated = change[:-1].cumsum() / QUANTUM
    arrived = demand[:, view.resource].cumsum()[answered] / QUANTUM
    total = int(view.devices.there.sum())
    return DeviceHistory(answered.astype(np.int64), arrived, allocated, total - allocated, out / 1000)
