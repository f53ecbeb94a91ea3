"""Keeps the requests of a run in several queues, with priorities and limits on what runs at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from binwright.fabric.run.simulation import Simulation
from binwright.simcore.record import QUEUE
from binwright.simcore.roles import where_of
from binwright.simcore.types import Ints, Request, Workload
from binwright.simcore.units import by_place
from binwright.workloads.changes import matching, words_of

if TYPE_CHECKING:
    from binwright.scenarios.features.queues import Queue

COUNTED = "requests"
"""What is limited beside resources: how many run."""
REQUESTS = -1
"""Stands for it among the numbers of resources."""
Limits = dict[int, int]
"""The most that runs at once: quanta by the number of a resource, or how many `REQUESTS`."""
Key = tuple[int, int, int, int]
"""What is counted: the numbers of a queue, of a bound of it, of an owner, and of a resource (or `REQUESTS`)."""


def queues_of(queues: Mapping[str, Queue], workload: Workload, at: str) -> Ints:
    """Find the number of the first queue that takes each request, int64 [n]; -1 where `of` of none allows it.

    It is -2 - q where q is the last queue whose `of` allows the request, and all such queues take only shorter ones.
    """
    found = np.full(len(workload), -1, np.int64)
    for number, (name, queue) in enumerate(queues.items()):
        mine = matching(workload, dict(where_of(queue.of)), f"{at}.{name}.of") & (found < 0)
        longer = workload.expected > (queue.longest or inf)
        found[mine & longer], found[mine & ~longer] = -2 - number, number
    return found


def limits_of(amounts: Mapping[str, float], resources: Sequence[str]) -> Limits:
    """Turn what may run at once into quanta, and a number of requests."""
    counted = {REQUESTS: int(amounts[COUNTED])} if COUNTED in amounts else {}
    return by_place({name: units for name, units in amounts.items() if name != COUNTED}, resources) | counted


class QueueBook:
    """Keeps the requests of a simulation in queues; a request above a limit stays in line, and others pass it."""

    def __init__(self, simulation: Simulation, queues: Mapping[str, Queue], at: str) -> None:
        self._simulation, self.names, self._queues = simulation, [*queues], [*queues.values()]
        workload, resources = simulation.workload, simulation.view.resources
        self.of: list[int] = queues_of(queues, workload, at).tolist()
        """The number of the queue of every row of the workload, negative for none."""
        self.waited: dict[int, tuple[float, float, str]] = {}
        """For every row that a limit kept in line: since when, until when, and the first such limit."""
        self._bounds: list[list[tuple[Limits, list[int], str]]] = []
        for name, queue in queues.items():
            bounds = [(limits_of(queue.running, resources), [0] * len(workload), "")] if queue.running else []
            for label, amounts in queue.each.items():
                owners = np.unique(words_of(workload, label, f"{at}.{name}.each"), return_inverse=True)[1].tolist()
                bounds.append((limits_of(amounts, resources), owners, label))
            self._bounds.append(bounds)
        self._used: Counter[Key] = Counter()
        self._held: dict[int, list[tuple[Key, int]]] = {}
        simulation.queues = simulation.view.queues = self

    def _asks(self, request: Request) -> list[tuple[Key, int, int]]:
        """List the bounds that a request counts against, by how much, and their limits."""
        row = self._simulation.source(request.index)
        if (number := self.of[row]) < 0:
            return []
        return [
            ((number, place, owners[row], r), request.parts * request.demand[r] if r >= 0 else 1, most)
            for place, (limits, owners, _) in enumerate(self._bounds[number])
            for r, most in limits.items()
        ]

    def _reason(self, key: Key) -> str:
        number, place, _, r = key
        what = "requests" if r < 0 else self._simulation.view.resources[r]
        label = self._bounds[number][place][2]
        return f"{QUEUE}{what}{f' of one {label}' if label else ''} in {self.names[number]}"

    def rows(self, name: str) -> npt.NDArray[np.bool_]:
        """Tell which rows of the workload are in the queue of this name, bool [n]."""
        return np.array([number >= 0 and self.names[number] == name for number in self.of], np.bool_)

    def priority(self, request: Request) -> int:
        """Return the priority of a request's queue."""
        number = self.of[self._simulation.source(request.index)]
        return self._queues[number].priority if number >= 0 else 0

    def refusal(self, request: Request) -> str:
        """Say why a request may never run; empty where it may."""
        if (number := self.of[self._simulation.source(request.index)]) < -1:
            return f"{QUEUE}time in {self.names[-2 - number]}"
        return next((self._reason(key) for key, amount, most in self._asks(request) if amount > most), "")

    def limit_reached(self, request: Request) -> str:
        """Say which limit keeps a request from starting now; empty where none does."""
        used = self._used
        return next(
            (self._reason(key) for key, more, most in self._asks(request) if more and used[key] + more > most), ""
        )

    def within_limits(self, line: Sequence[Request]) -> list[Request]:
        """Leave out requests of a line that a limit keeps from starting now, and note them in `waited`."""
        found, waited, now = [], self.waited, self._simulation.now
        for request in line:
            if reason := self.limit_reached(request):
                since, _, first = waited.get(request.index, (now, inf, reason))
                waited[request.index] = since, inf, first
            else:
                if request.index in waited and waited[request.index][1] == inf:
                    waited[request.index] = waited[request.index][0], now, waited[request.index][2]
                found.append(request)
        return found

    def started(self, request: Request) -> None:
        """Count a request that starts now."""
        self._held[request.index] = held = [(key, amount) for key, amount, _ in self._asks(request)]
        for key, amount in held:
            self._used[key] += amount

    def freed(self, row: int) -> None:
        """Stop counting the request of a row, if it runs."""
        for key, amount in self._held.pop(row, ()):
            self._used[key] -= amount
