"""The schema of priorities: their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

from pydantic import Field

from scenarios.schema.placement import Keys, Placed
from simcore.errors import suggest
from simcore.fields import Model, Names, Share, Shown, together, wrong
from workloads.priorities import LARGEST, number_of

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
