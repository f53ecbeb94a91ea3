"""Sites: several sites of servers, and who chooses among them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from binwright.analysis.measure.costs.bill import SiteEnergy
from binwright.analysis.measure.costs.tariffs import Electricity
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.costs import energy_of
from binwright.scenarios.features.feature import Feature, Named, Point
from binwright.scenarios.features.sites.metrics import sites_column
from binwright.scenarios.features.sites.run import ROUTERS, Routing, Sites
from binwright.simcore.errors import WorkloadError, suggest
from binwright.simcore.fields import Model, SomeNames, Text, Time, checked, together, wrong
from binwright.simcore.rng import stream
from binwright.simcore.types import Ints, Workload
from binwright.workloads.changes import matching


class Site(Model):
    """A site: the servers that have its name as their label."""

    electricity: Electricity | None = Field(
        default=None,
        description="What its energy costs and emits, instead of `costs.electricity`.",
        examples=["{pue: 1.2, price: 0.1, carbon: {daily: [90, 240, 310, 180]}}"],
    )
    home_of: SomeNames | None = Field(
        default=None, description="Values of the label `by`; by default its own name.", examples=["[de, at]"]
    )
    latency: dict[str, Time] = Field(
        default_factory=dict,
        description="How far it is from requests with each value of the label `by`.",
        examples=["{web: 12 ms, batch: 30 ms}"],
    )


class SitesSpec(Model):
    """Several sites: a router chooses the site of a request, and the agent a server there."""

    of: dict[str, Site] = Field(
        description="The sites, by the values of the label.",
        examples=["{oslo: {electricity: {carbon: 30}}, essen: {electricity: {carbon: 380}}}"],
        min_length=1,
    )
    label: Text = Field(default="site", description="The label of servers that names their site.", examples=["region"])
    router: SomeNames = Field(
        default=("load",),
        description="Which site is tried first: that with least `load` (largest share taken), `price` or `carbon` of"
        " a kWh now (times the PUE), `latency`, the `home`, by `random` or `round-robin`, or by a "
        "function `(routing, request)`. Each of several settles the ties of the one before.",
        examples=["carbon", "[home, price]", "mine.py:router"],
    )
    spill_over: bool = Field(
        True, strict=True, description="Requests that a site refuses try the next one, in the router's order."
    )
    by: Text | None = Field(
        default=None,
        description="The label of requests, or `group`, that `home` and `latency` go by.",
        examples=["group", "tenant"],
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        for place, name in enumerate(self.router):
            if not callable(checked(ROUTERS.load, ("router", str(place)))(name)):
                raise wrong("is no function", "Name one that takes (routing, request).", ("router",), name)
        homes: dict[str, str] = {}
        for name, site in self.of.items():
            for value in site.home_of or (name,):
                if value in homes:
                    remedy = f"It is of {homes[value]}: take it out of one of the two."
                    raise wrong("has its home twice", remedy, ("of", name, "home_of"), value)
                homes[value] = name
            if self.by is None and (site.home_of or site.latency):
                key = "home_of" if site.home_of else "latency"
                raise wrong("goes by a label of requests", "Say which: by: group.", ("of", name, key))
        for name in ("home", "latency"):
            if name in self.router and self.by is None:
                raise wrong(f"is missing for the router {name}", "Say which label of requests: by: group.", ("by",))
        return self

    def at(self, site: str, default: Electricity | None) -> Electricity | None:
        """Find what energy comes to at a site, where `default` is that of the costs."""
        return self.of[site].electricity or default

    def check_servers(self, there: Collection[str], everywhere: bool) -> None:
        """Refuse sites that are not among the values of the label, and values that are no sites."""

        def site(name: str) -> None:
            if name not in there:
                raise wrong("no server has this site as its label", suggest(name, there), ("sites", "of", name))

        together(*(partial(site, name) for name in self.of))
        if unknown := sorted(set(there) - set(self.of)):
            raise wrong(f"says nothing of the servers at {unknown[0]}", "Add it.", ("sites", "of"))
        if not everywhere:
            raise wrong("some servers have no such label", "Give all servers one.", ("sites", "label"), self.label)


def _build_sites(point: Point, workload: Workload) -> Sites:
    """Make the sites of a run, whose requests are these."""
    spec, energy = point.scenario.sites, _energy_of_sites(point.scenario)
    latency = np.full((len(workload), len(spec.of)), np.nan)
    for value in dict.fromkeys(name for site in spec.of.values() for name in site.latency):
        rows = matching(workload, {spec.by or "": (value,)}, "sites.by")
        latency[rows] = [site.latency.get(value, np.nan) for site in spec.of.values()]
    if "latency" in spec.router and (lost := np.flatnonzero(np.isnan(latency).all(axis=1))).size:
        remedy = f"Give sites a latency for every value of {spec.by}, or take another router."
        raise WorkloadError("has a latency to no site", key="sites.by", value=str(workload.id[lost[0]]), remedy=remedy)
    return Sites(
        names=tuple(spec.of),
        of=_sites_of(point),
        routers=tuple((name, ROUTERS.load(name)) for name in spec.router),
        spill=spec.spill_over,
        home=_homes(point.scenario.sites, workload),
        latency=latency,
        pue=np.array([one.pue for one in energy]),
        price=tuple(one.price for one in energy if one.price),
        carbon=tuple(one.carbon for one in energy if one.carbon),
        like=point.labels.like,
    )


def _energy_of_sites(scenario: Any) -> tuple[SiteEnergy, ...]:
    """Read what energy comes to at each site."""
    default, found = scenario.costs.electricity if scenario.costs else None, []
    for name, site in scenario.sites.of.items():
        key = f"sites.of.{name}.electricity" if site.electricity else "costs.electricity"
        found.append(energy_of(name, site.electricity or default, key))
    return tuple(found)


def _sites_of(point: Point) -> Ints:
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


class _Keys(Model):
    sites: SitesSpec | None = Field(
        default=None,
        description="Several sites, with prices and emissions of their own.",
        examples=["{router: carbon, of: {oslo: {electricity: {carbon: 30}}, essen: {electricity: {carbon: 380}}}}"],
    )


class _Feature(Feature):
    key = "sites"
    keys: ClassVar = {"": _Keys}
    learned = False
    details: ClassVar = {"sites": lambda run: run.by_hour}
    name = "sites"
    excludes: ClassVar = {
        "cluster.network": "one network has no sites",
    }

    def stepped(self, scenario: Any, together: bool) -> str:
        return "a router chooses the site of each request"

    def check(self, scenario: Any) -> None:
        """Refuse sites without servers, servers without a site, and what a router asks for in vain."""
        spec: SitesSpec = scenario.sites
        cluster, default = scenario.cluster, scenario.costs.electricity if scenario.costs else None
        values, at = cluster.values, ("sites", "of")
        if spec.label not in values:
            remedy = f"Give the groups one, like `labels: {{{spec.label}: {next(iter(spec.of))}}}`, or name another."
            raise wrong("no server has this label", remedy, ("sites", "label"), spec.label)
        there = values[spec.label]
        if there is not None:
            spec.check_servers(there, cluster.everywhere is None or spec.label in cluster.everywhere)
        needed: list[tuple[str, tuple[str, ...]]] = [
            (name, ("sites", "router")) for name in ("price", "carbon") if name in spec.router
        ]
        rates = [spec.at(site, default) for site in spec.of]
        needed += [(name, at) for name in ("price", "carbon") if any(getattr(rate, name, None) for rate in rates)]
        for site, each in spec.of.items():
            known = spec.at(site, default)
            for name, of in needed:
                if known is None or getattr(known, name) is None:
                    why = "other sites say one" if of == at else f"{of[-1]} needs it of every site"
                    remedy = f"Write electricity: {{{name}: ...}}: {why}."
                    raise wrong(f"says no {name} of a kWh", remedy, (*at, site))
            if "latency" in spec.router and not each.latency:
                raise wrong("says no latency", "Write latency: {VALUE: 12 ms}, or take another router.", (*at, site))

    def check_keys(self, scenario: Any) -> None:
        if "sites" in scenario.record and not (scenario.sites and scenario.costs and scenario.costs.has_power):
            remedy = "Take sites from record, or write sites, and costs with a power."
            raise wrong("no site draws anything", remedy, ("record",), "sites")

    def names(self, scenario: Any) -> list[Named]:
        spec: SitesSpec | None = scenario.sites
        if spec is None:
            return []
        found: list[Named] = []
        for name, site in spec.of.items() if spec.by else ():
            found += [(("sites", "of", name, "latency", value), spec.by or "", value) for value in site.latency]
            found += [(("sites", "of", name, "home_of"), spec.by or "", value) for value in site.home_of or ()]
        return found

    def attach(self, point: Point, simulation: Simulation) -> None:
        sites = _build_sites(point, simulation.workload)
        Routing(simulation, sites, stream(point.seed, "router"))

    def measure(self, point: Point, known: dict[str, Any]) -> None:
        at = _sites_of(point)
        if costs := known.get("costs"):
            known["costs"] = replace(
                costs, energy=_energy_of_sites(point.scenario), site=at, added_site=int(at[point.labels.like])
            )

    def columns(self, run: FinishedRun) -> dict[str, str]:
        return sites_column(run)


FEATURE = _Feature()
