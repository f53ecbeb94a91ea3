"""How much of the devices is in use, and how much of the rest is fragmented, after every decision of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from binwright.analysis.measure.stays import lasting
from binwright.fabric.devices import empty_devices
from binwright.fabric.fragmentation import CAUSES, cpu_of, follow, typical
from binwright.simcore.extras import pl
from binwright.simcore.types import QUANTUM

if TYPE_CHECKING:
    from binwright.analysis.measure.finished_run import FinishedRun


def history(run: FinishedRun) -> pl.DataFrame | None:
    """Play a run's decisions again; None where servers have none, some failed or were added, or requests gave way.

    A row is a decision, in order, and numbers are devices: the `row` of the request, what all requests up to it have
    asked for (`arrived`), what is held after it (`allocated`), what is not (`free`), and by each cause the part of that
    which it keeps from the usual requests.
    """
    simulation, ledger, answered = run.simulation, run.simulation.ledger, run.sequence
    changed = simulation.changes or simulation.preempting
    if ledger.devices is None or changed or not len(answered):
        return None
    view, lay = ledger.view, run.places
    held = run.held[lay.who]
    first, after = lasting(simulation, held, lay.end)
    placed_at, gone_at = np.where(lay.first < 0, first, lay.first), np.where(lay.last < 0, after, lay.last)
    # Whoever moved on before the next decision was there after none.
    order = np.argsort(placed_at, kind="stable")
    order = order[gone_at[order] > placed_at[order]]
    held, placed_at, gone_at = held[order], placed_at[order], gone_at[order]
    last = np.array([ledger.devices.taken.get(row, 0) for row in held.tolist()], np.int64)
    taken = np.where(lay.devices[order] < 0, last, lay.devices[order])
    demand, empty, cpu = simulation.workload.demand, empty_devices(ledger.cluster), cpu_of(view)
    amounts = np.ascontiguousarray(demand[held, view.resource])
    cores = np.ascontiguousarray(demand[held, cpu]) if cpu >= 0 else np.zeros(len(held), np.int64)
    room = view.capacity[:, 0, cpu].copy() if cpu >= 0 else np.zeros(len(view.capacity), np.int64)
    out, devices = np.zeros((len(answered), len(CAUSES))), (empty.free, empty.there, empty.model)
    ends = np.argsort(gone_at, kind="stable")
    follow(room, *devices, *typical(view), lay.server[order], taken, cores, amounts, placed_at, gone_at, ends, out)
    change = np.zeros(len(answered) + 1, np.int64)
    np.add.at(change, placed_at, amounts)
    np.subtract.at(change, gone_at, amounts)
    allocated = change[:-1].cumsum() / QUANTUM
    arrived = demand[:, view.resource].cumsum()[answered] / QUANTUM
    total = int(view.devices.there.sum())
    columns = {"row": answered.astype(np.int64), "arrived": arrived, "allocated": allocated, "free": total - allocated}
    fragments = zip(CAUSES, (out / 1000).T, strict=True)
    return pl.DataFrame({**columns, **{f"fragments_{cause}": part for cause, part in fragments}})
