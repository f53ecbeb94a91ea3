"""Several queues, as batch systems have them: whose requests go first, and how much of each may run at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from simcore.engine import Simulation
from simcore.record import QUEUE
from simcore.types import Ints, Request, Workload

REQUESTS = -1
"""Among the places of resources: how many requests run."""
Limits = dict[int, int]
"""The most that runs at once: quanta by the place of a resource, or how many `REQUESTS`."""
Key = tuple[int, int, int, int]
"""What is counted: a queue's place, that of a bound of it, an owner's, and that of a resource, or `REQUESTS`."""


@dataclass(frozen=True, slots=True)
class JobQueue:
    """Says which requests belong to a queue, when they go, and how much of them may run at once.

    `of` tells which rows of a workload it takes, bool [n], none that stay longer than `longest` seconds, by the time
    that agents are told. Queues of higher `priority` go first. Beside what all its requests may hold (`running`) there
    is what those of each owner may: by label, a function that tells the owner of every row, and the limits.
    """

    name: str
    of: Callable[[Workload], npt.NDArray[np.bool_]]
    priority: int = 0
    longest: float = inf
    running: Limits = field(default_factory=dict)
    each: dict[str, tuple[Callable[[Workload], npt.NDArray[Any]], Limits]] = field(default_factory=dict)


def queues_of(queues: Sequence[JobQueue], workload: Workload) -> Ints:
    """Find the first queue that takes each request: its place, int64 [n]; -1 where none is for it.

    It is less, -2 - n, where the last queue that is for it, with place n, takes none that stays so long.
    """
    found = np.full(len(workload), -1, np.int64)
    for number, queue in enumerate(queues):
        mine, longer = queue.of(workload) & (found < 0), workload.expected > queue.longest
        found[mine & longer], found[mine & ~longer] = -2 - number, number
    return found


class Queues:
    """Keeps the requests of a simulation in queues: who is above a limit stays in line, and others pass it."""

    def __init__(self, simulation: Simulation, queues: Sequence[JobQueue]) -> None:
        self._simulation, self.queues = simulation, queues
        workload = simulation.workload
        self.of: list[int] = queues_of(queues, workload).tolist()
        """The place of the queue of every row of the workload, negative for none."""
        self.waited: dict[int, tuple[float, float, str]] = {}
        """Of every row that a limit kept in line: since when, until when, and which one the first time."""
        self._bounds: list[list[tuple[Limits, list[int], str]]] = []
        for queue in queues:
            bounds = [(queue.running, [0] * len(workload), "")] if queue.running else []
            for label, (owners, limits) in queue.each.items():
                bounds.append((limits, np.unique(owners(workload), return_inverse=True)[1].tolist(), label))
            self._bounds.append(bounds)
        self._used: Counter[Key] = Counter()
        self._held: dict[int, list[tuple[Key, int]]] = {}
        simulation.queues = simulation.view.queues = self

    def _asks(self, request: Request) -> list[tuple[Key, int, int]]:
        """List what a request counts against: which bound, how much, and the limit."""
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
        return f"{QUEUE}{what}{f' of one {label}' if label else ''} in {self.queues[number].name}"

    def priority(self, request: Request) -> int:
        """Return the priority of a request's queue."""
        number = self.of[self._simulation.source(request.index)]
        return self.queues[number].priority if number >= 0 else 0

    def refuses(self, request: Request) -> str:
        """Say why a request may never run; empty where it may."""
        if (number := self.of[self._simulation.source(request.index)]) < -1:
            return f"{QUEUE}time in {self.queues[-2 - number].name}"
        return next((self._reason(key) for key, amount, most in self._asks(request) if amount > most), "")

    def closed(self, request: Request) -> str:
        """Say which limit keeps a request from starting now; empty where none does."""
        used = self._used
        return next(
            (self._reason(key) for key, more, most in self._asks(request) if more and used[key] + more > most), ""
        )

    def open(self, line: Sequence[Request]) -> list[Request]:
        """Leave out those of a line that a limit keeps from starting now, and note these."""
        found, waited, now = [], self.waited, self._simulation.now
        for request in line:
            if reason := self.closed(request):
                since, _, first = waited.get(request.index, (now, inf, reason))
                waited[request.index] = since, inf, first
            else:
                if request.index in waited and waited[request.index][1] == inf:
                    waited[request.index] = waited[request.index][0], now, waited[request.index][2]
                found.append(request)
        return found

    def started(self, request: Request) -> None:
        """Count a request that runs from now on."""
        self._held[request.index] = held = [(key, amount) for key, amount, _ in self._asks(request)]
        for key, amount in held:
            self._used[key] += amount

    def freed(self, row: int) -> None:
        """Count the request of a row no more, if it runs."""
        for key, amount in self._held.pop(row, ()):
            self._used[key] -= amount
