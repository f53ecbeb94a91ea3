"""What requests used, and what they lacked where a server was asked for more than it has: measured after a run."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.analysis.measure.stays import added_at
from binwright.simcore.extras import pl
from binwright.simcore.jit import kernel
from binwright.simcore.record import SPREAD
from binwright.simcore.types import QUANTUM, Floats, Ints

if TYPE_CHECKING:
    from binwright.analysis.measure.finished_run import FinishedRun

ROUNDED = 1 + 1e-9
"""What floats round is no contention."""


@kernel
def account(
    begin: float, end: float, active: Ints, use: Floats, server: Ints, node: Ints, start: Floats, stop: Floats,
    capacity: Ints, wanted: Floats, missing: Floats, contended: Floats, totals: Floats,
) -> None:  # fmt: skip
    """Add up the time from `begin` to `end`, in which `active` items int64 [n] use `use` float64 [n, resources] quanta.

    Items are on `server` and `node` int64 [items], from `start` to `stop` float64 [items]; those that are active are in
    order, and so are their servers. `capacity` is int64 [servers, nodes, resources].
    Adds quanta x seconds to `wanted` and `missing` float64 [items, resources], and seconds to `contended` float64
    [servers]; `totals` float64 [2, resources] gets the sums of what is wanted and missing.
    """
    _, nodes, resources = capacity.shape
    load, moments, first = np.empty((nodes, resources)), np.empty(2 * len(active) + 2), 0
    while first < len(active):
        s, last, count = server[active[first]], first, 2
        moments[0], moments[1] = begin, end
        while last < len(active) and server[active[last]] == s:
            for moment in (start[active[last]], stop[active[last]]):
                if begin < moment < end:
                    moments[count] = moment
                    count += 1
            last += 1
        moments[:count].sort()
        for k in range(count - 1):
            since, until, lacks = moments[k], moments[k + 1], False
            seconds = until - since
            if seconds <= 0:
                continue
            load[:] = 0.0
            for place in range(first, last):
                item = active[place]
                if start[item] <= since and stop[item] >= until:
                    for r in range(resources):
                        load[node[item], r] += use[place, r]
                        wanted[item, r] += use[place, r] * seconds
            for r in range(resources):
                for n in range(nodes):
                    totals[0, r] += load[n, r] * seconds
                    totals[1, r] += max(load[n, r] - capacity[s, n, r], 0.0) * seconds
                    lacks |= load[n, r] > capacity[s, n, r] * ROUNDED
            contended[s] += seconds * lacks
            for place in range(first, last if lacks else first):
                item = active[place]
                if start[item] <= since and stop[item] >= until:
                    for r in range(resources):
                        total, room = load[node[item], r], capacity[s, node[item], r]
                        if total > room * ROUNDED:
                            missing[item, r] += use[place, r] * (1 - room / total) * seconds
        first = last


@dataclass(frozen=True, eq=False)
class Contention:
    """Says how much was used, and lacked, within the measured time.

    Of each server `seconds` float64 [servers] are how long it was there, and `contended` float64 [servers] for how long
    some resource of some node was asked for more than it has. Of each request that ran, `wanted` and `missing` float64
    [requests, resources] are what it would have used, and what of that it did not get, in quanta x seconds. Over time,
    `time` float64 [steps + 1] are the ends of steps, `levels` float64 [steps, 2, resources] what was wanted and missing
    over all servers.
    """

    seconds: Floats
    contended: Floats
    wanted: Floats
    missing: Floats
    time: Floats
    levels: Floats

    @property
    def lacked(self) -> Floats:
        """The largest share of what it would have used of a resource that each request lacked, float64 [requests]."""
        shares = np.divide(self.missing, self.wanted, out=np.zeros_like(self.missing), where=self.wanted > 0)
        result: Floats = shares.max(axis=1, initial=0.0)
        return result


def contention_of(run: FinishedRun) -> Contention | None:
    """Measure a run; None where nobody says what its requests use, or nothing is held for any time."""
    use = run.requests.use
    if use is None or run.finish <= run.begin:
        return None
    row, amounts, server, node, start, stop = _items(run)
    use = use.take(row)  # so that what lies together is read together
    capacity, resources = np.ascontiguousarray(run.capacity), len(run.resources)
    wanted, missing, contended = *np.zeros((2, len(row), resources)), np.zeros(len(capacity))
    first, last = floor(run.begin / use.step), ceil(run.finish / use.step)
    time = np.clip(np.arange(first, last + 1) * use.step, run.begin, run.finish)
    levels = np.zeros((last - first, 2, resources))
    for k, (begin, end) in enumerate(zip(time[:-1].tolist(), time[1:].tolist(), strict=True)):
        active = np.flatnonzero((start < end) & (stop > begin))
        quanta = np.ascontiguousarray(use.at(active, first + k) * amounts[active])
        held = active, quanta, server, node, start, stop
        account(begin, end, *held, capacity, wanted, missing, contended, levels[k])
    seconds = run.finish - np.clip(added_at(run.simulation), run.begin, run.finish)
    return Contention(seconds, contended, *_by_request(run, row, wanted, missing), time, levels)


def _items(run: FinishedRun) -> tuple[Any, ...]:
    """List what is held within the measured time, in order of servers and of start.

    Returns the row of each item int64 [n], its `amounts` int64 [n, resources] quanta, and what `account` takes: server,
    node, start and end, each [n].
    """
    places, nodes = run.places, run.capacity.shape[1]
    while_measured = np.flatnonzero((places.start < run.finish) & (places.end > run.begin))
    spread = places.node[while_measured] == SPREAD
    several = np.repeat(while_measured, np.where(spread, nodes, 1))
    node, amounts = places.node[several].astype(np.int64), places.amounts[several].astype(np.int64)
    parts = np.repeat(spread, np.where(spread, nodes, 1))
    node[parts] = np.tile(np.arange(nodes), spread.sum())
    amounts[parts] = amounts[parts] // nodes + (node[parts, None] < amounts[parts] % nodes)
    row = run.held[places.who[several]]
    order = np.lexsort((places.start[several], places.server[several]))
    columns = row, amounts, places.server[several], node, places.start[several], places.end[several]
    return tuple(np.ascontiguousarray(column[order]) for column in columns)


def _by_request(run: FinishedRun, row: Ints, wanted: Floats, missing: Floats) -> tuple[Floats, Floats]:
    """Add up what rows wanted and missed to what requests did, those after the warm start that ran."""
    source, gangs = run.simulation.record.sources(row), run.requests.gangs
    if gangs is not None and gangs.first is not None:
        source = gangs.first[source]
    requests, of = np.unique(source, return_inverse=True)
    result = np.zeros((2, len(requests), wanted.shape[1]))
    for total, each in zip(result, (wanted, missing), strict=True):
        np.add.at(total, of, each)
    ours = requests >= run.first
    return result[0][ours], result[1][ours]


def over_time(run: FinishedRun) -> pl.DataFrame:
    """Return what was installed, allocated, wanted, used and missing in every step of use: means, in units.

    Columns: `time` from which on, `seconds`, then of each resource the five. Without rows where nobody says what is
    used.
    """
    result, resources = run.contention, run.resources
    time = np.array([run.begin, run.begin]) if result is None else result.time
    levels = np.zeros((0, 2, len(resources))) if result is None else result.levels
    seconds, places = np.diff(time), run.places
    installed = np.diff([run.installed(at) for at in time], axis=0)
    change = np.clip(np.concatenate([places.start, places.end]), run.begin, run.finish)
    order = np.argsort(change, kind="stable")
    columns = {"time": time[:-1], "seconds": seconds}
    for r, name in enumerate(resources):
        amounts = places.amounts[:, r]
        level = np.concatenate([amounts, -amounts])[order].cumsum()
        area = np.append(0.0, (level[:-1] * np.diff(change[order])).cumsum())[: len(level)]
        allocated = np.diff(np.interp(time, change[order], area)) if len(level) else 0.0 * seconds
        wanted, missing = levels[:, :, r].T
        of = {"capacity": installed[:, r], "allocated": allocated, "wanted": wanted}
        of |= {"used": wanted - missing, "missing": missing}
        columns |= {f"{kind}_{name}": each / np.maximum(seconds, 1e-12) / QUANTUM for kind, each in of.items()}
    return pl.DataFrame(columns).filter(pl.col("seconds") > 0)
