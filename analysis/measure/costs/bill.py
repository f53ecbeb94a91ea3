"""What the servers of a run cost and came to: hours, energy, carbon and money, exactly over the measured time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor, inf, log2
from typing import NamedTuple

import numpy as np

from binwright.analysis.measure.costs.server_intervals import (
    COLUMNS,
    FAILED,
    OFF,
    USED,
    Bools,
    Held,
    Stretches,
    added_at,
    levels,
    outages_of,
    stretches,
    switching,
)
from binwright.analysis.measure.costs.tariffs import CostsSpec, Tariff
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.ordered_sums import dot
from binwright.simcore.time_series import HOUR, TimeSeries
from binwright.simcore.types import Floats, Ints


class SiteEnergy(NamedTuple):
    """Says what a kWh of the servers of a site comes to: `pue` kWh in all, each paid at `price`, emitting `carbon`."""

    name: str
    pue: float
    price: TimeSeries | None
    carbon: TimeSeries | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Costs:
    """Says what the servers of a run cost, as `spec` has it.

    `kinds` int64 [servers] are places in `tariffs`, `added` is that of servers that are added, and `resource` is the
    place among the resources of the one that power goes by. A kWh is paid at `electricity` and emits `carbon` grams.
    Where there are `sites`, `site` int64 [servers] is the place of each server's among them.
    """

    spec: CostsSpec
    tariffs: tuple[Tariff, ...]
    kinds: Ints
    added: int
    resource: int
    electricity: TimeSeries | None = None
    carbon: TimeSeries | None = None
    sites: tuple[SiteEnergy, ...] = ()
    site: Ints | None = None

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
        """Energy in all for each kWh of the servers that are at no site."""
        return self.spec.electricity.pue if self.spec.electricity else 1.0

    @property
    def energy(self) -> tuple[SiteEnergy, ...]:
        """What the energy of each site comes to, or of all servers where there are no sites."""
        return self.sites or (SiteEnergy("", self.pue, self.electricity, self.carbon),)

    def at(self, servers: Ints) -> Ints:
        """Return the place in `energy` of each of these servers, int64 of the same shape."""
        return np.zeros_like(servers) if self.site is None else self.site[servers]


KWH = 3.6e6
"""Joules of a kilowatt-hour."""


class SiteBill(NamedTuple):
    """Says what the servers of a site came to, as a `Bill` does; `servers` is None where some are reserved."""

    energy: float
    carbon: float | None
    servers: float | None
    electricity: float | None


class HourOfSite(NamedTuple):
    """Says from when on an hour is, and what a site came to in it: kWh, kg and money; None is not known."""

    time: float
    site: str
    energy: float
    carbon: float | None
    electricity: float | None


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
    sites: tuple[SiteBill, ...] = ()

    @property
    def cost(self) -> float | None:
        """All money together; None where nothing has a price."""
        known = [part for part in (self.servers, self.electricity, self.moves) if part is not None]
        return sum(known) if known else None


def bill_of(
    costs: Costs, simulation: Simulation, held: Held, begin: float, finish: float, in_use: Stretches | None = None
) -> Bill:
    """Add up what the servers of a run came to between two times, who held something as in `held`.

    Where it is known what was `in_use` of what was held between the two times, power goes by that.
    Raises RunError where values over time end before the run does.
    """
    added, rates = added_at(simulation), costs.energy
    here = drawn_by(costs, simulation, held, begin, finish, in_use)
    spent = here.spent
    is_on = (spent.state != FAILED) & (spent.state != OFF)
    paid = spent.take(is_on)
    kind = here.kind[paid.server]
    found = Bill(
        there=float(np.clip(finish - np.maximum(added, begin), 0, None).sum()) / HOUR,
        on=float(paid.seconds.sum()) / HOUR,
        used=float(spent.seconds[spent.state == USED].sum()) / HOUR,
        woken=len(here.woken),
    )
    if costs.has_prices:
        rents = (_rent(paid.take(kind == n), tariff, finish - begin) for n, tariff in enumerate(costs.tariffs))
        found = replace(found, servers=float(sum(rents)))
    if not costs.has_power:
        return found
    parts = [here.at(costs.at(spent.server) == site, costs.at(here.waker) == site) for site in range(len(rates))]
    energies = [part.over(None, finish) for part in parts]
    carbon = [part.over(rate.carbon, finish) / 1000 for part, rate in zip(parts, rates, strict=True) if rate.carbon]
    money = [part.over(rate.price, finish) for part, rate in zip(parts, rates, strict=True) if rate.price]
    energy, none = sum(energies), [None] * len(rates)
    found = replace(
        found,
        energy=energy,
        power=energy / ((finish - begin) / HOUR) if finish > begin else 0.0,
        peak=_most(spent, here.watts, len(added)) / 1000,
        carbon=sum(carbon) if len(carbon) == len(rates) else None,
        electricity=sum(money) if len(money) == len(rates) else None,
    )
    if not costs.sites:
        return found
    prices = [tariff.price for tariff in costs.tariffs if tariff.price is not None and tariff.reserved is None]
    rent: list[float] = []
    if len(prices) == len(costs.tariffs):
        hourly = np.array(prices, np.float64)[kind] * paid.seconds / HOUR
        rent = np.bincount(costs.at(paid.server), hourly, len(rates)).tolist()
    columns = (some if len(some) == len(rates) else none for some in (carbon, rent, money))
    return replace(found, sites=tuple(SiteBill(*one) for one in zip(energies, *columns, strict=True)))


def drawn_by(
    costs: Costs, simulation: Simulation, held: Held, begin: float, finish: float, used: Stretches | None
) -> Drawn:
    """Find what servers did and drew between two times, who held something as in `held`, and `used` so much of it."""
    added, off = added_at(simulation), costs.spec.switch_off
    all_of_them, waker, woken = switching(stretches(added, outages_of(simulation), held), off.after if off else inf)
    now = (woken >= begin) & (woken <= finish)
    waker, woken, spent = waker[now], woken[now], all_of_them.within(begin, finish)
    if used is not None:
        others = spent.take(spent.state != USED)
        spent = Stretches(*(np.concatenate([getattr(others, name), getattr(used, name)]) for name in COLUMNS))
    kind = np.append(costs.kinds, np.full(len(added) - len(costs.kinds), costs.added))
    pue = np.array([rate.pue for rate in costs.energy])
    watts = np.zeros(len(spent.server))
    if costs.has_power:
        capacity = simulation.ledger.installed.sum(axis=1)[:, costs.resource]
        watts = pue[costs.at(spent.server)] * _watts(costs, spent, kind, capacity)
    waking = pue[costs.at(waker)] * (off.waking * HOUR if off else 0.0)
    return Drawn(kind, spent, watts, waker, woken, waking)


def by_hour(
    costs: Costs, simulation: Simulation, held: Held, begin: float, finish: float, used: Stretches | None
) -> list[HourOfSite]:
    """List what each site came to in every whole hour of the clock between two times, parts at the ends included."""
    drawn, found = drawn_by(costs, simulation, held, begin, np.nextafter(finish, inf), used), []
    for hour in range(floor(begin / HOUR), floor(finish / HOUR) + 1):
        here = drawn.within(hour * HOUR, (hour + 1) * HOUR)
        for site, rate in enumerate(costs.energy):
            part = here.at(costs.at(here.spent.server) == site, costs.at(here.waker) == site)
            carbon = part.over(rate.carbon, finish) / 1000 if rate.carbon else None
            money = part.over(rate.price, finish) if rate.price else None
            found.append(HourOfSite(hour * HOUR, rate.name, part.over(None, finish), carbon, money))
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


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Holds what servers did and drew: `watts` float64 [n] in each stretch, and `waking` joules float64 [k] at times.

    `waker` int64 [k] is the server that was woken at each time in `woken` float64 [k], and `kind` int64 [servers] the
    place of each server's tariff. The PUE is counted.
    """

    kind: Ints
    spent: Stretches
    watts: Floats
    waker: Ints
    woken: Floats
    waking: Floats

    def at(self, spent: Bools, woken: Bools) -> Drawn:
        """Take some stretches, bool [n], and some times of waking, bool [k]."""
        return replace(
            self,
            spent=self.spent.take(spent),
            watts=self.watts[spent],
            waker=self.waker[woken],
            woken=self.woken[woken],
            waking=self.waking[woken],
        )

    def within(self, begin: float, finish: float) -> Drawn:
        """Keep what was drawn from a time on, to before another one."""
        some = self.at(
            (self.spent.end > begin) & (self.spent.begin < finish), (self.woken >= begin) & (self.woken < finish)
        )
        return replace(some, spent=some.spent.within(begin, finish))

    def over(self, course: TimeSeries | None, finish: float) -> float:
        """Add up energy times what a kWh of it comes to at its time, by default 1."""
        if course is None:
            return (dot(self.watts, self.spent.seconds) + float(self.waking.sum())) / KWH
        course.check(finish)
        drawn = dot(self.watts, course.until(self.spent.end) - course.until(self.spent.begin))
        return (drawn + dot(self.waking, course.at(self.woken))) / KWH
