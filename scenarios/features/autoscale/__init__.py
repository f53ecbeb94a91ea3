"""Autoscale: servers that are bought when they are needed, and let go when they are not."""

from functools import partial
from typing import Any, ClassVar

from pydantic import Field

from binwright.agents.world import Luck
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.autoscale.run import Autoscale, Autoscaler, Bought
from binwright.scenarios.features.feature import Feature, Point
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Model, known_resources, together, wrong


class _Keys(Model):
    autoscale: Autoscale | None = Field(
        default=None, description="Servers are bought and let go.", examples=["{buy: {large: {delay: 5 min}}}"]
    )


class _Feature(Feature):
    key = name = "autoscale"
    keys: ClassVar = {"": _Keys}
    learned, drains = False, True
    excludes: ClassVar = {
        "cluster.network": "the topology says which servers there are",
        "overflow.expand": "servers are added in two ways",
        "cluster.expansion": "servers are added in two ways",
        "pacing": "requests of a pace have no times at which to buy",
    }

    def stepped(self, scenario: Any, together: bool) -> str:
        return "servers are bought for requests that wait together" if together else ""

    def check(self, scenario: Any) -> None:
        counts = {group.name: group.count for group in scenario.cluster.groups or () if group.name}

        def check(name: str, spec: Bought) -> None:
            if name not in counts:
                raise wrong("no group has this name", suggest(name, counts), ("autoscale", "buy", name))
            if spec.first > (count := counts[name]):
                at = ("autoscale", "buy", name, "first")
                raise wrong("is more than there are", f"The group has {count}: give that or fewer.", at, spec.first)

        spec = scenario.autoscale
        known_resources(spec.above, scenario.resources, ("autoscale", "above"))
        together(*(partial(check, name, one) for name, one in spec.buy.items()))

    def attach(self, point: Point, simulation: Simulation) -> None:
        simulation.features["autoscale"] = Autoscaler(
            simulation, point.scenario.autoscale, point.servers().kind.tolist()
        )

    def begin(self, point: Point, simulation: Simulation, luck: Luck) -> None:
        simulation.features["autoscale"].start(point.scenario.moves, luck("autoscale"))


FEATURE = _Feature()
