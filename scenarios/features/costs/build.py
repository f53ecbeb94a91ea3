"""From a scenario to what its servers cost."""

import numpy as np

from binwright.analysis.measure.costs.bill import Costs, SiteEnergy
from binwright.analysis.measure.costs.over_time import OverTime
from binwright.analysis.measure.costs.tariffs import Electricity
from binwright.scenarios.features.feature import Point
from binwright.simcore.time_series import TimeSeries


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
    energy = energy_of("", spec.electricity, "costs.electricity")
    places = np.array([names.index(kind) for kind in named], np.int64)
    return Costs(
        spec=spec,
        tariffs=tuple(spec.at(kind)[1] for kind in names),
        kinds=places,
        added=int(places[last]),
        resource=resources.index(spec.utilisation or ("cpu" if "cpu" in resources else resources[0])),
        electricity=energy.price,
        carbon=energy.carbon,
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
