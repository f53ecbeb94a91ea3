"""What the servers of a run cost and came to: hours, energy, carbon and money, exactly over the measured time."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from binwright.analysis.measure.costs.tariffs import CostsSpec, Tariff
from binwright.analysis.measure.costs.time_series import HOUR, TimeSeries
from binwright.analysis.measure.stays import added_at, outages_of
from binwright.simcore.extras import pl
from binwright.simcore.ordered_sums import dot
from binwright.simcore.types import QUANTUM, Floats, Ints

if TYPE_CHECKING:
    from binwright.analysis.measure.finished_run import FinishedRun

EMPTY, USED, FAILED, OFF = range(4)
KWH = 3.6e6
"""Joules of a kilowatt-hour."""


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
    place among the resources of the one that power goes by. `energy` is what a kWh comes to at every site, or at the
    only one, whose name is empty; `site` int64 [servers] is the place of each server's there, and `added_site` that of
    servers that are added.
    """

    spec: CostsSpec
    tariffs: tuple[Tariff, ...]
    kinds: Ints
    added: int
    resource: int
    energy: tuple[SiteEnergy, ...]
    site: Ints
    added_site: int = 0

    @property
    def has_power(self) -> bool:
        """Whether it is known what servers draw."""
        return all(tariff.power is not None for tariff in self.tariffs)


@dataclass(slots=True)
class Bill:
    """Says what the servers came to within the measured time; None is not known.

    `on` are the hours of servers that neither failed nor were switched off, `energy` is in kWh, `carbon` in kg;
    `servers`, `electricity` and `moves` are money.
    """

    on: float
    energy: float | None = None
    carbon: float | None = None
    servers: float | None = None
    electricity: float | None = None
    moves: float | None = None

    @property
    def cost(self) -> float | None:
        """All money together; None where nothing has a price."""
        known = [part for part in (self.servers, self.electricity, self.moves) if part is not None]
        return sum(known) if known else None


def bill_of(run: FinishedRun, costs: Costs) -> Bill:
    """Add up what the servers of a run came to within its measured time.

    Raises RunError where values over time end before the run does.
    """
    spells, woken = _drawn(run, costs, run.finish)
    paid = spells.filter(pl.col("state").is_in([EMPTY, USED]))
    result = Bill(float(_seconds(paid).sum()) / HOUR, moves=_paid_for_moves(run, costs))
    prices = [tariff.price for tariff in costs.tariffs]
    if None not in prices:
        seconds = (float(_seconds(paid.filter(pl.col("kind") == n)).sum()) for n in range(len(prices)))
        result.servers = float(sum(price * each / HOUR for price, each in zip(prices, seconds, strict=True) if price))
    if not costs.has_power:
        return result
    by_site = [_came_to(costs, n, spells, woken, run.finish) for n in range(len(costs.energy))]
    result.energy, result.carbon, result.electricity = (
        None if None in column else sum(column) for column in zip(*by_site, strict=True)
    )
    return result


def by_hour(run: FinishedRun) -> pl.DataFrame:
    """List what each site came to in every whole hour of the clock, parts at the ends included.

    Columns: `time` from which on the hour is, `site`, `energy` in kWh, `carbon` in kg, `electricity` in money.
    """
    assert run.costs
    costs, rows = run.costs, list[tuple[Any, ...]]()
    spells, woken = _drawn(run, costs, float(np.nextafter(run.finish, inf)))
    for hour in range(floor(run.begin / HOUR), floor(run.finish / HOUR) + 1):
        since, until = hour * HOUR, (hour + 1) * HOUR
        spent = _within(spells, since, until)
        wakes = woken.filter(pl.col("time") >= since, pl.col("time") < until)
        for n, rate in enumerate(costs.energy):
            rows.append((since, rate.name, *_came_to(costs, n, spent, wakes, run.finish)))
    columns = ["time", "site", "energy", "carbon", "electricity"]
    return pl.DataFrame(rows, columns, orient="row", infer_schema_length=None)


# -- what every server did ---------------------------------------------------------------------------------------------


def spells_of(run: FinishedRun, resource: int) -> pl.DataFrame:
    """Divide the time of each server, from when it is there on, where something about it changes.

    A row is a time in which nothing does, in order of `server` and `begin`: its `end`, which may be infinite, the
    quanta of the resource that are `used`, and the `state` EMPTY, USED or FAILED. What is held for no time, or holds
    nothing, counts for nothing.
    """
    lay = run.places
    holds = (lay.end > lay.start) & lay.amounts.any(axis=1)
    columns = {"server": lay.server.astype(np.int64), "start": lay.start, "end": lay.end}
    held = pl.DataFrame(columns | {"used": lay.amounts[:, resource]}).filter(holds)
    added, out = added_at(run.simulation), outages_of(run.simulation)
    nothing = {"used": pl.lit(0, pl.Int64), "by": pl.lit(0, pl.Int64), "out": pl.lit(0, pl.Int64)}
    changes = [pl.DataFrame({"server": np.arange(len(added)), "time": added}).with_columns(**nothing)]
    for time, sign in (("start", pl.lit(1, pl.Int64)), ("end", pl.lit(-1, pl.Int64))):
        changes.append(out.select("server", time=time, **nothing | {"out": sign}))
        changes.append(held.select("server", time=time, **nothing | {"used": sign * pl.col("used"), "by": sign}))
    state = pl.when(pl.col("out") > 0).then(FAILED).when(pl.col("by") > 0).then(USED).otherwise(EMPTY)
    until = pl.when(pl.col("server").shift(-1) == pl.col("server")).then(pl.col("time").shift(-1)).otherwise(inf)
    return (
        pl.concat(changes)
        .sort("server", "time")
        .with_columns(pl.col("used", "by", "out").cum_sum(), end=until)  # all that begins ends: each begins from 0
        .filter(pl.col("end") > pl.col("time"))
        .select("server", "end", "used", begin="time", state=state)
    )


def _switched_off(spells: pl.DataFrame, after: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Switch servers off that were empty for longer than `after` seconds, until they fail or are used.

    Returns the spells, the switched off ones last, and which `server` was woken to be used, at which `time`.
    """
    is_empty = pl.col("state") == EMPTY
    off_from = pl.when(is_empty).then(pl.col("begin") + after).otherwise(inf)
    used_next = (pl.col("server").shift(-1) == pl.col("server")) & (pl.col("state").shift(-1) == USED)
    spells = spells.with_columns(off=off_from, used_next=used_next)
    asleep = spells.filter(pl.col("off") < pl.col("end"))
    on = spells.with_columns(end=pl.min_horizontal("end", "off")).filter(pl.col("end") > pl.col("begin"))
    both = pl.concat([on, asleep.with_columns(begin="off", state=pl.lit(OFF))]).drop("off", "used_next")
    return both, asleep.filter("used_next").select("server", time="end")


def _drawn(run: FinishedRun, costs: Costs, finish: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """List the spells of servers from the measured time's begin to `finish`, and who was woken in that time, and when.

    Both have the `site` of the server; spells the `kind` of its tariff and the `watts` that it drew, PUE included, and
    who was woken the `joules`.
    """
    off = costs.spec.switch_off
    spells, woken = _switched_off(spells_of(run, costs.resource), off.after if off else inf)
    woken = woken.filter(pl.col("time").is_between(run.begin, finish))
    spells = _within(spells, run.begin, finish)
    pue = np.array([rate.pue for rate in costs.energy])
    server, waker = spells["server"].to_numpy(), woken["server"].to_numpy()
    added = len(run.capacity) - len(costs.kinds)
    sites = np.append(costs.site, np.full(added, costs.added_site))
    site, waking = sites[server], sites[waker]
    kind = np.append(costs.kinds, np.full(added, costs.added))[server]
    watts = pue[site] * _watts(run, costs, spells, kind) if costs.has_power else np.zeros(len(server))
    joules = pue[waking] * (off.waking * HOUR if off else 0.0)
    return (
        spells.with_columns(site=pl.Series(site), kind=pl.Series(kind), watts=pl.Series(watts)),
        woken.with_columns(site=pl.Series(waking), joules=pl.Series(joules)),
    )


def _watts(run: FinishedRun, costs: Costs, spells: pl.DataFrame, kind: Ints) -> Floats:
    """Return what the server of each spell draws, float64 [spells]; `kind` int64 [spells] are places of tariffs."""
    capacity = run.capacity.sum(axis=1)[spells["server"].to_numpy(), costs.resource]
    share = np.minimum(costs.spec.activity * spells["used"].to_numpy() / np.maximum(capacity, 1), 1.0)
    result, state = np.zeros(len(share)), spells["state"].to_numpy()
    for number, tariff in enumerate(costs.tariffs):
        curve = tariff.power.points if tariff.power else (0.0, 0.0)
        mine = kind == number
        result[mine] = np.interp(share[mine], np.linspace(0, 1, len(curve)), curve)
    result[state == OFF] = costs.spec.switch_off.power if costs.spec.switch_off else 0.0
    result[state == FAILED] = 0.0
    return result


# -- what that came to -------------------------------------------------------------------------------------------------


def _within(spells: pl.DataFrame, begin: float, finish: float) -> pl.DataFrame:
    """Cut off what is before or after a time."""
    cut = {"begin": pl.max_horizontal("begin", pl.lit(begin)), "end": pl.min_horizontal("end", pl.lit(finish))}
    return spells.with_columns(**cut).filter(pl.col("end") > pl.col("begin"))


def _seconds(spells: pl.DataFrame) -> Floats:
    result: Floats = spells["end"].to_numpy() - spells["begin"].to_numpy()
    return result


def _came_to(
    costs: Costs, site: int, spells: pl.DataFrame, woken: pl.DataFrame, finish: float
) -> tuple[float, float | None, float | None]:
    """Add up energy in kWh, carbon in kg and money of a site; None where a rate is not known."""
    rate = costs.energy[site]
    spells, woken = (frame.filter(pl.col("site") == site) for frame in (spells, woken))
    watts, joules = spells["watts"].to_numpy(), woken["joules"].to_numpy()

    def over(course: TimeSeries) -> float:
        course.check(finish)
        seconds = course.until(spells["end"].to_numpy()) - course.until(spells["begin"].to_numpy())
        return (dot(watts, seconds) + dot(joules, course.at(woken["time"].to_numpy()))) / KWH

    energy = (dot(watts, _seconds(spells)) + float(joules.sum())) / KWH
    return energy, over(rate.carbon) / 1000 if rate.carbon else None, over(rate.price) if rate.price else None


def _paid_for_moves(run: FinishedRun, costs: Costs) -> float | None:
    """Return what moves cost that arrived; None where nobody says their price, or nothing moves."""
    price, moving = costs.spec.moves, run.moving
    if price is None or moving is None:
        return None
    carried = float(run.demand[run.arrived, moving.resource].sum()) if price.per_gb else 0.0
    return price.each * len(run.arrived) + price.per_gb * carried / QUANTUM
