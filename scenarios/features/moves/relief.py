"""Chooses who is to leave servers that use too much."""

import numpy as np
import numpy.typing as npt

from binwright.simcore.run_state import RunState
from binwright.simcore.types import Ints


class Relief:
    """Follows which servers used a larger share of what a node has than `limit`, and for how many steps on end."""

    def __init__(self, run: RunState, limit: float) -> None:
        self._meter, self._limit = run.view.meter, limit
        self.step: float = self._meter.step
        self._since = np.zeros(0, np.int64)
        self.rows: Ints = np.zeros(0, np.int64)
        """Who is to leave: one of each server, those of servers that used too much for longest first."""

    def look(self, step: int) -> bool:
        """See what was used in a step; tells whether anybody is to leave.

        Of the resource of a node that is furthest above the limit, that is who used least of it of those whose leaving
        is enough, or else who used most; of equals the lowest row.
        """
        meter = self._meter
        self._loads = loads = meter.loads(step)
        self._most = meter.installed * self._limit * (1 + 1e-9)
        over = loads.total - self._most
        high = (over > 0).any(axis=(1, 2))
        since = np.zeros(len(high), np.int64)
        since[: len(self._since)] = self._since
        self._since = np.where(high, since + 1, 0)
        chosen = []
        for server in np.lexsort((np.arange(len(high)), -self._since)).tolist()[: int(high.sum())]:
            share = np.where(over[server] > 0, loads.total[server] / np.maximum(meter.installed[server], 1), -1.0)
            node, resource = np.unravel_index(share.argmax(), share.shape)
            there = np.flatnonzero(loads.server == server)
            used, excess = loads.own[there, node, resource], over[server, node, resource]
            enough = used >= excess
            chosen.append(there[np.where(enough, used, np.inf).argmin() if enough.any() else used.argmax()])
        self.rows = loads.rows[np.array(chosen, np.int64)]
        return bool(chosen)

    def may(self, row: int) -> npt.NDArray[np.bool_]:
        """Tell which other servers stay within the limit with a request, on some node at least, bool [servers]."""
        loads = self._loads
        at = int(np.searchsorted(loads.rows, row))
        spread, own = loads.node[at] < 0, loads.own[at]
        fits = (loads.total + (own if spread else own[loads.node[at]]) <= self._most).all(axis=2)
        found: npt.NDArray[np.bool_] = fits.all(axis=1) if spread else fits.any(axis=1)
        found[loads.server[at]] = False
        return found
