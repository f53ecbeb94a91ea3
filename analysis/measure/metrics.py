"""One run's figures, from what its record and its samples say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simcore.engine import Simulation
from simcore.errors import RunError
from simcore.record import IMPOSSIBLE, INTERRUPTED, PLACED, REJECTED
from simcore.vocabulary import QUANTUM, Floats, Ints

HOUR = 3600.0
NOTHING = "no request was offered to the agent: there is nothing to measure"

TOO_LARGE = "no request fits, even into the empty cluster: there is nothing to measure"


def measure(
    simulation: Simulation,
    first: int,
    prices: Mapping[str, float],
    samples: Mapping[str, Any],
    thought: int,
) -> dict[str, float | int]:
    """Every metric of a finished run whose requests before row `first` were its warm start.

    `prices` per unit and hour; `samples` as `Sampler.columns` gives them; `thought` the agent's nanoseconds.
    The measured time runs from the arrival of request `first` to the last decision. Allocations are shares of what is
    installed: weighted by time, the mean after every decision (`_decisions`), and after the last one (`_end`). Where
    every holding period ends, the makespan goes on until the last one has, and the utilisation is over all of it.
    Income is of what was held in the measured time; booked, where all of it ends, of the same placements to their ends.
    Fragmentation is the share of what is free that no flavour of the workload can use.
    """
    record, asked = simulation.record, simulation.asked()
    rows = slice(0, record.rows)
    outcome, decided, interruption = record.outcome[rows], record.decided[rows], record.interruption[rows]
    got_place = np.isin(outcome, (PLACED, INTERRUPTED))
    offered = np.arange(first, simulation.offered)
    placed = offered[got_place[offered]]
    if first == len(simulation.workload):
        raise RunError(NOTHING)
    begin = float(asked.arrival[first])
    finish = max(begin, float(np.nanmax(decided[first:], initial=begin)))
    cut = int((interruption >= begin).sum())
    origin = record.origin[rows]
    back = got_place & (origin >= 0) & (interruption[origin] >= begin)
    metrics: dict[str, float | int] = {
        "offered": len(offered),
        "scheduled": len(placed),
        "acceptance": _ratio(len(placed), len(offered)),
        "rejected": int((outcome[offered] == REJECTED).sum()),
        "impossible": int((outcome[offered] == IMPOSSIBLE).sum()),
        "interrupted": cut,
        "lost": cut - int(back.sum()),
        "hours": (finish - begin) / HOUR,
        "stopped": int(simulation.stopped),
        "servers": len(simulation.view.capacity),
        "servers_used": float(samples["in_use"].mean()),
    }
    waits = decided[placed] - asked.arrival[placed]
    metrics["wait_total"] = float(waits.sum())
    metrics["wait_mean"] = float(waits.mean()) if len(waits) else 0.0
    metrics["wait_p95"] = float(np.quantile(waits, 0.95, method="inverted_cdf")) if len(waits) else 0.0
    metrics["wait_max"] = float(waits.max(initial=0.0))

    held = np.flatnonzero(got_place)
    # Links are resources like others: what a placement reserves on a tier, of all that the tier has.
    tiers = simulation.ledger.tiers
    demand, start = np.hstack([asked.demand[held], simulation.ledger.reserved(held)]), decided[held]
    end = np.fmin(start + asked.duration[held], interruption[held])
    seconds = np.clip(np.minimum(end, finish) - np.maximum(start, begin), 0, None)
    steps, capacity = _capacity(simulation)
    capacity = np.hstack([capacity, np.tile(list(tiers.values()), (len(capacity), 1))]) if tiers else capacity
    there = np.diff(np.clip([*steps, finish], begin, finish)) @ capacity
    last = float(end.max(initial=begin))
    if last < np.inf:
        metrics["makespan"] = last - begin
        all_held = np.clip(end - np.maximum(start, begin), 0, None)
        all_there = np.diff(np.clip([*steps, last], begin, last)) @ capacity
    answered = np.array(record.sequence, np.int64)
    used = after_each(answered, decided[answered], held, end, demand)
    grown = [change.decisions for change in simulation.changes if change.what == "expansion"]
    share = used / capacity[np.searchsorted(grown, np.arange(len(answered)), side="right")]
    share = share[(answered >= first) & (decided[answered] >= begin)]
    if not len(share):
        raise RunError(NOTHING if (outcome[offered] != IMPOSSIBLE).any() else TOO_LARGE)
    for r, name in enumerate([*asked.resources, *tiers]):
        metrics[f"allocation_{name}"] = _ratio(float(seconds @ demand[:, r]), float(there[r]))
        metrics[f"allocation_{name}_decisions"] = float(share[:, r].mean())
        metrics[f"allocation_{name}_end"] = float(share[-1, r])
        if last < np.inf:
            metrics[f"utilisation_{name}"] = _ratio(float(all_held @ demand[:, r]), float(all_there[r]))
    # The load: what would be held if every request that some server could hold were placed when it arrives.
    loading = np.arange(simulation.offered)
    loading = loading[np.where(loading < first, got_place[loading], outcome[loading] != IMPOSSIBLE)]
    arrival = asked.arrival[loading]
    wanted = np.clip(np.minimum(arrival + asked.duration[loading], finish) - np.maximum(arrival, begin), 0, None)
    for r, name in enumerate(asked.resources):
        metrics[f"load_{name}"] = _ratio(float(wanted @ asked.demand[loading, r]), float(there[r]))
        free = samples["free"][:, r]
        metrics[f"fragmentation_{name}"] = float((samples["stranded"][:, r] / np.maximum(free, 1)).mean())
    if prices:
        source = np.arange(record.rows)
        for row in range(len(simulation.workload), record.rows):
            source[row] = source[origin[row]]
        new = source[held] >= first
        each = np.zeros(demand.shape[1])
        each[[asked.resources.index(name) for name in prices]] = list(prices.values())
        worth = demand[new] @ each / QUANTUM / HOUR
        metrics["income"] = float(seconds[new] @ worth)
        whole = end[new] - start[new]
        if np.isfinite(whole).all():
            metrics["income_booked"] = float(whole @ worth)
    metrics["decision_us"] = thought / 1000 / len(share)
    return metrics


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _capacity(simulation: Simulation) -> tuple[list[float], Ints]:
    """When the cluster's size changed, first -inf, and the capacity from then on, int64 [k, resources]."""
    added = [(change.time, change.subject) for change in simulation.changes if change.what == "expansion"]
    sizes = np.cumsum([len(simulation.view.capacity) - sum(by for _, by in added), *(by for _, by in added)])
    total = simulation.view.capacity.sum(axis=1).cumsum(axis=0)[sizes - 1]
    return [-np.inf, *(time for time, _ in added)], total


def after_each(answered: Ints, times: Floats, held: Ints, end: Floats, demand: Ints) -> Ints:
    """Quanta in use after every decision, int64 [k, resources].

    `answered` int64 [k] are the rows in order of decision, `times` float64 [k]; `held` int64 [h] are the rows that
    got a place, with their `end` [h] and `demand` [h, resources].
    """
    position = np.empty(answered.max(initial=0) + 1, np.int64)
    position[answered] = np.arange(len(answered))
    placed_at = position[held]
    gone_at = np.maximum(np.searchsorted(times, end, side="left"), placed_at + 1)
    change = np.zeros((len(answered) + 1, demand.shape[1]), np.int64)
    np.add.at(change, placed_at, demand)
    np.subtract.at(change, gone_at, demand)
    return change[:-1].cumsum(axis=0)
