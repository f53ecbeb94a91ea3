"""When parts fail and come back; what that means for the requests on them is the engine's business."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, TypeAlias

import numpy as np

from binwright.simcore.clock import Clock
from binwright.simcore.rng import stream

Kind: TypeAlias = Literal["server", "link", "switch"]


@dataclass(frozen=True, slots=True)
class Faults:
    """Failures: each part of a kind fails after `mtbf` seconds on average and is back after `mttr` (exponential).

    `scheduled` adds (time, part, repair after) by hand; inf repairs never. `requeue` offers what was interrupted
    again at once, for the rest of its holding period. `seed` determines the random failures, part by part.

    Those of servers that are `announced`, of which agents know in advance, are among them.

    With `domains`, the parts are sets of servers that fail together, and `label` names what they have in common: among
    so many servers, it lists those of each domain. A server is back when it and all its domains are.
    """

    mtbf: float = inf
    mttr: float = 0.0
    scheduled: tuple[tuple[float, int, float], ...] = ()
    requeue: bool = False
    seed: int = 0
    kind: Kind = "server"
    label: str = ""
    domains: Callable[[int], Sequence[Sequence[int]]] | None = None
    announced: tuple[tuple[float, int, float], ...] = ()


class FailingDomains:
    """Domains of servers as parts that fail. `count` is how many servers there are."""

    def __init__(self, domains: Callable[[int], Sequence[Sequence[int]]], servers: Any, count: int) -> None:
        self._domains, self._servers = domains, servers
        self._down: dict[int, Sequence[int]] = {}
        self.grow(count)

    def grow(self, count: int) -> None:
        """Take note of so many servers in all."""
        self.members = self._domains(count)

    def fail(self, part: int, kind: Kind, requeue: bool) -> bool:
        if part in self._down or part >= len(self.members):
            return False
        self._down[part] = self.members[part]  # servers that are added while it is down are not
        self._servers.down(self.members[part], requeue)
        return True

    def repair(self, part: int, kind: Kind) -> None:
        self._servers.up(self._down.pop(part))


class FaultProcess:
    """Fails and repairs parts on the clock: as scheduled once, at random for ever."""

    def __init__(self, faults: Faults, clock: Clock, parts: Any) -> None:
        self.kind = faults.kind
        self._faults = faults
        self._clock = clock
        self._parts = parts
        self._streams: list[np.random.Generator] = []
        self.all_back = -inf
        """When every part that has failed at random so far is back."""
        for number, (time, _, _) in enumerate(faults.scheduled):
            clock.at(time, self._scheduled_failure, number)

    @property
    def endless(self) -> int:
        """How many things on the clock are random failures and their repairs, which go on for ever."""
        return len(self._streams)

    def watch(self, parts: range) -> None:
        """Start the random failures of these parts, each from its own stream."""
        if self._faults.mtbf < inf:
            for part in parts:
                name = f"domain {self._faults.label}" if self._faults.domains else self._faults.kind
                self._streams.append(stream(self._faults.seed, "faults", name, part))
                self._await_failure(part)

    def _await_failure(self, part: int) -> None:
        time = self._clock.now + self._streams[part].exponential(self._faults.mtbf)
        self._clock.at(time, self._random_failure, part)

    def _random_failure(self, part: int) -> None:
        if self._fail(part):
            time = self._clock.now + self._streams[part].exponential(self._faults.mttr)
            self.all_back = max(self.all_back, time)
            self._clock.at(time, self._random_repair, part)
        else:
            self._await_failure(part)

    def _random_repair(self, part: int) -> None:
        self._repair(part)
        self._await_failure(part)

    def _scheduled_failure(self, number: int) -> None:
        _, part, repair_after = self._faults.scheduled[number]
        if self._fail(part) and repair_after < inf:
            self._clock.at(self._clock.now + repair_after, self._repair, part)

    def _fail(self, part: int) -> bool:
        return bool(self._parts.fail(part, self._faults.kind, self._faults.requeue))

    def _repair(self, part: int) -> None:
        self._parts.repair(part, self._faults.kind)
