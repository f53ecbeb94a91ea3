"""Expansion: servers that are added, at planned times or each time a request fits nowhere."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from binwright.scenarios.features.feature import Feature, way
from binwright.simcore.fields import Count, Model, Time, wrong


class Added(Model):
    """Servers added at a planned time."""

    at: Time = Field(description="When, counted from the first request.")
    by: Count = Field(description="How many servers, like those of the last group.")


class Expand(Model):
    """Add servers each time a request fits nowhere."""

    by: Count = Field(description="Servers added at a time, like those of the last group.")
    limit: Count = Field(description="The cluster never has more servers than this.")
    then: Literal["drop", "stop"] = "stop"
    """What happens when a request fits nowhere at the limit."""


class _Keys(Model):
    expansion: tuple[Added, ...] = Field(default=(), description="Servers added at planned times.")


class _Feature(Feature):
    key = "cluster.expansion"
    keys: ClassVar = {"cluster": _Keys}
    name, grows = "servers that are added", True
    excludes: ClassVar = {"cluster.network": "a network does not grow: the topology says which servers there are"}

    def section(self, scenario: Any) -> Any:
        return scenario.cluster.expansion or way(scenario.overflow, "expand")

    def at(self, scenario: Any) -> str:
        return "cluster.expansion" if scenario.cluster.expansion else "overflow.expand"

    def check(self, scenario: Any) -> None:
        cluster, expand = scenario.cluster, way(scenario.overflow, "expand")
        if expand and cluster.size is not None and expand.limit < cluster.size:
            remedy = f"The cluster starts with {cluster.size} servers: give that or more."
            raise wrong("is below the servers there are", remedy, ("overflow", "expand", "limit"), expand.limit)

    def world(self, scenario: Any) -> Mapping[str, Any]:
        return {"expansion": [(added.at, added.by) for added in scenario.cluster.expansion]}


FEATURE = _Feature()
