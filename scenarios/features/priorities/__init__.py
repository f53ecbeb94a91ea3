"""Priorities: classes of how urgent requests are, and spot requests, which pay less since they may be evicted."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import Field

from binwright.scenarios.features import used
from binwright.scenarios.features.feature import Feature, Named, Point
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Keys, Model, Names, Share, Shown, wrong
from binwright.simcore.workload import Workload
from binwright.workloads.priorities import LARGEST, number_of, prioritised

Priorities: TypeAlias = Annotated[
    dict[str, Annotated[int, Field(strict=True, ge=-LARGEST, le=LARGEST)]], Shown("{class: whole number}")
]


class Spot(Model):
    """Requests that pay less, since they may be evicted."""

    of: Names = Field(description="Their priorities: classes, or numbers.", examples=["[batch]"], min_length=1)
    pays: Share = Field(description="The share of `prices` that they pay.")

    def shares(self, classes: Mapping[str, int]) -> dict[int, float]:
        """Return the share that each of these priorities pays."""
        return {number: self.pays for name in self.of if (number := number_of(name, classes)) is not None}


class _Keys(Model):
    priorities: Priorities = Field(default_factory=dict, examples=["{production: 1000, batch: 10}"])
    """The number of each class of priorities; higher is more urgent. Labels `priority` of a trace name a class, or a
    number."""
    spot: Spot | None = Field(None, examples=["{of: [batch], pays: 30 %}"])
    """Requests of some priorities pay less."""


class _Feature(Feature):
    key = "priorities"
    keys: ClassVar = {"": _Keys}

    def section(self, scenario: Any) -> bool:
        return True  # a trace may say priorities by itself

    def check(self, scenario: Any) -> None:
        classes, spot = scenario.priorities, scenario.spot

        def known(name: str, at: Keys) -> None:
            if number_of(name, classes) is None:
                remedy = f"{suggest(name, classes)} Or give a whole number."
                raise wrong("there is no such priority", remedy, at, name)

        for name in classes:
            if number_of(name, {}) is not None:
                raise wrong("is a number", "Give the class a name, like production.", ("priorities", name), name)
        for keys, placed in scenario.workload.placed:
            at = ("workload", *keys, "priority")
            for name in placed.priority:
                known(name, at)
            if placed.priority and not any(placed.priority.values()):
                raise wrong("has no weight above zero", "Give one of them a weight above zero.", at)
        for number, name in enumerate(spot.of if spot else ()):
            known(name, ("spot", "of", number))
        if spot and not scenario.prices:
            raise wrong("nothing has a price", "Write `prices`, like {cpu_hour: 0.04}.", ("spot", "pays"))

    def names(self, scenario: Any) -> list[Named]:
        return [(("spot", "of"), "priority", name) for name in (scenario.spot.of if scenario.spot else ())]

    def draws(self, scenario: Any) -> bool:
        return any(len(each.priority) > 1 for _, each in scenario.workload.placed)

    def alter(self, scenario: Any, requests: Workload, seed: int) -> Workload:
        compared = any(feature.by_priority(scenario) for feature in used(scenario))
        compared = compared or any("priority" in str(agent.options) for agent in scenario.agents)
        needed = bool(scenario.priorities or scenario.spot) or compared
        return prioritised(requests, scenario.priorities, seed, needed)

    def measure(self, point: Point, known: dict[str, Any]) -> None:
        if spot := point.scenario.spot:
            known["pays"] = spot.shares(point.scenario.priorities)


FEATURE = _Feature()
