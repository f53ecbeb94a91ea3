"""From a scenario to its sites: which servers are where, and where requests are at home."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.analysis.measure.costs.bill import SiteEnergy
from binwright.scenarios.features.costs.build import energy_of
from binwright.scenarios.features.feature import Point
from binwright.scenarios.features.sites.run import ROUTERS, Sites
from binwright.simcore.errors import WorkloadError
from binwright.simcore.rng import stream
from binwright.simcore.roles import where_of
from binwright.simcore.time_series import HOUR, TimeSeries
from binwright.simcore.types import Floats, Ints, Workload
from binwright.workloads.changes import matching

if TYPE_CHECKING:
    from binwright.scenarios.features.sites import Flexible, SitesSpec


def build_sites(point: Point, workload: Workload) -> Sites:
    """Make the sites of a run, whose requests are these."""
    spec, energy = point.scenario.sites, energy_of_sites(point.scenario)
    latency = np.full((len(workload), len(spec.of)), np.nan)
    for value in dict.fromkeys(name for site in spec.of.values() for name in site.latency):
        rows = matching(workload, {spec.by or "": (value,)}, "sites.by")
        latency[rows] = [site.latency.get(value, np.nan) for site in spec.of.values()]
    if "latency" in spec.router and (lost := np.flatnonzero(np.isnan(latency).all(axis=1))).size:
        remedy = f"Give sites a latency for every value of {spec.by}, or take another router."
        raise WorkloadError("has a latency to no site", key="sites.by", value=str(workload.id[lost[0]]), remedy=remedy)
    return Sites(
        names=tuple(spec.of),
        of=sites_of(point),
        routers=tuple((name, ROUTERS.load(name)) for name in spec.router),
        spill=spec.spill_over,
        home=_homes(point.scenario.sites, workload),
        latency=latency,
        pue=np.array([one.pue for one in energy]),
        price=tuple(one.price for one in energy if one.price),
        carbon=tuple(one.carbon for one in energy if one.carbon),
        like=point.labels.like,
    )


def energy_of_sites(scenario: Any) -> tuple[SiteEnergy, ...]:
    """Read what energy comes to at each site."""
    default, found = scenario.costs.electricity if scenario.costs else None, []
    for name, site in scenario.sites.of.items():
        key = f"sites.of.{name}.electricity" if site.electricity else "costs.electricity"
        found.append(energy_of(name, site.electricity or default, key))
    return tuple(found)


def sites_of(point: Point) -> Ints:
    """Return the site of each server, as the point numbers them, int64 [servers]; refuses servers at none."""
    spec = point.scenario.sites
    labels = point.labels.labels[spec.label].tolist()
    spec.check_servers({*labels} - {""}, "" not in labels)
    names = list(spec.of)
    return np.array([names.index(label) for label in labels], np.int64)


def _homes(spec: SitesSpec, workload: Workload) -> Ints:
    """Return the site that each request belongs to, int64 [n]; -1 for none."""
    found = np.full(len(workload), -1, np.int64)
    for place, (name, site) in enumerate(spec.of.items() if spec.by else ()):
        found[matching(workload, {spec.by or "": site.home_of or (name,)}, "sites.by")] = place
    return found


def at_best_hours(scenario: Any, base: Workload, seed: int) -> Workload:
    """Let flexible requests arrive at their best hours; those of one moment stay in the order in which they came."""
    spec: Flexible = scenario.sites.flexible
    energy, rows = energy_of_sites(scenario), np.arange(len(base))
    series = [course for one in energy if (course := getattr(one, spec.by))]
    pue = [one.pue for one in energy]
    drawn = stream(seed, "sites", "flexible").random(len(base)) < spec.share
    rows = rows[drawn & (rows >= base.running) & matching(base, dict(where_of(spec.of)), "sites.flexible.of")]
    homes = _homes(scenario.sites, base)[rows] if scenario.sites.router[0] == "home" else np.full(len(rows), -1)
    arrival = base.arrival.copy()
    arrival[rows] = best_hours(arrival[rows], base.expected[rows], spec.until, series, pue, homes)
    order = np.lexsort((arrival, np.arange(len(base)) >= base.running))
    waited = arrival - base.arrival
    return replace(base.take(order), arrival=arrival[order], postponed=waited[order])


def best_hours(
    arrival: Floats, stays: Floats, slack: float, series: list[TimeSeries], pue: list[float], homes: Ints
) -> Floats:
    """Return when each request begins at best: now, or at a whole hour within the slack, float64 [n].

    The mean of the best of the series counts, or of that of the request's home (`homes` int64 [n], -1 for none), over
    the time that it `stays` float64 [n] seconds. Where that is unknown or endless, the value at its beginning does.
    """
    best, least = arrival.copy(), np.full(len(arrival), np.inf)
    lasting = np.where(np.isfinite(stays) & (stays > 0), stays, 0.0)
    for hour in range(min(int(slack // HOUR) + 1, max(map(_hours, series))) + 1):
        begin = arrival if not hour else (np.floor(arrival / HOUR) + hour) * HOUR
        each = np.stack([factor * _mean(one, begin, lasting) for one, factor in zip(series, pue, strict=True)])
        value = np.where(homes < 0, each.min(axis=0), each[homes, np.arange(len(homes))])
        better = (value < least) & (begin <= arrival + slack)
        best[better], least[better] = begin[better], value[better]
    return best


def _hours(series: TimeSeries) -> int:
    """Count the whole hours after which a series shows nothing new at whole hours; 0 where it is constant."""
    period = Fraction(series.every * len(series.values) / HOUR).limit_denominator(int(HOUR))
    return max(1, ceil(period), period.numerator) if len(series.values) > 1 else 0


def _mean(series: TimeSeries, begin: Floats, lasting: Floats) -> Floats:
    """Average a series over so many seconds from each time on, float64 [n]; of no time it is the value then."""
    total = series.until(begin + lasting) - series.until(begin)
    found: Floats = np.where(lasting > 0, total / np.maximum(lasting, 1e-9), series.at(begin))
    return found
