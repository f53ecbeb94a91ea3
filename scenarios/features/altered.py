"""Requests that are altered after they are drawn: given roles, changed, or told to agents."""

from collections.abc import Callable
from dataclasses import dataclass

from binwright.agents.world import Requests
from binwright.simcore.types import Workload

_last: dict[str, tuple[Workload, str, int, Workload]] = {}
"""The last requests of each kind: before they were altered, how, of which seed, and after it."""


@dataclass(frozen=True, slots=True)
class Altered:
    """Draws requests and alters them, as `how` says in all that matters.

    The last ones of a `kind` are kept, since every agent of a seed meets them.
    """

    base: Requests
    kind: str
    how: str
    alter: Callable[[Workload, int], Workload]
    drawn: bool

    def draw(self, seed: int) -> Workload:
        base = self.base.draw(seed)
        last = _last.get(self.kind)
        if last is None or last[0] is not base or last[1:3] != (self.how, seed):
            last = _last[self.kind] = base, self.how, seed, self.alter(base, seed)
        return last[3]

    def windows(self, seed: int, requests: int | None = None, met: float = 1.0) -> list[tuple[int, int]] | None:
        return self.base.windows(seed, requests, met)


def forget_altered() -> None:
    """Drop the requests that were kept."""
    _last.clear()
