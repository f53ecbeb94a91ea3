"""Speed: a request on a faster server ends sooner."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Point
from binwright.simcore.fields import Model, PositiveNumber
from binwright.simcore.types import Floats, Request


class _Group(Model):
    speed: PositiveNumber = 1.0
    """Requests stay on these servers for their lifetime divided by this; a gang goes at the pace of its slowest part.
    """


class _Feature(Feature):
    key = "cluster.groups"
    keys: ClassVar = {"group": _Group}
    learned = False

    def stepped(self, scenario: Any, together: bool) -> bool:
        return True

    def section(self, scenario: Any) -> bool:
        return any(group.speed != 1 for group in scenario.cluster.groups or ())

    def attach(self, point: Point, simulation: Simulation) -> None:
        groups = point.scenario.cluster.groups
        speed = np.array([group.speed for group in groups for _ in range(group.count)])
        Speeds(simulation, speed[point.servers().order], groups[-1].speed)


class Speeds:
    """Has the requests of a simulation go on as fast as their servers are.

    `speed` float64 [servers] divides the times for which requests stay, and `added` is that of servers added later.
    """

    def __init__(self, simulation: Simulation, speed: Floats, added: float) -> None:
        self._simulation, self._added = simulation, added
        self._paces: dict[int, list[tuple[float, float, float]]] = {}
        """Of every row that has begun each pace it had: after what time it began, the work done by then, the pace."""
        simulation.speeds = simulation.rows.speeds = self
        simulation.view.speed = self._speed = speed
        if simulation.rows.oracle:
            simulation.rows.oracle.speeds = self

    def grow(self, by: int) -> None:
        """Take note of so many more servers."""
        self._simulation.view.speed = self._speed = np.append(self._speed, np.full(by, self._added))

    def begin(self, rows: Sequence[int], servers: Sequence[int], stays: float) -> float:
        """Have rows that stay for so long at speed 1 begin together on these servers; returns how long they stay."""
        pace = float(self._speed[[*servers]].min())
        for row in rows:
            self._paces[row] = [(0.0, 0.0, pace)]
            self._simulation.rows.longer[row] = stays / pace
        return stays / pace

    def moved(self, row: int) -> None:
        """Have a request that has been moved, or its gang, go on at the pace of the servers that it has now."""
        run, rows = self._simulation, self._simulation.with_parts([row])
        pace = float(self._speed[run.record.server[rows]].min())
        if pace == self._paces[row][-1][2]:
            return
        ran, longer = run.now - float(run.record.decided[row]), run.rows.longer
        done = self.done(row, ran)
        left = (self.done(row, longer[row]) - done) / pace
        for each in rows:
            self._paces[each].append((ran, done, pace))
            longer[each] = ran + left
        run.move_end(left, rows[0])

    def done(self, row: int, ran: float) -> float:
        """Return how much of its work a request has done after it ran for so long, in seconds at speed 1."""
        paces = self._paces.get(row, [(0.0, 0.0, 1.0)])
        since, done, pace = paces[max(0, bisect_right(paces, ran, key=lambda each: each[0]) - 1)]
        return done + (ran - since) * pace

    def stays(self, row: int, work: float) -> float:
        """Return for how long a request that runs stays in all, if its work takes so long at speed 1."""
        since, done, pace = self._paces.get(row, [(0.0, 0.0, 1.0)])[-1]
        return since + max(0.0, work - done) / pace

    def as_seen(self, request: Request) -> Request:
        """Return a request as agents know it on its server: with the time for which it stays there."""
        row, rows = request.index, self._simulation.rows
        stays = rows.longer[row] if rows.oracle is None else self.stays(row, request[2])
        return request._replace(duration=stays)


FEATURE = _Feature()
