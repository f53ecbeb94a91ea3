"""When servers fail and come back; what that means for the requests on them is the engine's business."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np

from simcore.clock import Clock
from simcore.rng import stream


@dataclass(frozen=True, slots=True)
class Faults:
    """Server failures: each server fails after `mtbf` seconds on average and is back after `mttr` (exponential).

    `scheduled` adds (time, server, repair after) by hand; inf repairs never. `requeue` offers what was interrupted
    again at once, for the rest of its holding period. `seed` determines the random failures, server by server.
    """

    mtbf: float = inf
    mttr: float = 0.0
    scheduled: tuple[tuple[float, int, float], ...] = ()
    requeue: bool = False
    seed: int = 0


class Machines(Protocol):
    """What fails: `fail` is false for a server that is down already, which nothing then happens to."""

    def fail(self, server: int) -> bool: ...
    def repair(self, server: int) -> None: ...


class FaultProcess:
    """Fails and repairs servers on the clock: the scheduled ones once, the random ones for ever."""

    def __init__(self, faults: Faults, clock: Clock, machines: Machines) -> None:
        self._faults = faults
        self._clock = clock
        self._machines = machines
        self._streams: list[np.random.Generator] = []
        self.all_back = -inf
        """When every server that has failed at random so far is back."""
        for number, (time, _, _) in enumerate(faults.scheduled):
            clock.at(time, self._scheduled_failure, number)

    @property
    def endless(self) -> int:
        """How many things on the clock are random failures and their repairs, which go on for ever."""
        return len(self._streams)

    def watch(self, servers: range) -> None:
        """Start the random failures of these servers, each from its own stream."""
        if self._faults.mtbf < inf:
            for server in servers:
                self._streams.append(stream(self._faults.seed, "faults", server))
                self._await_failure(server)

    def _await_failure(self, server: int) -> None:
        time = self._clock.now + self._streams[server].exponential(self._faults.mtbf)
        self._clock.at(time, self._random_failure, server)

    def _random_failure(self, server: int) -> None:
        if self._machines.fail(server):
            time = self._clock.now + self._streams[server].exponential(self._faults.mttr)
            self.all_back = max(self.all_back, time)
            self._clock.at(time, self._random_repair, server)
        else:
            self._await_failure(server)

    def _random_repair(self, server: int) -> None:
        self._machines.repair(server)
        self._await_failure(server)

    def _scheduled_failure(self, number: int) -> None:
        _, server, repair_after = self._faults.scheduled[number]
        if self._machines.fail(server) and repair_after < inf:
            self._clock.at(self._clock.now + repair_after, self._machines.repair, server)
