"""Shows the arrays of a run to what handles single requests: who holds what."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING

import numpy as np

from binwright.fabric.compiled import numa_loop as loop
from binwright.fabric.inventory import Holding
from binwright.simcore.record import SPREAD
from binwright.simcore.types import part

if TYPE_CHECKING:
    from binwright.fabric.run.simulation import Simulation


class Holdings(MutableMapping[int, Holding]):
    """Maps the row of every request that holds something to what that is, as `Ledger` keeps it.

    What lies where the record says is read from there. Anything else, such as both places of a request on its way, is
    kept beside it, and the loop then leaves the release to the ledger.
    """

    def __init__(self, run: Simulation) -> None:
        self._run = run
        self._elsewhere: dict[int, Holding] = {}

    def __getitem__(self, row: int) -> Holding:
        run = self._run
        if row not in self:
            raise KeyError(row)
        if run.holds[row] == loop.ELSEWHERE:
            return self._elsewhere[row]
        server, node = int(run.record.server[row]), int(run.record.node[row])
        demand, role = tuple(run.requests.demand[row].tolist()), int(run.roles[row]) if len(run.roles) else 0
        if node != SPREAD:
            return Holding(role, (server,), ((server, node, demand),))
        nodes = run.view.capacity.shape[1]
        return Holding(role, (server,), tuple((server, each, part(demand, each, nodes)) for each in range(nodes)))

    def __setitem__(self, row: int, holding: Holding) -> None:
        self._elsewhere[row], self._run.holds[row] = holding, loop.ELSEWHERE

    def __delitem__(self, row: int) -> None:
        if row not in self:
            raise KeyError(row)
        self._elsewhere.pop(row, None)
        self._run.holds[row] = loop.EVICTED

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, int | np.integer) or not 0 <= row < len(self._run.holds):
            return False
        return bool(self._run.holds[row] != loop.EVICTED)

    def __iter__(self) -> Iterator[int]:
        return iter(np.flatnonzero(self._run.holds != loop.EVICTED).tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(self._run.holds))

    def settle(self, row: int) -> None:
        """Note that a request lies where the record says, as it has arrived there."""
        if row in self._elsewhere:
            del self._elsewhere[row]
            self._run.holds[row] = loop.HOLDS

    def on(self, server: int) -> list[int]:
        """List the rows of the requests that hold something on a server."""
        rows = np.flatnonzero(self._run.holds != loop.EVICTED)
        on_server = rows[self._run.record.server[rows] == server].tolist()
        moving = [row for row, held in self._elsewhere.items() if server in held.servers]
        return [row for row in on_server if row not in self._elsewhere] + moving
