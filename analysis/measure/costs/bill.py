"""What the servers of a run cost and came to: hours, energy, carbon and money, exactly over the measured time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor, inf, log2

import numpy as np

from analysis.measure.costs.over_time import HOUR, TimeSeries
from analysis.measure.costs.server_intervals import (
    FAILED,
    OFF,
    USED,
    Held,
    Stretches,
    added_at,
    levels,
    outages_of,
    stretches,
    switching,
)
from analysis.measure.costs.tariffs import CostsSpec, Tariff
from simcore.engine import Simulation
from simcore.ordered_sums import dot
from simcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Costs:
    """Says what the servers of a run cost, as `spec` has it.

    `kinds` int64 [servers] are places in `tariffs`, `added` is that of servers that are added, and `resource` is the
    place among the resources of the one that power goes by. A kWh is paid at `electricity` and emits `carbon` grams.
    """

    spec: CostsSpec
    tariffs: tuple[Tariff, ...]
    kinds: Ints
    added: int
    resource: int
    electricity: TimeSeries | None = None
    carbon: TimeSeries | None = None

    @property
    def has_power(self) -> bool:
        """Whether it is known what servers draw."""
        return all(tariff.power is not None for tariff in self.tariffs)

    @property
    def has_prices(self) -> bool:
        """Whether it is known what servers cost."""
        return all(tariff.price is not None for tariff in self.tariffs)

    @property
    def pue(self) -> float:
        """Energy in all for each kWh of the servers."""
        return self.spec.electricity.pue if self.spec.electricity else 1.0


KWH = 3.6e6
"""Joules of a kilowatt-hour."""


@dataclass(frozen=True, slots=True)
class Bill:
    """Says what the servers came to within the measured time; None is not known.

    Hours times servers: `there` from when they are there, `on` of these, neither failed nor switched off, `used` of
    these, holding something. `woken` counts how often one that was off was needed. `energy` is in kWh, `power` and
    `peak` in kW, on average and at most, `carbon` in kg; `servers`, `electricity` and `moves` are money.
    """

    there: float
    on: float
    used: float
    woken: int
    energy: float | None = None
    power: float | None = None
    peak: float | None = None
    carbon: float | None = None
    servers: float | None = None
    electricity: float | None = None
    moves: float | None = None

    @property
    def cost(self) -> float | None:
        """All money together; None where nothing has a price."""
        known = [part for part in (self.servers, self.electricity, self.moves) if part is not None]
        return sum(known) if known else None


def bill_of(costs: Costs, simulation: Simulation, held: Held, begin: float, finish: float) -> Bill:
    """Add up what the servers of a run came to between two times, who held something as in `held`.

    Raises RunError where values over time end before the run does.
    """
    added = added_at(simulation)
    off = costs.spec.switch_off
    all_of_them, woken = switching(stretches(added, outages_of(simulation), held), off.after if off else inf)
    woken = woken[(woken >= begin) & (woken <= finish)]
    spent = all_of_them.within(begin, finish)
    is_on = (spent.state != FAILED) & (spent.state != OFF)
    there = float(np.clip(finish - np.maximum(added, begin), 0, None).sum()) / HOUR
    on, used = (float(spent.seconds[which].sum()) / HOUR for which in (is_on, spent.state == USED))
    kind = np.append(costs.kinds, np.full(len(added) - len(costs.kinds), costs.added))
    found = Bill(there, on, used, len(woken))
    if costs.has_prices:
        paid = spent.take(is_on)
        servers = sum(
            _rent(paid.take(kind[paid.server] == number), tariff, finish - begin)
            for number, tariff in enumerate(costs.tariffs)
        )
        found = replace(found, servers=float(servers))
    if not costs.has_power:
        return found
    watts = costs.pue * _watts(costs, spent, kind, simulation.ledger.installed.sum(axis=1)[:, costs.resource])
    waking = costs.pue * off.waking * HOUR if off else 0.0
    energy = (dot(watts, spent.seconds) + waking * len(woken)) / KWH
    found = replace(
        found,
        energy=energy,
        power=energy / ((finish - begin) / HOUR) if finish > begin else 0.0,
        peak=_most(spent, watts, len(added)) / 1000,
    )
    if costs.carbon:
        found = replace(found, carbon=_over(costs.carbon, spent, watts, woken, waking, finish) / 1000)
    if costs.electricity:
        found = replace(found, electricity=_over(costs.electricity, spent, watts, woken, waking, finish))
    return found


def _rent(on: Stretches, tariff: Tariff, seconds: float) -> float:
    """Return what servers of one tariff cost: the reserved ones all the time, those beyond while they are on."""
    price = tariff.price or 0.0
    reserved = tariff.reserved
    if reserved is None:
        return price * float(on.seconds.sum()) / HOUR
    times, count = levels(on, np.ones(len(on.server), np.int64))
    beyond = dot(np.clip(count[:-1] - reserved.count, 0, None), np.diff(times)) if len(times) else 0.0
    return (reserved.count * reserved.price * seconds + price * beyond) / HOUR


def _watts(costs: Costs, spent: Stretches, kind: Ints, capacity: Ints) -> Floats:
    """Return what the server of each stretch draws, float64 [n]; `capacity` int64 [servers] is of the resource."""
    share = np.minimum(costs.spec.activity * spent.used / np.maximum(capacity[spent.server], 1), 1.0)
    found = np.zeros(len(share))
    for number, tariff in enumerate(costs.tariffs):
        curve = tariff.power.points if tariff.power else (0.0, 0.0)
        mine = kind[spent.server] == number
        found[mine] = np.interp(share[mine], np.linspace(0, 1, len(curve)), curve)
    found[spent.state == OFF] = costs.spec.switch_off.power if costs.spec.switch_off else 0.0
    found[spent.state == FAILED] = 0.0
    return found


def _most(spent: Stretches, watts: Floats, servers: int) -> float:
    """Return the most that so many servers draw at once, in watts.

    It is added up in whole numbers, parts of a watt that are as small as an int64 has room for.
    """
    largest = float(watts.max(initial=0.0)) * servers
    if not largest:
        return 0.0
    parts = 2.0 ** floor(log2(2.0**61 / largest))
    _, drawn = levels(spent, np.rint(watts * parts).astype(np.int64))
    return float(drawn.max(initial=0)) / parts


def _over(course: TimeSeries, spent: Stretches, watts: Floats, woken: Floats, waking: float, finish: float) -> float:
    """Add up energy times what a kWh of it comes to at its time; `waking` joules at each time in `woken`."""
    course.check(finish)
    drawn = dot(watts, course.until(spent.end) - course.until(spent.begin))
    return (drawn + waking * float(course.at(woken).sum())) / KWH
