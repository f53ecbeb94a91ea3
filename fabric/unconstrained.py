"""The part of a ledger that rules of placement change, for servers without any: `ConstrainedLedger` overrides it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import WorkloadError
from binwright.simcore.model import Routes
from binwright.simcore.types import Ints, Request, Workload

NO_MOVES: Mapping[int, int] = {}


class Unconstrained:
    """Has no rules of placement: a request may lie wherever there is room."""

    offer: Callable[[Request], None] | None = None
    """Has the view show what a request may take, where rules of placement make that differ."""
    routing: Routes | None = None
    """What sends requests to sites, of which the view then shows one; only rules of placement keep to it."""
    planned: Sequence[tuple[float, Callable[[int], None], int]] = ()
    """What changes at a time: the time, what is to be called then, and with which number."""

    def may_lie(self, request: Request, after: Mapping[int, int] = NO_MOVES) -> npt.NDArray[np.bool_] | None:
        """Tell on which servers rules let a request lie, bool [servers]; None without rules.

        Where it lies, it does not count itself. `after` says to which servers rows are moved before that.
        """
        return None

    def drain(self, servers: Iterable[int]) -> None:
        """Let these servers take no more requests; what is there stays until its end."""
        raise WorkloadError("servers are drained by ledgers that keep rules", remedy="Take a ConstrainedLedger.")

    def reopen(self, servers: Iterable[int]) -> None:
        """Let these servers take requests again."""

    def roles_of(self, workload: Workload) -> Ints | None:
        """Get ready for the roles of a workload's requests; returns them, int64 [n], where there are rules for them."""
        if workload.roles is not None and any(role.where for role in workload.roles.all):
            remedy = "Give the servers `labels`, or those of a network `marked`."
            raise WorkloadError("requests say on which servers they may lie, and these have no labels", remedy=remedy)
        return None

    def hold_roles_in(self, whereabouts: MutableMapping[int, tuple[int, int]]) -> None:
        """Keep in `whereabouts` where every row lies, and in which role; without rules nobody asks."""

    def ruling(self, roles: Ints | None) -> Any:
        """Return the rules of placement for a compiled run, whose requests have these roles; `None` without rules."""
        return None

    @property
    def drains(self) -> list[tuple[float, float, npt.NDArray[np.bool_]]]:
        """From when until when servers take no requests, and which, bool [servers]."""
        return []

    def stages(self) -> list[Any]:
        """Return the rules of placement for a compiled run, now and after each planned drain; there are none here."""
        return []

    def follow(self) -> None:
        """Take over what rules of placement count from a compiled run; there are none here."""
