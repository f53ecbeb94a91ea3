"""Costs: what servers draw and cost, and what allocated resources earn."""

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from binwright.analysis.measure.costs.bill import Costs, SiteEnergy
from binwright.analysis.measure.costs.tariffs import CostsSpec, Electricity, OverTime
from binwright.scenarios.features.feature import Feature, Point
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Model, Number, wrong
from binwright.simcore.time_series import TimeSeries
from binwright.simcore.units import DATA, measure_of


class _Keys(Model):
    prices: dict[str, Number] = Field(default_factory=dict, examples=["{cpu_hour: 0.04, mem_gb_hour: 0.005}"])
    """What an allocated unit earns; data has its unit in the key (`mem_gib_hour`)."""
    costs: CostsSpec | None = Field(
        None, examples=["{servers: {power: {idle: 100 W, peak: 300 W}, price: 0.5}, electricity: {carbon: 380}}"]
    )
    """What servers draw and cost."""


def build_costs(point: Point) -> Costs:
    """Collect what the servers cost, numbered as at the point. Raises ScenarioError where a file cannot be read."""
    scenario, spec = point.scenario, point.scenario.costs
    kinds, last = [""], 0
    if spec.kinds:
        servers = point.servers()
        kinds, last = servers.kind.tolist(), servers.labels.like
    groups = [group.name or "" for group in scenario.cluster.groups or ()]  # of which there may be none now
    spec.check_kinds(list(dict.fromkeys([*kinds, *groups])))
    named = [kind if kind in spec.kinds else "" for kind in kinds]
    names, resources = list(dict.fromkeys(named)), scenario.resources
    places = np.array([names.index(kind) for kind in named], np.int64)
    return Costs(
        spec=spec,
        tariffs=tuple(spec.at(kind)[1] for kind in names),
        kinds=places,
        added=int(places[last]),
        resource=resources.index(spec.utilisation or ("cpu" if "cpu" in resources else resources[0])),
        energy=(energy_of("", spec.electricity, "costs.electricity"),),
        site=np.zeros_like(places),
    )


def energy_of(name: str, spec: Electricity | None, key: str) -> SiteEnergy:
    """Read what a kWh comes to, which `key` of the scenario says."""
    if spec is None:
        return SiteEnergy(name, 1.0, None, None)
    price = _series(spec.price, f"{key}.price", below_zero=True)
    return SiteEnergy(name, spec.pue, price, _series(spec.carbon, f"{key}.carbon", below_zero=False))


def _series(rate: float | OverTime | None, key: str, *, below_zero: bool) -> TimeSeries | None:
    """Read what a kWh costs or emits over time, which `key` of the scenario says."""
    if isinstance(rate, OverTime):
        return rate.read(key, below_zero=below_zero)
    return None if rate is None else TimeSeries(np.array([rate], np.float64))


def _price_keys(resources: tuple[str, ...]) -> dict[str, tuple[str, float]]:
    """Every way to name a price: the resource, and the units that it is for."""
    known: dict[str, tuple[str, float]] = {}
    for resource in resources:
        if measure_of(resource) is DATA:
            # Data names its unit, so that nobody has to guess it.
            known |= {f"{resource}_{unit.lower()}_hour": (resource, float(f)) for unit, f in DATA.factors.items()}
        else:
            known[f"{resource}_hour"] = (resource, 1.0)
    return known


class _Feature(Feature):
    key = "costs"
    keys: ClassVar = {"": _Keys}

    def section(self, scenario: Any) -> Any:
        return scenario.costs or scenario.prices

    def check(self, scenario: Any) -> None:
        known = _price_keys(scenario.resources)
        for key in scenario.prices:
            if key not in known:
                usual = [name for name in known if measure_of(known[name][0]) is not DATA or "_gb_" in name]
                raise wrong("is not a price of the cluster's resources", suggest(key, usual), ("prices", key))
        if spec := scenario.costs:
            if spec.moves and spec.moves.per_gb and scenario.moves.memory(scenario.resources) is None:
                remedy = "Say of which resource moves carry what a request holds: moves: {resource: ...}."
                raise wrong("the cluster has neither mem nor memory", remedy, ("costs", "moves", "per_gb"))
            if (name := spec.utilisation) is not None and name not in scenario.resources:
                remedy = suggest(name, scenario.resources)
                raise wrong("the cluster has no such resource", remedy, ("costs", "utilisation"))
            kinds = scenario.cluster.kinds  # none where servers are of one kind, None where a file says them
            if kinds is not None or not spec.kinds:
                spec.check_kinds(kinds or [""])
            if scenario.use and spec.activity != 1:
                remedy = "Take it out, or `workload.use`, by which power goes."
                raise wrong("is for requests that do not say what they use", remedy, ("costs", "activity"))

    def measure(self, point: Point, known: dict[str, Any]) -> None:
        keys, hourly = _price_keys(point.scenario.resources), dict[str, float]()
        for key, price in point.scenario.prices.items():
            resource, units = keys[key]
            hourly[resource] = hourly.get(resource, 0.0) + price / units
        known["prices"] = hourly
        known["costs"] = build_costs(point) if point.scenario.costs else None


FEATURE = _Feature()
