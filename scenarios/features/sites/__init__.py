"""Sites: several sites of servers, and who chooses among them."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from binwright.analysis.measure.costs.bill import SiteEnergy, by_hour
from binwright.analysis.measure.costs.tariffs import Electricity
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.costs import energy_of
from binwright.scenarios.features.feature import Feature, Named, Point
from binwright.scenarios.features.sites.run import ROUTERS, SiteRouting, Sites
from binwright.simcore.errors import WorkloadError, suggest
from binwright.simcore.fields import Model, SomeNames, Text, Time, checked, wrong
from binwright.simcore.rng import stream
from binwright.simcore.types import Ints
from binwright.simcore.workload import Workload
from binwright.workloads.labels import matching

LABEL = "site"
"""The label of servers that names their site."""


class Site(Model):
    """A site: the servers that have its name as their label `site`."""

    electricity: Electricity | None = Field(
        None, examples=["{pue: 1.2, price: 0.1, carbon: {daily: [90, 240, 310, 180]}}"]
    )
    """What its energy costs and emits, instead of `costs.electricity`."""
    latency: dict[str, Time] = Field(default_factory=dict, examples=["{web: 12 ms, batch: 30 ms}"])
    """How far it is from requests with each value of the label `by`."""


class SitesSpec(Model):
    """Several sites: a router chooses the site of a request, and the agent a server there."""

    of: dict[str, Site] = Field(
        examples=["{oslo: {electricity: {carbon: 30}}, essen: {electricity: {carbon: 380}}}"], min_length=1
    )
    """The sites, by the values of the label `site` of servers."""
    router: SomeNames = Field(("load",), examples=["carbon", "[home, price]", "mine.py:router"])
    """Which site is tried first: that with least `load` (largest share taken), `price` or `carbon` of a kWh now (times
    the PUE), `latency`, the `home`, by `random` or `round-robin`, or by a function `(routing, request)`. Each of
    several settles the ties of the one before. Requests that a site refuses try the next one."""
    by: Text | None = None
    """The label of requests, or `group`, that `latency` goes by, and that names their `home`."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        for place, name in enumerate(self.router):
            if not callable(checked(ROUTERS.load, ("router", str(place)))(name)):
                raise wrong("is no function", "Name one that takes (routing, request).", ("router",), name)
        if self.by is None and (far := [name for name, site in self.of.items() if site.latency]):
            raise wrong("goes by a label of requests", "Say which: by: group.", ("of", far[0], "latency"))
        for name in ("home", "latency"):
            if name in self.router and self.by is None:
                raise wrong(f"is missing for the router {name}", "Say which label of requests: by: group.", ("by",))
        return self

    def check_servers(self, sites: Collection[str], everywhere: bool) -> None:
        """Refuse sites that are not among the values of the label, and values that are no sites."""
        for name in self.of:
            if name not in sites:
                raise wrong("no server has this site as its label", suggest(name, sites), ("sites", "of", name))
        if unknown := sorted(set(sites) - set(self.of)):
            raise wrong(f"says nothing of the servers at {unknown[0]}", "Add it.", ("sites", "of"))
        if not everywhere:
            raise wrong("some servers have no label `site`", "Give all servers one.", ("sites", "of"))


def _build_sites(point: Point, workload: Workload) -> Sites:
    """Make the sites of a run, whose requests are these."""
    spec: SitesSpec = point.scenario.sites
    home, latency = np.full(len(workload), -1), np.full((len(workload), len(spec.of)), np.nan)
    for place, (name, site) in enumerate(spec.of.items() if spec.by else ()):
        home[matching(workload, {spec.by or "": (name,)}, "sites.by")] = place
        for value, seconds in site.latency.items():
            latency[matching(workload, {spec.by or "": (value,)}, "sites.by"), place] = seconds
    if "latency" in spec.router and (lost := np.flatnonzero(np.isnan(latency).all(axis=1))).size:
        remedy = f"Give sites a latency for every value of {spec.by}, or take another router."
        raise WorkloadError("has a latency to no site", key="sites.by", value=str(workload.id[lost[0]]), remedy=remedy)
    if "home" in spec.router and (home < 0).all():
        remedy = f"Name a label that says {' or '.join(spec.of)} of requests, or take another router."
        raise WorkloadError("names the home of no request", key="sites.by", value=spec.by, remedy=remedy)
    routers = tuple((name, ROUTERS.load(name)) for name in spec.router)
    energy = _energy_of_sites(point.scenario)
    return Sites(energy, _sites_of(point), routers, home, latency, point.labels.like)


def _energy_of_sites(scenario: Any) -> tuple[SiteEnergy, ...]:
    """Read what energy comes to at each site."""
    default, result = scenario.costs.electricity if scenario.costs else None, []
    for name, site in scenario.sites.of.items():
        key = f"sites.of.{name}.electricity" if site.electricity else "costs.electricity"
        result.append(energy_of(name, site.electricity or default, key))
    return tuple(result)


def _sites_of(point: Point) -> Ints:
    """Return the site of each server, as the point numbers them, int64 [servers]; refuses servers at none."""
    spec = point.scenario.sites
    labels = point.labels.labels[LABEL].tolist()
    spec.check_servers({*labels} - {""}, "" not in labels)
    names = list(spec.of)
    return np.array([names.index(label) for label in labels], np.int64)


class _Keys(Model):
    sites: SitesSpec | None = Field(
        None,
        examples=["{router: carbon, of: {oslo: {electricity: {carbon: 30}}, essen: {electricity: {carbon: 380}}}}"],
    )
    """Several sites, with prices and emissions of their own."""


class _Feature(Feature):
    key = "sites"
    keys: ClassVar = {"": _Keys}
    learned = False
    details: ClassVar = {"sites": by_hour}
    name = "sites"
    excludes: ClassVar = {"cluster.network": "one network has no sites"}

    def stepped(self, scenario: Any, together: bool) -> bool:
        return True

    def check(self, scenario: Any) -> None:
        """Refuse sites without servers, servers without a site, and what a router asks for in vain."""
        spec: SitesSpec = scenario.sites
        cluster, default = scenario.cluster, scenario.costs and scenario.costs.electricity
        known, at = cluster.known_servers, ("sites", "of")
        if LABEL not in known.values:
            remedy = f"Give the groups one, like `labels: {{{LABEL}: {next(iter(spec.of))}}}`."
            raise wrong(f"no server has a label `{LABEL}`", remedy, at)
        if (sites := known.values[LABEL]) is not None:
            spec.check_servers(sites, LABEL in known.everywhere)
        for name in ("price", "carbon"):
            rates = {site: getattr(each.electricity or default, name, None) for site, each in spec.of.items()}
            missing = [site for site, rate in rates.items() if rate is None]
            if missing and (name in spec.router or len(missing) < len(rates)):
                why = "router needs it of every site" if name in spec.router else "other sites say one"
                remedy = f"Write electricity: {{{name}: ...}}: {why}."
                raise wrong(f"says no {name} of a kWh", remedy, (*at, missing[0]))
        if "latency" in spec.router and (far := [site for site, each in spec.of.items() if not each.latency]):
            raise wrong("says no latency", "Write latency: {VALUE: 12 ms}, or take another router.", (*at, far[0]))

    def check_keys(self, scenario: Any) -> None:
        if "sites" in scenario.record and not (scenario.sites and scenario.costs and scenario.costs.has_power):
            remedy = "Take sites from record, or write sites, and costs with a power."
            raise wrong("no site draws anything", remedy, ("record",), "sites")

    def names(self, scenario: Any) -> list[Named]:
        spec: SitesSpec | None = scenario.sites
        if spec is None or spec.by is None:
            return []
        return [
            (("sites", "of", name, "latency"), spec.by, value) for name, at in spec.of.items() for value in at.latency
        ]

    def attach(self, point: Point, simulation: Simulation) -> None:
        sites = _build_sites(point, simulation.workload)
        SiteRouting(simulation, sites, stream(point.seed, "router"))

    def measure(self, point: Point, known: dict[str, Any]) -> None:
        at = _sites_of(point)
        if costs := known.get("costs"):
            energy, added = _energy_of_sites(point.scenario), int(at[point.labels.like])
            known["costs"] = replace(costs, energy=energy, site=at, added_site=added)


FEATURE = _Feature()
