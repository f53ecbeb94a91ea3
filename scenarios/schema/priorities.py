"""The schema of priorities, their classes, and of prices: what an hour of a resource earns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

from pydantic import Field

from binwright.scenarios.schema.placement import Keys, Placed
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Model, Names, Share, Shown, together, wrong
from binwright.simcore.units import DATA, measure_of
from binwright.workloads.priorities import LARGEST, number_of

Priorities: TypeAlias = Annotated[
    dict[str, Annotated[int, Field(strict=True, ge=-LARGEST, le=LARGEST)]],
    Shown("{class: whole number}"),
]


class Spot(Model):
    """Requests that pay less, since they may be evicted."""

    of: Names = Field(description="Their priorities: classes, or numbers.", examples=["[batch]"], min_length=1)
    pays: Share = Field(description="The share of `prices` that they pay.", examples=["30 %"])

    def shares(self, classes: Mapping[str, int]) -> dict[int, float]:
        """Return the share that each of these priorities pays."""
        return {number: self.pays for name in self.of if (number := number_of(name, classes)) is not None}

    def check(self, classes: Mapping[str, int], priced: bool) -> None:
        """Refuse priorities that there are not, and a share where there are no prices."""
        for place, name in enumerate(self.of):
            if number_of(name, classes) is None:
                remedy = f"{suggest(name, classes)} Or give a whole number."
                raise wrong("there is no such priority", remedy, ("spot", "of", place), name)
        if not priced:
            raise wrong("nothing has a price", "Write `prices`, like {cpu_hour: 0.04}.", ("spot", "pays"))


def check_priorities(classes: Mapping[str, int], placed: Sequence[tuple[Keys, Placed]]) -> None:
    """Refuse classes that are numbers, and what requests say of classes that there are not."""

    def check(name: str, at: Keys) -> None:
        if number_of(name, classes) is None:
            raise wrong("there is no such priority", f"{suggest(name, classes)} Or give a whole number.", at, name)

    def named(name: str) -> None:
        if number_of(name, {}) is not None:
            raise wrong("is a number", "Give the class a name, like production.", ("priorities", name), name)

    def weighted(each: Placed, at: Keys) -> None:
        if each.priority and not any(each.priority.values()):
            raise wrong("has no weight above zero", "Give one of them a weight above zero.", at)

    together(
        *(lambda name=name: named(name) for name in classes),
        *(
            lambda name=name, at=at: check(name, ("workload", *at, "priority"))
            for at, each in placed
            for name in each.priority
        ),
        *(lambda each=each, at=at: weighted(each, ("workload", *at, "priority")) for at, each in placed),
    )


def check_prices(prices: Mapping[str, float], resources: tuple[str, ...]) -> None:
    """Refuse a price of what the cluster does not have."""
    for key in prices:
        if key not in (known := _price_keys(resources)):
            usual = [name for name in known if measure_of(known[name][0]) is not DATA or "_gb_" in name]
            raise wrong("is not a price of the cluster's resources", suggest(key, usual), ("prices", key))


def hourly(prices: Mapping[str, float], resources: tuple[str, ...]) -> dict[str, float]:
    """Tell what an hour of one unit of each priced resource earns."""
    known = _price_keys(resources)
    earned: dict[str, float] = {}
    for key, price in prices.items():
        resource, units = known[key]
        earned[resource] = earned.get(resource, 0.0) + price / units
    return earned


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
