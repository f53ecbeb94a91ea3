"""From a scenario to what its servers cost."""

from __future__ import annotations

from functools import partial

import numpy as np
from pydantic import ValidationError

from analysis.measure.costs.bill import Costs
from analysis.measure.costs.over_time import OverTime, TimeSeries
from scenarios.build.cluster import kinds_of
from scenarios.schema.explain import explain
from scenarios.schema.scenario import Scenario
from scenarios.schema.yaml_source import Source
from simcore.fields import together


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
    resources, electricity = scenario.resources, spec.electricity
    places = np.array([names.index(kind) for kind in chosen], np.int64)
    return Costs(
        spec=spec,
        tariffs=tuple(spec.at(kind)[1] for kind in names),
        kinds=places,
        added=int(places[last]),
        resource=resources.index(spec.utilisation or ("cpu" if "cpu" in resources else resources[0])),
        electricity=_over_time(electricity.price, "price", below_zero=True) if electricity else None,
        carbon=_over_time(electricity.carbon, "carbon", below_zero=False) if electricity else None,
    )


def _over_time(rate: float | OverTime | None, key: str, *, below_zero: bool) -> TimeSeries | None:
    """Read what a kWh costs or emits over time."""
    if isinstance(rate, OverTime):
        return rate.read(f"costs.electricity.{key}", below_zero=below_zero)
    return None if rate is None else TimeSeries(np.array([rate], np.float64))
