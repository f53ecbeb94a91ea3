"""From a scenario to what its servers cost."""

from __future__ import annotations

from functools import partial

import numpy as np
from pydantic import ValidationError

from binwright.analysis.measure.costs.bill import Costs, SiteEnergy
from binwright.analysis.measure.costs.over_time import OverTime
from binwright.analysis.measure.costs.tariffs import Electricity
from binwright.scenarios.build.cluster import build_labels, kinds_of
from binwright.scenarios.schema.explain import explain
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.yaml_source import Source
from binwright.simcore.fields import together
from binwright.simcore.time_series import TimeSeries
from binwright.simcore.types import Ints


def build_costs(scenario: Scenario, seed: int = 0) -> Costs | None:
    """Collect what the servers cost, numbered as with this seed; None where the scenario does not say.

    Raises ScenarioError where a file cannot be read.
    """
    spec = scenario.costs
    if spec is None:
        return None
    kinds, last = kinds_of(scenario, seed) if spec.kinds else ([""], 0)
    try:
        groups = [group.name or "" for group in scenario.cluster.groups or ()]  # of which there may be none now
        together(partial(spec.check_kinds, list(dict.fromkeys([*kinds, *groups]))))
    except ValidationError as error:
        raise explain(error, Source(scenario.file, scenario.dump())) from None
    chosen = [kind if kind in spec.kinds else "" for kind in kinds]
    names = list(dict.fromkeys(chosen))
    resources, sites = scenario.resources, scenario.sites
    default = _energy("", spec.electricity, "costs.electricity")
    places = np.array([names.index(kind) for kind in chosen], np.int64)
    return Costs(
        spec=spec,
        tariffs=tuple(spec.at(kind)[1] for kind in names),
        kinds=places,
        added=int(places[last]),
        resource=resources.index(spec.utilisation or ("cpu" if "cpu" in resources else resources[0])),
        electricity=default.price,
        carbon=default.carbon,
        sites=energy_of_sites(scenario) if sites else (),
        site=sites_of(scenario, seed) if sites else None,
    )


def energy_of_sites(scenario: Scenario) -> tuple[SiteEnergy, ...]:
    """Read what energy comes to at each site."""
    assert scenario.sites
    default, found = scenario.costs.electricity if scenario.costs else None, []
    for name, site in scenario.sites.of.items():
        key = f"sites.of.{name}.electricity" if site.electricity else "costs.electricity"
        found.append(_energy(name, site.electricity or default, key))
    return tuple(found)


def sites_of(scenario: Scenario, seed: int) -> Ints:
    """Return the site of each server, as this seed numbers them, int64 [servers]; refuses servers at none."""
    assert scenario.sites
    labels = build_labels(scenario, seed).labels[scenario.sites.label].tolist()
    try:
        together(partial(scenario.sites.check_servers, {*labels} - {""}, "" not in labels))
    except ValidationError as error:
        raise explain(error, Source(scenario.file, scenario.dump())) from None
    names = list(scenario.sites.of)
    return np.array([names.index(label) for label in labels], np.int64)


def _energy(name: str, spec: Electricity | None, key: str) -> SiteEnergy:
    """Read what a kWh comes to, which `key` of the scenario says."""
    if spec is None:
        return SiteEnergy(name, 1.0, None, None)
    price = _over_time(spec.price, f"{key}.price", below_zero=True)
    return SiteEnergy(name, spec.pue, price, _over_time(spec.carbon, f"{key}.carbon", below_zero=False))


def _over_time(rate: float | OverTime | None, key: str, *, below_zero: bool) -> TimeSeries | None:
    """Read what a kWh costs or emits over time, which `key` of the scenario says."""
    if isinstance(rate, OverTime):
        return rate.read(key, below_zero=below_zero)
    return None if rate is None else TimeSeries(np.array([rate], np.float64))
