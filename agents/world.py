"""What an agent learns in: how to make the cluster, the requests of a seed, and how they are offered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabric.ledger import Ledger
from simcore.errors import UserError
from simcore.rules import Overflow, Pacing
from simcore.vocabulary import Workload

if TYPE_CHECKING:
    from fabric.episodes import Episodes


@dataclass(frozen=True, slots=True)
class World:
    """A scenario as learners see it: an empty cluster's `ledger()`, and `draw(seed)`, the requests of a seed."""

    ledger: Callable[[], Ledger]
    draw: Callable[[int], Workload]
    overflow: Overflow
    pacing: Pacing | None

    def episodes(self, count: int, *, feasible: bool = False) -> Episodes:
        """So many simulations of its network, to be stepped together; `feasible` masks what cannot be reached."""
        from fabric.episodes import Episodes
        from fabric.network import NetworkLedger

        ledger = self.ledger()
        if not isinstance(ledger, NetworkLedger):
            raise UserError(
                "servers are chosen one by one in a network, and this cluster has none",
                key="cluster.network",
                remedy="Give the cluster a network.",
            )
        if self.overflow.mode != "drop":
            remedy = "Write `overflow: drop`."
            raise UserError("what fits nowhere must be dropped here", key="overflow", remedy=remedy)
        return Episodes(ledger.view, self.pacing, count, feasible=feasible)
