"""Costs: what servers draw and cost, and what allocated resources earn."""

from typing import Any, ClassVar

from pydantic import Field

from binwright.analysis.measure.costs.tariffs import CostsSpec
from binwright.scenarios.features.costs.build import build_costs, check_prices, hourly
from binwright.scenarios.features.feature import Feature, Point
from binwright.simcore.fields import Model, Number, wrong


class _Keys(Model):
    prices: dict[str, Number] = Field(
        default_factory=dict,
        description="What an allocated unit earns; data has its unit in the key (`mem_gib_hour`).",
        examples=["{cpu_hour: 0.04, mem_gb_hour: 0.005}"],
    )
    costs: CostsSpec | None = Field(
        default=None,
        description="What servers draw and cost.",
        examples=["{servers: {power: {idle: 100 W, peak: 300 W}, price: 0.5}, electricity: {carbon: 380}}"],
    )


class _Feature(Feature):
    key = "costs"
    keys: ClassVar = {"": _Keys}

    def section(self, scenario: Any) -> Any:
        return scenario.costs or scenario.prices

    def check(self, scenario: Any) -> None:
        check_prices(scenario.prices, scenario.resources)
        if spec := scenario.costs:
            spec.check_against(scenario.resources, scenario.cluster.kinds, scenario.moves.memory(scenario.resources))
            if scenario.use and spec.activity != 1:
                remedy = "Take it out, or `workload.use`, by which power goes."
                raise wrong("is for requests that do not say what they use", remedy, ("costs", "activity"))

    def measure(self, point: Point, known: dict[str, Any]) -> None:
        known["prices"] = hourly(point.scenario.prices, point.scenario.resources)
        known["costs"] = build_costs(point) if point.scenario.costs else None


FEATURE = _Feature()
