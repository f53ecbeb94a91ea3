"""When parts fail and come back; what that means for the requests on them is the engine's business."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, TypeAlias

import numpy as np

from binwright.simcore.clock import Clock
from binwright.simcore.rng import stream

Kind: TypeAlias = Literal["server", "link"]


@dataclass(frozen=True, slots=True)
class Faults:
    """Failures: each part of a kind fails after `mtbf` seconds on average and is back after `mttr` (exponential).

    `scheduled` adds (time, part, repair after) by hand; inf repairs never. `requeue` offers what was interrupted
    again at once, for the rest of its holding period. `seed` determines the random failures, part by part.

    With `domains`, what fails are sets of parts at once, and `label` names what these are: of so many parts of the
    kind, it lists those of each domain. A part is back when it and all its domains are.
    """

    mtbf: float = inf
    mttr: float = 0.0
    scheduled: tuple[tuple[float, int, float], ...] = ()
    requeue: bool = False
    seed: int = 0
    kind: Kind = "server"
    label: str = ""
    domains: Callable[[int], Sequence[Sequence[int]]] | None = None


class FaultProcess:
    """Fails and repairs parts of a cluster on the clock: as scheduled once, at random for ever."""

    def __init__(self, faults: Faults, clock: Clock, cluster: Any, parts: int) -> None:
        self.kind = faults.kind
        self._faults, self._clock, self._cluster = faults, clock, cluster
        self._streams: list[np.random.Generator] = []
        self._members: Sequence[Sequence[int]] = ()
        """The servers or links of each domain."""
        self._down: dict[int, Sequence[int]] = {}
        """Of each domain that is down the parts that failed with it: those that are added meanwhile do not."""
        self.all_back = -inf
        """When every part that has failed at random so far is back."""
        for number, (time, _, _) in enumerate(faults.scheduled):
            clock.at(time, self._scheduled_failure, number)
        self.grow(parts)

    @property
    def endless(self) -> int:
        """How many things on the clock are random failures and their repairs, which go on for ever."""
        return len(self._streams)

    def grow(self, parts: int) -> None:
        """Count so many parts of the kind; start random failures of what is new, each from its own stream."""
        name = self._faults.label or self.kind
        if self._faults.domains:
            self._members = self._faults.domains(parts)
            parts = len(self._members)
        for part in range(len(self._streams), parts if self._faults.mtbf < inf else 0):
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
        """Take a part down; false where there is none, or it is down already."""
        faults, cluster = self._faults, self._cluster
        if not faults.domains:
            return bool(cluster.fail(part, faults.kind, faults.requeue))
        if part in self._down or part >= len(self._members):
            return False
        self._down[part] = self._members[part]
        cluster.down(self._members[part], faults.requeue, faults.kind)
        return True

    def _repair(self, part: int) -> None:
        if self._faults.domains:
            self._cluster.up(self._down.pop(part), self.kind)
        else:
            self._cluster.repair(part, self.kind)
