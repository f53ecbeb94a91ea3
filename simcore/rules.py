"""The rules of a run: what becomes of requests that fit nowhere, and who gives way to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.simcore.registry import Registry
from binwright.simcore.types import Request, View, Workload


class Victim(NamedTuple):
    """Describes a request that could be evicted: since when it has run, what it would lose, and how much it holds.

    `ran` and `lost` are seconds, `lost` those since its last checkpoint; `share` is the largest share that it holds of
    what all servers have of a resource. Of a gang all `rows` go, and `request` is its first part.
    """

    request: Request
    ran: float
    lost: float
    share: float
    rows: Sequence[int] = ()


VictimRule: TypeAlias = Callable[[View, Request, Sequence[Victim]], float]
"""(view, request, victims) -> what it costs to evict these victims for a request; the least is evicted."""


def fewest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    """Count the victims."""
    return len(victims)


def lowest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    """Return the highest priority among the victims."""
    return max(victim.request.priority for victim in victims)


def youngest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    """Return how long the oldest victim has run."""
    return max(victim.ran for victim in victims)


def cheapest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    """Add up what is lost: the seconds since the last checkpoint, times the share held."""
    return sum(victim.lost * victim.share for victim in victims)


VICTIM_RULES = Registry(
    "rule of victims",
    "binwright.victims",
    {rule.__name__: f"{__name__}:{rule.__name__}" for rule in (fewest, lowest, youngest, cheapest)},
)


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """Bounds how many requests may be evicted and not be back: `at_most` so many, or that `share` of all there are.

    `of` tells which rows of a workload it is about, bool [n].
    """

    of: Callable[[Workload], npt.NDArray[np.bool_]]
    at_most: float
    share: bool = False


@dataclass(frozen=True, slots=True)
class PreemptionRules:
    """Says who is evicted, and how: after `grace` seconds, to wait again (`requeue`) or for good.

    Who is evicted goes on from its last checkpoint, one every `checkpoint` seconds that it runs, or from its beginning.
    """

    victims: VictimRule = lowest
    grace: float = 0.0
    requeue: bool = True
    checkpoint: float = inf
    budgets: tuple[DisruptionBudget, ...] = ()

    def kept(self, ran: float) -> float:
        """Return how much of the time that a request has run is not lost if it is evicted."""
        return ran // self.checkpoint * self.checkpoint if self.checkpoint < inf else 0.0


@dataclass(slots=True)
class Eviction:
    """Tells of a request that was told to give way: which row, for which, when, until when, and what became of it.

    `lost` are the seconds of its work that were lost.
    """

    row: int
    by: int
    notice: float
    end: float = nan
    outcome: Literal["noticed", "evicted", "ended", "called off"] = "noticed"
    lost: float = 0.0


@dataclass(frozen=True, slots=True)
class Overflow:
    """What happens when no placement is found.

    `drop` the request, let it `wait` at the head of the line, `stop` the run, or `expand` by that many servers and
    ask again; when `limit` servers are there, `then` takes over.

    With `together`, that many at the head of the line that waits are offered at once, and whoever gets a place leaves
    it; with a `window` that happens at multiples of so many seconds only. `one_by_one` offers them after every single
    arrival and end, of those at one instant the arrivals first, and then the ends in the order of placement.

    With `preempt`, less urgent requests that run are evicted first, if that makes room, and the line goes by priority.
    """

    mode: Literal["drop", "wait", "stop", "expand"] = "drop"
    by: int = 0
    limit: int = 0
    then: Literal["drop", "stop"] = "stop"
    together: int = 0
    window: float = 0.0
    one_by_one: bool = False
    preempt: PreemptionRules | None = None

    def __post_init__(self) -> None:
        if self.mode == "expand" and self.by < 1:
            raise ValueError("expansion by less than one server never ends")
