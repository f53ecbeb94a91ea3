"""Priorities and preemption: less urgent requests give way to one that fits nowhere."""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Point, way
from binwright.scenarios.features.overflow import AfterPreemption, Word
from binwright.scenarios.features.preemption.run import VICTIM_RULES, Preemption
from binwright.simcore.fields import Model, PositiveTime, Shown, Text, Time, checked, wrong
from binwright.simcore.unions import PlainOrMapping


class Preempt(Model):
    """Less urgent requests are evicted where that costs least, to make room for one that fits nowhere."""

    victims: Text = Field(
        default="lowest",
        description="The cost of a victim: its priority (`lowest`), its time so far (`youngest`), the work lost "
        "(`cheapest`), one (`fewest`), or a function `(view, request, victims)`. Costs are summed; of "
        "the first two the largest counts.",
        examples=["cheapest", "mine.py:cost"],
    )
    grace: Time = Field(default=0.0, description="Victims run on for this time after their notice.", examples=["30 s"])
    then: Literal["requeue", "drop"] = Field(
        default="requeue",
        description="Victims are offered again, first of their priority, and meet `otherwise` where they fit nowhere; "
        "or they are lost.",
    )
    checkpoint: PositiveTime | None = Field(
        default=None,
        description="Victims resume from a checkpoint every so often; by default they begin anew.",
        examples=["10 min"],
    )
    otherwise: Annotated[
        Word | AfterPreemption,
        PlainOrMapping(),
        Shown("`drop`, `wait`, `stop`, {expand: [Expand](#expand)} or {wait: [Wait](#wait)}"),
    ] = Field("wait", description="What happens when that makes no room.")

    @model_validator(mode="after")
    def _known(self) -> Self:
        if not callable(checked(VICTIM_RULES.load, ("victims",))(self.victims)):
            raise wrong("is no function", "Name one that takes (view, request, victims).", ("victims",), self.victims)
        return self

    def kept(self, ran: float) -> float:
        """Return how much of the time that a victim has run is not lost."""
        return ran // self.checkpoint * self.checkpoint if self.checkpoint else 0.0


class _Keys(Model):
    preempt: Preempt | None = Field(
        default=None, description="Less urgent requests are evicted.", examples=["{victims: fewest, grace: 30 s}"]
    )


class _Feature(Feature):
    key = "overflow.preempt"
    keys: ClassVar = {"overflow": _Keys}
    learned = False
    name = "preemption"

    def stepped(self, scenario: Any, together: bool) -> str:
        return "requests that run are evicted for others that wait together" if together else ""

    def section(self, scenario: Any) -> Any:
        return way(scenario.overflow, "preempt")

    def by_priority(self, scenario: Any) -> bool:
        return True

    def attach(self, point: Point, simulation: Simulation) -> None:
        simulation.overflow = replace(simulation.overflow, preempt=True)
        Preemption(simulation, way(point.scenario.overflow, "preempt"))

    def why(self, simulation: Simulation, row: int) -> list[str]:
        log = simulation.preempting.log if simulation.preempting else []
        evicted = [one for one in log if one.outcome == "evicted" and one.end <= simulation.now]

        def named(row: int) -> str:
            return f"{simulation.workload.id[simulation.source(row)]} (priority {simulation.request(row).priority})"

        names = [named(one.row) for one in evicted if one.by == row]
        return [f"evicted for it: {', '.join(names)}"] * bool(names) + [
            f"evicted at {one.end:g} s for {named(one.by)}, which lost {one.lost:g} s of its work"
            for one in evicted
            if one.row == row
        ]


FEATURE = _Feature()
