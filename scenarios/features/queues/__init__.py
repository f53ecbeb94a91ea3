"""Several queues: whose requests go first, and how much of each may run at once, as batch systems do."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Named, Point, chosen, way, way_at
from binwright.scenarios.features.queues.run import COUNTED, QueueBook
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.fields import Amounts, Keys, Model, PositiveTime, Shown, Where, known_resources, together, wrong
from binwright.simcore.types import Agent


class Queue(Model):
    """A queue, like a partition of Slurm. A request goes into the first queue that takes it.

    A request that `of` allows and that stays longer than `longest` is refused, unless a later queue takes it. Others
    pass a request that a limit keeps waiting. A gang counts as one request, with all its parts.
    """

    of: Where = Field(
        default_factory=dict,
        description="Takes requests with one of these values of every label, or of `group`; by default all.",
        examples=["{queue: [short, debug]}"],
    )
    priority: Annotated[int, Field(strict=True), Shown("whole number")] = Field(
        default=0, description="Requests of the queue with the highest priority go first.", examples=[10]
    )
    longest: PositiveTime | None = Field(
        default=None, description="Takes no request that stays longer, by the time that agents know.", examples=["2 h"]
    )
    running: Amounts = Field(
        default_factory=dict,
        description="The most that runs at once: `requests`, and amounts of resources.",
        examples=["{requests: 20, cpu: 128}"],
    )
    each: dict[str, Amounts] = Field(
        default_factory=dict,
        description="The most that runs at once of each value of a label, such as each tenant.",
        examples=["{tenant: {requests: 2}}"],
    )


class _Feature(Feature):
    key = "overflow.wait.queues"
    learned = False
    labels = ("queue",)

    def section(self, scenario: Any) -> Mapping[str, Queue]:
        wait = way(scenario.overflow, "wait")
        return wait.queues if wait else {}

    def _at(self, scenario: Any) -> Keys:
        """Return the keys of the queues."""
        return (*way_at(scenario.overflow, "wait")[0], "queues")

    def check(self, scenario: Any) -> None:
        queues, at = self.section(scenario), self._at(scenario)
        hidden = scenario.knowledge.lifetimes == "hidden"

        def check(name: str, one: Queue) -> None:
            for keys, limits in (
                (("running",), one.running),
                *((("each", label), amounts) for label, amounts in one.each.items()),
            ):
                here = (*at, name, *keys)
                known_resources([each for each in limits if each != COUNTED], scenario.resources, here, (COUNTED,))
                if (most := limits.get(COUNTED, 1.0)) != int(most):
                    raise wrong("is not a whole number", "Write one from 0.", (*here, COUNTED), most)
                if not limits and keys != ("running",):
                    raise wrong("limits nothing", "Write a limit, like requests: 2.", here)
            if one.longest and hidden:
                remedy = "Write `knowledge: {lifetimes: known}`, or how they are predicted."
                raise wrong("agents do not know how long requests stay", remedy, (*at, name, "longest"))

        together(*(partial(check, name, one) for name, one in queues.items()))
        for number, metric in enumerate(scenario.metrics):
            for name in metric.by.get("queue", ()):
                if name not in queues:
                    raise wrong(
                        "there is no such queue", suggest(name, queues), ("metrics", number, "by", "queue"), name
                    )

    def names(self, scenario: Any) -> list[Named]:
        at = self._at(scenario)
        return [each for name, one in self.section(scenario).items() for each in chosen((*at, name, "of"), one.of)]

    def attach(self, point: Point, simulation: Simulation) -> None:
        QueueBook(simulation, self.section(point.scenario), ".".join(map(str, self._at(point.scenario))))

    def suits(self, scenario: Any, agent: Agent) -> None:
        if type(agent).decide_line is not Agent.decide_line and not agent.keeps_queues:
            remedy = (
                "Take `in-line` with an order, or an agent that answers one request after another, such as best-fit."
            )
            problem = f"{type(agent).__name__} chooses among requests that wait, and knows no queues"
            raise UserError(problem, key="agents", remedy=remedy)

    def why(self, simulation: Simulation, row: int) -> list[str]:
        book = simulation.queues
        if not isinstance(book, QueueBook) or (waited := book.waited(row)) is None:
            return []
        since, until, reason = waited
        return [f"kept waiting from {since:g} s to {min(until, simulation.now):g} s by {reason}"]


FEATURE = _Feature()
