"""What it costs to evict requests: the rules by which victims are chosen."""

from collections.abc import Sequence
from typing import NamedTuple

from binwright.simcore.registry import Registry
from binwright.simcore.types import Request, View


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
