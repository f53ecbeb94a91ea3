"""Several queues: whose requests go first, and how much of each may run at once, as batch systems do."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from binwright.fabric.compiled.tables import CounterBook, counters_of
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Named, Point, chosen, way, way_at
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.fields import Keys, Model, PositiveTime, Shown, Where, known_resources, wrong
from binwright.simcore.record import QUEUE
from binwright.simcore.roles import where_of
from binwright.simcore.types import Agent, Flags, Ints, Request
from binwright.simcore.units import by_place
from binwright.workloads.amounts import NamedAmounts
from binwright.workloads.labels import matching, words_of


class Queue(Model):
    """A queue, like a partition of Slurm. A request goes into the first queue that takes it.

    A request that `of` allows and that stays longer than `longest` is refused, unless a later queue takes it. Others
    pass a request that a limit keeps waiting. A gang counts as one request, with all its parts.
    """

    of: Where = Field(default_factory=dict, examples=["{queue: [short, debug]}"])
    """Takes requests with one of these values of every label, or of `group`; by default all."""
    priority: Annotated[int, Field(strict=True), Shown("whole number")] = 0
    """Requests of the queue with the highest priority go first."""
    longest: PositiveTime | None = None
    """Takes no request that stays longer, by the time that agents know."""
    running: NamedAmounts = Field(default_factory=dict, examples=["{requests: 20, cpu: 128}"])
    """The most that runs at once: `requests`, and amounts of resources."""
    each: dict[str, NamedAmounts] = Field(default_factory=dict, examples=["{tenant: {requests: 2}}"])
    """The most that runs at once of each value of a label, such as each tenant."""


COUNTED, REQUESTS = "requests", -1
"""What is limited beside resources: how many run. The number stands among those of resources."""


class QueueBook(CounterBook):
    """Keeps the requests of a simulation in queues; a request above a limit stays in line, and others pass it."""

    def __init__(self, simulation: Simulation, queues: Mapping[str, Queue], at: str) -> None:
        self.names, self._queues = [*queues], [*queues.values()]
        workload, resources = simulation.workload, simulation.view.resources
        self._queue_of = of = np.full(len(workload), -1)
        """The queue of each request of the workload; below -1 for one that is too long for the last that takes it."""
        counters, amounts, most, reasons = list[Ints](), list[Ints](), list[int](), list[str]()
        for number, (name, queue) in enumerate(queues.items()):
            mine = matching(workload, dict(where_of(queue.of)), f"{at}.{name}.of") & (of < 0)
            longer = workload.expected > (queue.longest or inf)
            of[mine & longer], of[mine & ~longer] = -2 - number, number
            for label, limits in [("", queue.running), *queue.each.items()]:
                words = words_of(workload, label, f"{at}.{name}.each") if label else np.zeros(len(workload))
                owners, owner = np.unique(words, return_inverse=True)
                quanta = by_place({each: limits[each] for each in limits if each != COUNTED}, resources)
                if COUNTED in limits:
                    quanta[REQUESTS] = int(limits[COUNTED])
                for r, limit in quanta.items():
                    counters.append(np.where(of == number, len(most) + owner, -1))
                    amounts.append(np.ones(len(of), np.int64) if r == REQUESTS else simulation.taken[:, r])
                    most += [limit] * len(owners)
                    what = COUNTED if r == REQUESTS else resources[r]
                    reasons += [f"{QUEUE}{what}{f' of one {label}' if label else ''} in {name}"] * len(owners)
        counter, amount = (np.array(columns, np.int64).reshape(-1, len(of)).T.copy() for columns in (counters, amounts))
        nobody = np.full(len(most), -1)
        table = counters_of(counter, amount, np.array(most, np.int64), nobody, nobody)
        # With nothing running, a limit that is reached is one for ever.
        above = (counter >= 0) & (amount > table.most[counter]) if most else counter >= 0
        table.never[:] = (of < -1) | above.any(axis=1)
        super().__init__(simulation, "limits", table, reasons)
        ranks = np.unique([0, *(queue.priority for queue in queues.values())])
        urgency = np.searchsorted(ranks, [queue.priority for queue in self._queues] + [0])
        simulation.urgency = urgency[np.where(of >= 0, of, len(urgency) - 1)]
        simulation.queues = simulation.view.queues = self

    def rows(self, name: str) -> Flags:
        """Tell which rows of the workload are in the queue of this name, bool [n]."""
        of_queue: Flags = self._queue_of == self.names.index(name)
        return of_queue

    def priority(self, request: Request) -> int:
        """Return the priority of a request's queue."""
        queue = self._queue_of[self._simulation.source(request.index)]
        return self._queues[queue].priority if queue >= 0 else 0

    def refusal(self, row: int) -> str:
        """Say why the request of a row may never run; empty where it may."""
        if not self.table.never[row]:
            return ""
        queue = self._queue_of[row]
        return f"{QUEUE}stays longer than {self.names[-2 - queue]} takes" if queue < 0 else self.lacks_alone(row)

    def within_limits(self, line: Sequence[Request]) -> list[Request]:
        """Leave out requests of a line that a limit keeps from starting now, and note since when and until when."""
        table, now = self.table, self._simulation.now
        return [each for each in line if not self._is_held(table, each.index, now)]


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
        for name, queue in queues.items():
            each: dict[Keys, Mapping[str, float]] = {("each", label): limits for label, limits in queue.each.items()}
            for keys, limits in {("running",): queue.running, **each}.items():
                keys_of_queue = (*at, name, *keys)
                known_resources(limits, (*scenario.resources, COUNTED), keys_of_queue)
                if (most := limits.get(COUNTED, 1.0)) != int(most):
                    raise wrong("is not a whole number", "Write one from 0.", (*keys_of_queue, COUNTED), most)
                if not limits and keys in each:
                    raise wrong("limits nothing", "Write a limit, like requests: 2.", keys_of_queue)
            if queue.longest and scenario.knowledge.lifetimes == "hidden":
                remedy = "Write `knowledge: {lifetimes: known}`, or how they are predicted."
                raise wrong("agents do not know how long requests stay", remedy, (*at, name, "longest"))

        for number, metric in enumerate(scenario.metrics):
            for name in metric.by.get("queue", ()):
                if name not in queues:
                    remedy = suggest(name, queues)
                    raise wrong("there is no such queue", remedy, ("metrics", number, "by", "queue"), name)

    def names(self, scenario: Any) -> list[Named]:
        at = self._at(scenario)
        return [each for name, queue in self.section(scenario).items() for each in chosen((*at, name, "of"), queue.of)]

    def attach(self, point: Point, simulation: Simulation) -> None:
        QueueBook(simulation, self.section(point.scenario), ".".join(map(str, self._at(point.scenario))))

    def suits(self, scenario: Any, agent: Agent) -> None:
        if type(agent).decide_line is not Agent.decide_line and not agent.passes_on:
            remedy = "Take `in-line` with an order, or an agent that answers single requests, such as best-fit."
            problem = f"{type(agent).__name__} chooses among requests that wait, and knows no queues"
            raise UserError(problem, key="agents", remedy=remedy)

    def why(self, simulation: Simulation, row: int) -> list[str]:
        book = simulation.queues
        if not isinstance(book, QueueBook) or (waited := book.waited(row)) is None:
            return []
        since, until, reason = waited
        return [f"kept waiting from {since:g} s to {until:g} s by {reason}"]


FEATURE = _Feature()
