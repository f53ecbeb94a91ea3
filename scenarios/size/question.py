"""What is asked of a scenario: which number of servers, between which bounds, and until when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from analysis.measure.condition import Target, target_of
from scenarios.schema.overflow import expand_of
from scenarios.schema.scenario import Scenario
from scenarios.schema.size import Size, metrics_of, place_of
from scenarios.schema.sweep import Sweep
from simcore.errors import UserError

LARGEST = 100_000_000
TIMES = 100
"""So many times the servers that there are is the most that is looked at, unless it is said."""


@dataclass(frozen=True, slots=True)
class Question:
    """A scenario, and what is looked for in it: the smallest value of `key`, from `least` to `most`.

    `begin` is the first that is looked at, `until` the target as it was written.
    """

    scenario: Scenario
    until: str
    target: Target
    key: str
    least: int
    begin: int
    most: int

    @classmethod
    def of(cls, scenario: Scenario, until: str | None, kind: str | None, most: int | None) -> Self:
        """Read it from a scenario's `size`, of which what is not None takes the place; refuse what has no answer."""
        own = scenario.size or Size()
        until, kind = own.until if until is None else until, own.kind if kind is None else kind
        most = own.most if most is None else most
        key, there = place_of(scenario.cluster, kind)
        target = target_of(until, metrics_of(scenario.cluster, scenario.metrics, scenario.currency))
        refuse(scenario, target)
        least = _least(scenario, there)
        most = min(LARGEST, max(TIMES * there, least)) if most is None else most
        if not least <= most <= LARGEST:
            why = f"; failures are scheduled of servers up to number {least - 1}" if least > 1 else ""
            remedy = f"Give {least} to {LARGEST:,}{why}."
            raise UserError("is no number of servers to look for", key="most", value=most, remedy=remedy)
        asked = Size(until=until, kind=kind, most=most)
        changed = scenario.model_copy(update={"record": (), "train": None, "size": asked})
        return cls(changed, until, target, key, least, min(there, most), most)

    @property
    def several(self) -> tuple[int, ...]:
        """Two sizes to check before anything runs, where there are two: an agent may be for the first one only."""
        near = (self.begin, self.begin + 1, self.begin - 1)
        return tuple(size for size in near if self.least <= size <= self.most)[:2]

    def size_at(self, point: Mapping[str, Any]) -> Any:
        """Read the number of servers at a point, or in a run's row."""
        return point[self.key]

    def said(self, size: int) -> str:
        """Say a size in words."""
        return "1 server" if size == 1 else f"{size} servers"

    def at(self, sizes: tuple[int, ...]) -> Scenario:
        """Return the scenario as a sweep over these sizes."""
        update: dict[str, Any] = {"sweep": Sweep(product={self.key: sizes})}
        return self.scenario.model_copy(update=update)


def _least(scenario: Scenario, there: int) -> int:
    """Find the least number of servers that the scenario allows: those that are to fail must be there."""
    cluster = scenario.cluster
    failing = max((failure.server + 1 for failure in cluster.failures.scheduled), default=0)
    others = (cluster.size or 0) - there
    return 1 if cluster.expansion else max(1, failing - others)


def refuse(scenario: Scenario, target: Target) -> None:
    """Refuse what changes while runs go on, what ends at the first refusal if refusals are the target, and a sweep."""
    names = [each.metric.name for each in (target, *target.others)]
    if scenario.overflow == "stop" and (name := next((n for n in names if n in ("acceptance", "rejected")), None)):
        problem = f"a run ends at its first refusal, so that {name} says nothing about the servers"
        remedy = (
            "Count on through refusals (--set overflow=drop), or ask how many are placed: --until 'scheduled >= 1000'."
        )
        raise UserError(problem, key="overflow", value="stop", remedy=remedy)
    if expand_of(scenario.overflow):
        problem = "servers are added while runs go on, which leaves nothing to size"
        raise UserError(problem, key="overflow", remedy="Write drop or wait: --set overflow=drop.")
    if scenario.sweep.product or scenario.sweep.zip:
        remedy = "Call binwright.sizes, which answers at every point, or take the sweep out: sweep=null."
        raise UserError("the scenario has a sweep, and one answer is asked for", key="sweep", remedy=remedy)
