"""What requests used, and what they lacked where a server was asked for more than it has: measured after a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from binwright.analysis.measure.costs.bill import USED
from binwright.analysis.measure.stays import added_at
from binwright.simcore.extras import pl
from binwright.simcore.jit import kernel
from binwright.simcore.record import SPREAD
from binwright.simcore.types import QUANTUM, Floats, Ints

if TYPE_CHECKING:
    from binwright.analysis.measure.finished_run import FinishedRun

ROUNDED = 1 + 1e-9
"""What floats round is no contention."""


class Items(NamedTuple):
    """Lists what is held on nodes of servers, in order of servers and of `start`.

    `server`, `node` int64 [n]; `start`, `end` float64 [n]; `amounts` int64 [n, resources] quanta.
    """

    server: Ints
    node: Ints
    start: Floats
    end: Floats
    amounts: Ints


@kernel
def account(
    begin: float, end: float, active: Ints, use: Floats, items: Items, capacity: Ints, wanted: Floats, missing: Floats,
    contended: Floats, totals: Floats, power: int, drawn: Floats,
) -> int:  # fmt: skip
    """Add up the time from `begin` to `end`, in which `active` items int64 [n] use `use` float64 [n, resources] quanta.

    The active items are in order, and so are their servers. `capacity` is int64 [servers, nodes, resources].
    Adds quanta x seconds to `wanted` and `missing` float64 [items, resources], and seconds to `contended` float64
    [servers]; `totals` float64 [3, resources] gets the sums of what is wanted and missing, and of the seconds in which
    servers lack a resource. Where `power` is a resource and not -1, `drawn` float64 [3 * items, 4] gets, of every time
    in which nothing changes on a server that holds something, the server, begin and end, and the quanta of it that are
    used; returns how many there are.
    """
    _, nodes, resources = capacity.shape
    load, moments, first, noted = np.empty((nodes, resources)), np.empty(2 * len(active) + 2), 0, 0
    while first < len(active):
        s, last, count = items.server[active[first]], first, 2
        moments[0], moments[1] = begin, end
        while last < len(active) and items.server[active[last]] == s:
            for moment in (items.start[active[last]], items.end[active[last]]):
                if begin < moment < end:
                    moments[count] = moment
                    count += 1
            last += 1
        moments[:count].sort()
        for k in range(count - 1):
            since, until, lacks, holds = moments[k], moments[k + 1], False, False
            seconds = until - since
            if seconds <= 0:
                continue
            load[:] = 0.0
            for place in range(first, last):
                item = active[place]
                if items.start[item] <= since and items.end[item] >= until:
                    for r in range(resources):
                        load[items.node[item], r] += use[place, r]
                        wanted[item, r] += use[place, r] * seconds
                        holds |= items.amounts[item, r] > 0
            for r in range(resources):
                lacks_one = False
                for n in range(nodes):
                    totals[0, r] += load[n, r] * seconds
                    totals[1, r] += max(load[n, r] - capacity[s, n, r], 0.0) * seconds
                    lacks_one |= load[n, r] > capacity[s, n, r] * ROUNDED
                totals[2, r] += seconds * lacks_one
                lacks |= lacks_one
            contended[s] += seconds * lacks
            for place in range(first, last if lacks else first):
                item = active[place]
                if items.start[item] <= since and items.end[item] >= until:
                    for r in range(resources):
                        total, there_is = load[items.node[item], r], capacity[s, items.node[item], r]
                        if total > there_is * ROUNDED:
                            missing[item, r] += use[place, r] * (1 - there_is / total) * seconds
            if power >= 0 and holds:
                used = 0.0
                for n in range(nodes):
                    used += min(load[n, power], float(capacity[s, n, power]))
                drawn[noted, 0], drawn[noted, 1], drawn[noted, 2], drawn[noted, 3] = s, since, until, used
                noted += 1
        first = last
    return noted


@dataclass(frozen=True, eq=False)
class Contention:
    """Says how much was used, and lacked, within the measured time.

    Of each server `seconds` float64 [servers] are how long it was there, and `contended` float64 [servers] for how long
    some resource of some node was asked for more than it has. Of each request that ran, `wanted` and `missing` float64
    [requests, resources] are what it would have used, and what of that it did not get, in quanta x seconds. Over time,
    `time` float64 [steps + 1] are the ends of steps, `levels` float64 [steps, 3, resources] what was wanted, was
    missing, and the seconds contended, over all servers.
    `drawn` are the spells of `bill.spells_of` with what was used of the resource that power goes by, where something
    draws power.
    """

    seconds: Floats
    contended: Floats
    wanted: Floats
    missing: Floats
    time: Floats
    levels: Floats
    drawn: pl.DataFrame | None = None

    @property
    def lacked(self) -> Floats:
        """The largest share of what it would have used of a resource that each request lacked, float64 [requests]."""
        shares = np.divide(self.missing, self.wanted, out=np.zeros_like(self.missing), where=self.wanted > 0)
        result: Floats = shares.max(axis=1, initial=0.0)
        return result


def contention_of(run: FinishedRun) -> Contention | None:
    """Measure a run; None where nobody says what its requests use, or nothing is held for any time."""
    use = run.asked.use
    if use is None or run.finish <= run.begin:
        return None
    row, items = _items(run)
    use = use.take(row)  # so that what lies together is read together
    capacity, resources = np.ascontiguousarray(run.capacity), len(run.resources)
    wanted, missing, contended = *np.zeros((2, len(row), resources)), np.zeros(len(capacity))
    first, last = floor(run.begin / use.step), ceil(run.finish / use.step)
    time = np.clip(np.arange(first, last + 1) * use.step, run.begin, run.finish)
    levels = np.zeros((last - first, 3, resources))
    power = run.costs.resource if run.costs is not None and run.costs.has_power else -1
    drawn = [np.zeros((0, 4))]
    for k, ((begin, end), active) in enumerate(zip(pairwise(time.tolist()), _active(items, time), strict=True)):
        quanta = np.ascontiguousarray(use.at(active, first + k) * items.amounts[active])
        result = np.empty((3 * len(active) if power >= 0 else 0, 4))
        totals = wanted, missing, contended, levels[k]
        drawn.append(result[: account(begin, end, active, quanta, items, capacity, *totals, power, result)].copy())
    seconds = run.finish - np.clip(added_at(run.simulation), run.begin, run.finish)
    parts = Contention(seconds, contended, *_by_request(run, row, wanted, missing), time, levels)
    if power < 0:
        return parts
    spells = pl.DataFrame(np.concatenate(drawn), ["server", "begin", "end", "used"], orient="row")
    whole = pl.col("server").cast(pl.Int64), pl.Series("used", np.rint(spells["used"].to_numpy())).cast(pl.Int64)
    return replace(parts, drawn=spells.with_columns(*whole, state=pl.lit(USED)))


def _active(items: Items, time: Floats) -> Iterator[Ints]:
    """Yield for each step the items that are held in it, int64 [n], in their order."""
    by_start = np.argsort(items.start, kind="stable")
    begun = np.searchsorted(items.start[by_start], np.append(-np.inf, time[1:]))
    active = np.zeros(0, np.int64)
    for k, begin in enumerate(time[:-1].tolist()):
        active = np.concatenate([active, np.sort(by_start[begun[k] : begun[k + 1]])])
        active = np.sort(active[items.end[active] > begin], kind="stable")  # which merges two that are in order
        yield active


def _items(run: FinishedRun) -> tuple[Ints, Items]:
    """List what is held within the measured time, with the row of each item, int64 [n]."""
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
    columns = places.server[several], node, places.start[several], places.end[several], amounts
    return row[order], Items(*(np.ascontiguousarray(column[order]) for column in columns))


def _by_request(run: FinishedRun, row: Ints, wanted: Floats, missing: Floats) -> tuple[Floats, Floats]:
    """Add up what rows wanted and missed to what requests did, those after the warm start that ran."""
    source, gangs = run.simulation.record.sources(row), run.asked.gangs
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

    Columns: `time` from which on, `seconds`, then of each resource the five, and `contended_cpu`, the share of the
    servers' time in which it was missing. Without rows where nobody says what is used.
    """
    result, resources = run.contention, run.resources
    time = np.array([run.begin, run.begin]) if result is None else result.time
    levels = np.zeros((0, 3, len(resources))) if result is None else result.levels
    seconds, places = np.diff(time), run.places
    installed = np.diff([run.installed(at) for at in time], axis=0)
    change = np.clip(np.concatenate([places.start, places.end]), run.begin, run.finish)
    order = np.argsort(change, kind="stable")
    servers = np.diff([np.clip(at - added_at(run.simulation), 0, at - run.begin).sum() for at in time])
    columns = {"time": time[:-1], "seconds": seconds}
    for r, name in enumerate(resources):
        amounts = places.amounts[:, r]
        level = np.concatenate([amounts, -amounts])[order].cumsum()
        area = np.append(0.0, (level[:-1] * np.diff(change[order])).cumsum())[: len(level)]
        allocated = np.diff(np.interp(time, change[order], area)) if len(level) else 0.0 * seconds
        wanted, missing, contended = levels[:, :, r].T
        of = {"capacity": installed[:, r], "allocated": allocated, "wanted": wanted}
        of |= {"used": wanted - missing, "missing": missing}
        columns |= {f"{kind}_{name}": each / np.maximum(seconds, 1e-12) / QUANTUM for kind, each in of.items()}
        columns[f"contended_{name}"] = contended / np.maximum(servers, 1e-12)
    return pl.DataFrame(columns).filter(pl.col("seconds") > 0)
