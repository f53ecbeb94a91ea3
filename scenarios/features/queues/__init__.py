"""Several queues: whose requests go first, and how much of each may run at once, as batch systems do."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from binwright.fabric.compiled.tables import REQUESTS, LimitTable, count_limits, is_kept, limit_reached
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Named, Point, chosen, way, way_at
from binwright.simcore.amounts import NamedAmounts
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.fields import Keys, Model, PositiveTime, Shown, Where, known_resources, wrong
from binwright.simcore.jit import prepared
from binwright.simcore.record import QUEUE
from binwright.simcore.roles import where_of
from binwright.simcore.types import Agent, Ints, Request
from binwright.simcore.units import by_place
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


COUNTED = "requests"
"""What is limited beside resources: how many run."""


class QueueBook:
    """Keeps the requests of a simulation in queues; a request above a limit stays in line, and others pass it."""

    def __init__(self, simulation: Simulation, queues: Mapping[str, Queue], at: str) -> None:
        self._simulation, self.names, self._queues = simulation, [*queues], [*queues.values()]
        workload, self._resources = simulation.workload, simulation.view.resources
        limits: list[tuple[int, int, str, int]] = []  # resource, most, label, the place in `used` of its first owner
        owners, first, rows, used = list[Ints](), [0], len(simulation.record.outcome), 0
        for name, queue in queues.items():
            for label, amounts in [*([("", queue.running)] if queue.running else []), *queue.each.items()]:
                owner = np.zeros(rows, np.int64)
                if label:
                    words = words_of(workload, label, f"{at}.{name}.each")
                    owner[: len(workload)] = np.unique(words, return_inverse=True)[1]
                counted = {REQUESTS: int(amounts[COUNTED])} if COUNTED in amounts else {}
                quanta = by_place({name: amounts[name] for name in amounts if name != COUNTED}, self._resources)
                for resource, most in (quanta | counted).items():
                    limits.append((resource, most, label, used))
                    owners.append(owner + used)
                    used += int(owner.max(initial=0)) + 1
            first.append(len(limits))
        self._labels = [label for _, _, label, _ in limits]
        queue_of = np.full(rows, -1)
        offered = queue_of[: len(workload)]
        for number, (name, queue) in enumerate(queues.items()):
            mine = matching(workload, dict(where_of(queue.of)), f"{at}.{name}.of") & (offered < 0)
            longer = workload.expected > (queue.longest or inf)
            offered[mine & longer], offered[mine & ~longer] = -2 - number, number
        table = LimitTable(
            queue_of,
            never=queue_of < -1,
            first=np.array(first, np.int64),
            resource=np.array([resource for resource, *_ in limits], np.int64),
            most=np.array([most for _, most, *_ in limits], np.int64),
            owner=np.array(owners, np.int64).reshape(len(limits), rows),
            used=np.zeros(used, np.int64),
            runs=np.zeros(rows, np.bool_),
            since=np.full(rows, np.nan),
            until=np.full(rows, np.nan),
            limit=np.full(rows, -1),
        )
        simulation.tables = simulation.tables._replace(limits=table)
        demand = np.zeros(len(self._resources), np.int64)
        self._reached = prepared(limit_reached, table, demand, 1, 0)
        self._count = prepared(count_limits, table, demand, 1, 0, True)
        self._is_kept = prepared(is_kept, table, demand, 1, 0, 0.0)
        # With nothing running, a limit that is reached is one for ever.
        for row in np.flatnonzero(queue_of[: len(workload)] >= 0).tolist():
            table.never[row] = self._reached(table, *self._simulation.demand_of(row), row) >= 0
        ranks = np.unique([0, *(queue.priority for queue in queues.values())])
        urgency = np.searchsorted(ranks, [queue.priority for queue in self._queues] + [0])
        simulation.urgency = urgency[np.where(queue_of >= 0, queue_of, len(urgency) - 1)]
        simulation.queues = simulation.view.queues = self

    @property
    def table(self) -> LimitTable:
        """The limits, and what counts against them."""
        return self._simulation.tables.limits

    def _reason(self, limit: int) -> str:
        """Say which limit that is."""
        table, label = self.table, self._labels[limit]
        r, queue = int(table.resource[limit]), int(np.searchsorted(table.first, limit, "right")) - 1
        what = COUNTED if r == REQUESTS else self._resources[r]
        return f"{QUEUE}{what}{f' of one {label}' if label else ''} in {self.names[queue]}"

    def rows(self, name: str) -> npt.NDArray[np.bool_]:
        """Tell which rows of the workload are in the queue of this name, bool [n]."""
        of_queue: npt.NDArray[np.bool_] = self.table.queue[: len(self._simulation.workload)] == self.names.index(name)
        return of_queue

    def priority(self, request: Request) -> int:
        """Return the priority of a request's queue."""
        queue = self.table.queue[request.index]
        return self._queues[queue].priority if queue >= 0 else 0

    def refusal(self, request: Request) -> str:
        """Say why a request may never run; empty where it may."""
        table, row = self.table, request.index
        if not table.never[row]:
            return ""
        if table.queue[row] < -1:
            return f"{QUEUE}stays longer than {self.names[-2 - table.queue[row]]} takes"
        nothing = table._replace(used=np.zeros_like(table.used))
        return self._reason(self._reached(nothing, *self._simulation.demand_of(row), row))

    def limit_reached(self, request: Request) -> str:
        """Say which limit keeps a request from starting now; empty where none does."""
        limit = self._reached(self.table, *self._simulation.demand_of(request.index), request.index)
        return self._reason(limit) if limit >= 0 else ""

    def within_limits(self, line: Sequence[Request]) -> list[Request]:
        """Leave out requests of a line that a limit keeps from starting now, and note since when and until when."""
        now, table = self._simulation.now, self.table
        return [
            each for each in line if not self._is_kept(table, *self._simulation.demand_of(each.index), each.index, now)
        ]

    def waited(self, row: int) -> tuple[float, float, str] | None:
        """Return since when and until when a limit kept a row in line, and the first that did so; None if none did."""
        table = self.table
        if np.isnan(table.since[row]):
            return None
        return float(table.since[row]), float(table.until[row]), self._reason(int(table.limit[row]))

    def started(self, request: Request) -> None:
        """Count a request that starts now."""
        self._count(self.table, *self._simulation.demand_of(request.index), request.index, True)

    def freed(self, row: int) -> None:
        """Stop counting the request of a row, if it runs."""
        self._count(self.table, *self._simulation.demand_of(row), row, False)


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
        return [f"kept waiting from {since:g} s to {min(until, simulation.now):g} s by {reason}"]


FEATURE = _Feature()
