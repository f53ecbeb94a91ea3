"""The ledger of a network that enforces rules of placement, where a request holds something of several servers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.network import NetworkLedger
from binwright.fabric.placement.mask import Mask, add
from binwright.fabric.placement.ruled_ledger import ConstrainedLedger
from binwright.fabric.placement.rules import Rule, ServerLabels
from binwright.fabric.routing import Routing
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.types import Ints, Placement, Request


class RuledNetwork(ConstrainedLedger, NetworkLedger):
    """Keeps rules of placement in a network: a request takes only servers of which it might take each one alone.

    It has taken the servers that its answer names, also those that give nothing but their links, and counts once in
    each domain of these. So whichever of the servers that it is shown an agent takes, no rule is broken.
    """

    several = True

    def __init__(
        self,
        cluster: Cluster,
        labels: ServerLabels,
        rules: Sequence[Rule],
        routing: Routing,
        weighted: bool = False,
        *,
        remembers: bool = False,
    ) -> None:
        self._across: dict[int, tuple[Ints, int]] = {}
        """Of every request that holds something: its servers int64 [k], and its role."""
        super().__init__(cluster, labels, rules, routing, weighted, remembers=remembers)

    def _count(self, mask: Mask) -> None:
        """Count who lies where in a mask that has counted nobody."""
        for servers, role in self._across.values():
            add(mask, servers, role, 1)

    def apply(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take shares and links; returns the server and the node of the first share.

        Raises `InfeasiblePlacement` when they break a rule or do not fit.
        """
        row, role = request.index, request.role
        refusing = None if self._open[role] else self._refusing(role)  # as it was shown, before anything is taken
        place = NetworkLedger.apply(self, request, placement)
        servers = self._books.chosen[: self._books.report[0], 0].copy()
        if refusing is not None and (refused := servers[refusing[servers] >= 0]).size:
            server = int(refused[0])
            said = int(refusing[server])
            Ledger.release(self, row)
            del self.notes[row]
            if self._remembered is not None:
                del self._remembered[row]
            raise InfeasiblePlacement(f"not on server {server}: {self._rule(said)}")
        self._across[row] = servers, role
        self._counted(servers, role, 1)
        self.view.free = self._all
        return place

    def release(self, row: int) -> None:
        """Give back what this request holds; does nothing, once, if a failure has done so before its time."""
        Ledger.release(self, row)
        if across := self._across.pop(row, None):
            self._counted(*across, -1)

    def room_for_parts(self, request: Request, may: npt.NDArray[np.bool_] | None = None) -> int:
        """Count for how many parts like this request all servers together have room that labels and taints leave it."""
        if may is None:
            return self.together(request, self._capacity[self.never_closed(request)])
        return self.together(request, self._free[may])

    def _decisive(self, request: Request) -> int:
        """Return which rule leaves less than the request needs, of all servers together; -1 where none does."""
        said = self._refusing(request.role)
        free = self._free.sum(axis=1)
        left = free.sum(axis=0)
        for number in np.unique(said[said >= 0]).tolist():
            left = left - free[said == number].sum(axis=0)
            if (left < request.demand).any():
                return int(number)
        return -1

    def _knows_who_is_where(self) -> bool:
        """Tell whether those who are counted are those who hold something, and where they do."""
        shares = {row: {share[0] for share in self._shares(held)} for row, held in self._held.items()}
        return shares.keys() == self._across.keys() and all(
            own <= {*self._across[row][0].tolist()} for row, own in shares.items()
        )
