"""What the servers of a run cost and came to: hours, energy, carbon and money, exactly over the measured time."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf, log2
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.analysis.measure.costs.tariffs import CostsSpec, Tariff
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.ordered_sums import dot
from binwright.simcore.time_series import HOUR, TimeSeries
from binwright.simcore.types import Floats, Ints

EMPTY, USED, FAILED, OFF = range(4)
KWH = 3.6e6
"""Joules of a kilowatt-hour."""
Bools = npt.NDArray[np.bool_]

# -- what is known of costs, and what is found -------------------------------------------------------------------------


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


@dataclass(slots=True)
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


# -- what every server did ---------------------------------------------------------------------------------------------


class Stretches(NamedTuple):
    """Holds stretches of time in which nothing about a server changes, none of them of no length.

    `server` int64 [n], `begin` and `end` float64 [n], which may be infinite; `used` int64 [n] quanta of one resource
    that are held on the server all the time, and `state` int8 [n]: EMPTY, USED, FAILED or OFF.
    """

    server: Ints
    begin: Floats
    end: Floats
    used: Ints
    state: npt.NDArray[np.int8]

    def take(self, which: Bools) -> Stretches:
        """Take some of them, by bool [n]."""
        return Stretches._make(column[which] for column in self)

    def joined(self, others: Stretches) -> Stretches:
        """Put others behind them."""
        pairs: Any = zip(self, others, strict=True)
        return Stretches._make(map(np.concatenate, pairs))

    def within(self, begin: float, finish: float) -> Stretches:
        """Cut off what is before or after a time."""
        first, last = np.maximum(self.begin, begin), np.minimum(self.end, finish)
        return self._replace(begin=first, end=last).take(last > first)

    @property
    def seconds(self) -> Floats:
        """How long each is, float64 [n]."""
        found: Floats = self.end - self.begin
        return found


class Held(NamedTuple):
    """Lists what is held on servers: `server` int64 [k], `start` and `end` float64 [k], `amount` int64 [k] quanta."""

    server: Ints
    start: Floats
    end: Floats
    amount: Ints


def stretches(added: Floats, outages: Held, held: Held) -> Stretches:
    """Divide the time of each server, from when it is `added` float64 [servers] on, where something about it changes.

    They are in order of servers, and of time. What is held for no time counts for nothing. The amounts of `outages`
    do not count.
    """
    lasting = held.end > held.start
    parts = Held._make(column[lasting] for column in held)
    server = np.concatenate([np.arange(len(added)), outages.server, outages.server, parts.server, parts.server])
    time = np.concatenate([added, outages.start, outages.end, parts.start, parts.end])
    begun, out = len(added), len(outages.server)
    first = begun + 2 * out
    changes = np.zeros((3, len(server)), np.int64)  # of what is held, by how many, and of outages
    changes[0, first:] = np.concatenate([parts.amount, -parts.amount])
    changes[1, first:] = np.repeat([1, -1], len(parts.server))
    changes[2, begun:first] = np.repeat([1, -1], out)
    order = np.argsort(time)
    narrow = np.uint16 if len(added) <= 1 << 16 else np.uint32  # which are sorted many times faster
    order = order[np.argsort(server[order].astype(narrow), kind="stable")]
    server, time = server[order], time[order]
    used, holders, outs = changes[:, order].cumsum(axis=1)  # all that begins ends, so each server begins from 0
    end = np.append(np.where(server[1:] == server[:-1], time[1:], np.inf), np.inf)
    state = np.where(outs > 0, FAILED, np.where(holders > 0, USED, EMPTY)).astype(np.int8)
    return Stretches(server, time, end, used, state).take(end > time)


def switching(all_on: Stretches, after: float) -> tuple[Stretches, Ints, Floats]:
    """Switch servers off that were empty for longer than `after` seconds, until they fail or are used.

    Returns the stretches, in no order, and which servers were woken to be used, int64 [n], and when, float64 [n].
    """
    off_from = np.where(all_on.state == EMPTY, all_on.begin + after, np.inf)
    sleeps = off_from < all_on.end
    on = all_on._replace(end=np.minimum(all_on.end, off_from))
    off = all_on._replace(begin=off_from, state=np.full(len(sleeps), OFF, np.int8)).take(sleeps)
    used_next = np.append((all_on.server[1:] == all_on.server[:-1]) & (all_on.state[1:] == USED), False)
    woken = sleeps & used_next
    return on.take(on.end > on.begin).joined(off), all_on.server[woken], all_on.end[woken]


def levels(some: Stretches, amount: Ints) -> tuple[Floats, Ints]:
    """Add up what holds at a time, `amount` int64 [n] in each of some stretches.

    Returns the times at which the sum may change, float64 [k], and the sum from each on, int64 [k]. It is fast where
    the stretches of a server are in order. Whole numbers add up to the same in any order, so that it does not matter
    how equal times are sorted.
    """
    goes_on = (some.server[1:] == some.server[:-1]) & (some.begin[1:] == some.end[:-1])
    change = amount.copy()
    change[1:] -= np.where(goes_on, amount[:-1], 0)
    ends = np.append(~goes_on, True)[: len(amount)]
    time = np.concatenate([some.begin, some.end[ends]])
    change = np.concatenate([change, -amount[ends]])
    time, change = time[change != 0], change[change != 0]
    order = np.argsort(time)
    time, total = time[order], change[order].cumsum()
    last = np.append(time[1:] != time[:-1], True)[: len(time)]
    return time[last], total[last]


def outages_of(simulation: Simulation, kind: str = "server") -> Held:
    """List when parts of a kind were out of service; those that never came back are for ever."""
    since: dict[int, float] = {}
    found: list[tuple[int, float, float]] = []
    for change in simulation.changes:
        if change.kind == kind and change.what == "failure":
            since[change.subject] = change.time
        elif change.kind == kind and change.what == "repair":
            found.append((change.subject, since.pop(change.subject), change.time))
    found += [(part, time, np.inf) for part, time in since.items()]
    part, start, end = np.array(found, np.float64).reshape(-1, 3).T
    return Held(part.astype(np.int64), start, end, np.zeros(len(found), np.int64))


def added_at(simulation: Simulation) -> Floats:
    """Tell from when on each server was there, float64 [servers]."""
    grown = [(change.time, change.subject) for change in simulation.changes if change.what == "expansion"]
    times = [time for time, by in grown for _ in range(by)]
    return np.append(np.zeros(len(simulation.view.capacity) - len(times)), times)


# -- what they drew, and what that came to -----------------------------------------------------------------------------


class Drawn(NamedTuple):
    """Holds what servers did and drew: `watts` float64 [n] in each stretch, and `waking` joules float64 [k] at times.

    `waker` int64 [k] is the server that was woken at each time in `woken` float64 [k]. The PUE is counted.
    """

    spent: Stretches
    watts: Floats
    waker: Ints
    woken: Floats
    waking: Floats

    def at(self, spent: Bools, woken: Bools) -> Drawn:
        """Take some stretches, bool [n], and some times of waking, bool [k]."""
        return Drawn(
            self.spent.take(spent), self.watts[spent], self.waker[woken], self.woken[woken], self.waking[woken]
        )

    def by_site(self, costs: Costs) -> list[Drawn]:
        """Divide them by the site of the servers."""
        sites, wakers = costs.at(self.spent.server), costs.at(self.waker)
        return [self.at(sites == site, wakers == site) for site in range(len(costs.energy))]

    def over(self, course: TimeSeries | None, finish: float) -> float:
        """Add up energy times what a kWh of it comes to at its time, by default 1."""
        if course is None:
            return (dot(self.watts, self.spent.seconds) + float(self.waking.sum())) / KWH
        course.check(finish)
        drawn = dot(self.watts, course.until(self.spent.end) - course.until(self.spent.begin))
        return (drawn + dot(self.waking, course.at(self.woken))) / KWH

    def came_to(self, rate: SiteEnergy, finish: float) -> tuple[float, float | None, float | None]:
        """Add up energy in kWh, carbon in kg and money; None where a rate is not known."""
        carbon = self.over(rate.carbon, finish) / 1000 if rate.carbon else None
        return self.over(None, finish), carbon, self.over(rate.price, finish) if rate.price else None


def kinds_of(costs: Costs, servers: int) -> Ints:
    """Return the place of each server's tariff, int64 [servers], also of those that were added."""
    return np.append(costs.kinds, np.full(servers - len(costs.kinds), costs.added))


def drawn_by(
    costs: Costs, simulation: Simulation, held: Held, begin: float, finish: float, used: Stretches | None
) -> Drawn:
    """Find what servers did and drew between two times, who held something as in `held`, and `used` so much of it."""
    added, off = added_at(simulation), costs.spec.switch_off
    all_of_them, waker, woken = switching(stretches(added, outages_of(simulation), held), off.after if off else inf)
    now = (woken >= begin) & (woken <= finish)
    waker, woken, spent = waker[now], woken[now], all_of_them.within(begin, finish)
    if used is not None:
        spent = spent.take(spent.state != USED).joined(used)
    pue = np.array([rate.pue for rate in costs.energy])
    watts = np.zeros(len(spent.server))
    if costs.has_power:
        capacity = simulation.ledger.installed.sum(axis=1)[:, costs.resource]
        watts = pue[costs.at(spent.server)] * _watts(costs, spent, kinds_of(costs, len(added)), capacity)
    waking = pue[costs.at(waker)] * (off.waking * HOUR if off else 0.0)
    return Drawn(spent, watts, waker, woken, waking)


def bill_of(
    costs: Costs, simulation: Simulation, held: Held, begin: float, finish: float, in_use: Stretches | None = None
) -> Bill:
    """Add up what the servers of a run came to between two times, who held something as in `held`.

    Where it is known what was `in_use` of what was held between the two times, power goes by that.
    Raises RunError where values over time end before the run does.
    """
    added, drawn = added_at(simulation), drawn_by(costs, simulation, held, begin, finish, in_use)
    spent, rates = drawn.spent, costs.energy
    paid = spent.take((spent.state != FAILED) & (spent.state != OFF))
    kind = kinds_of(costs, len(added))[paid.server]
    found = Bill(
        there=float(np.clip(finish - np.maximum(added, begin), 0, None).sum()) / HOUR,
        on=float(paid.seconds.sum()) / HOUR,
        used=float(spent.seconds[spent.state == USED].sum()) / HOUR,
        woken=len(drawn.woken),
    )
    if all(tariff.price is not None for tariff in costs.tariffs):
        rents = (_rent(paid.take(kind == n), tariff, finish - begin) for n, tariff in enumerate(costs.tariffs))
        found.servers = float(sum(rents))
    if not costs.has_power:
        return found
    parts = [part.came_to(rate, finish) for part, rate in zip(drawn.by_site(costs), rates, strict=True)]
    energy, carbon, money = ([*column] if None not in column else None for column in zip(*parts, strict=True))
    assert energy
    found.energy = sum(energy)
    found.power = found.energy / ((finish - begin) / HOUR) if finish > begin else 0.0
    found.peak = _most(spent, drawn.watts, len(added)) / 1000
    found.carbon, found.electricity = (None if column is None else sum(column) for column in (carbon, money))
    if costs.sites:
        prices = [tariff.price for tariff in costs.tariffs if tariff.price is not None and tariff.reserved is None]
        rent = None
        if len(prices) == len(costs.tariffs):
            hourly = np.array(prices, np.float64)[kind] * paid.seconds / HOUR
            rent = np.bincount(costs.at(paid.server), hourly, len(rates)).tolist()
        columns = (column or [None] * len(rates) for column in (carbon, rent, money))
        found.sites = tuple(SiteBill(*one) for one in zip(energy, *columns, strict=True))
    return found


def by_hour(
    costs: Costs, simulation: Simulation, held: Held, begin: float, finish: float, used: Stretches | None
) -> list[HourOfSite]:
    """List what each site came to in every whole hour of the clock between two times, parts at the ends included."""
    drawn, found = drawn_by(costs, simulation, held, begin, np.nextafter(finish, inf), used), []
    for hour in range(floor(begin / HOUR), floor(finish / HOUR) + 1):
        since, until = hour * HOUR, (hour + 1) * HOUR
        during = (drawn.spent.end > since) & (drawn.spent.begin < until)
        part = drawn.at(during, (drawn.woken >= since) & (drawn.woken < until))
        part = part._replace(spent=part.spent.within(since, until))
        for rate, of_site in zip(costs.energy, part.by_site(costs), strict=True):
            found.append(HourOfSite(since, rate.name, *of_site.came_to(rate, finish)))
    return found


def _rent(on: Stretches, tariff: Tariff, seconds: float) -> float:
    """Return what servers of one tariff cost: the reserved ones all the time, those beyond while they are on."""
    price, reserved = tariff.price or 0.0, tariff.reserved
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
