"""Places the parts of a gang one after another, all of them or none, and ends and interrupts them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from binwright.simcore.agent_calls import describe_request
from binwright.simcore.errors import AgentError
from binwright.simcore.record import IMPOSSIBLE, PENDING
from binwright.simcore.types import Refusal, Request

if TYPE_CHECKING:
    from binwright.fabric.run.simulation import Simulation


class GangPlacement:
    """Keeps the gangs of a run: the one that is being placed, and those that run."""

    def __init__(self, run: Simulation) -> None:
        self._run, self._ledger, self._rows = run, run.ledger, run.rows
        self._gangs = run.workload.gangs
        self.placed: list[tuple[Request, int, int]] = []
        """The parts that have a place of the gang that is being placed, and their servers and nodes."""
        self.lacked: dict[int, tuple[int, str]] = {}
        """Of every gang that found no place: how many parts had found one the last time, and the reason."""

    def next_part(self, head: Request) -> Request:
        """Return the part of a gang that is to be placed next, or a request of one part itself."""
        return head._replace(index=head.index + len(self.placed)) if self.placed else head

    def head_of(self, request: Request) -> Request:
        """Find which of `offer` an answer is for; refuses one for a part of a gang whose turn it is not."""
        gang, placed = request.gang, self.placed
        first = gang.first if gang else request.index
        if request.index == first + len(placed) and (not placed or placed[0][0].index == first):
            for head in self._run.offer:
                if head is request or (gang and head.gang == gang):
                    return head
        known = describe_request(request, self._run.view.resources)
        raise AgentError(f"answered {known}, which is not offered or has its answer")

    def refused(self, part: Request, refusal: Refusal | None) -> None:
        """Note that a part found no place, and that its gang has none."""
        assert part.gang
        reason = refusal.reason if refusal else self._ledger.reasons[self._ledger.why_not(part)]
        self.lacked[part.gang.first] = len(self.placed), reason
        self.abandon()

    def abandon(self) -> None:
        """Release the parts of the gang that is being placed."""
        for part, _, _ in reversed(self.placed):
            self._ledger.release(part.index)
        self.placed.clear()

    def complete(self, first: int) -> list[tuple[Request, int, int]]:
        """Return the parts of the gang that has all its places, by its first row, and have none placed."""
        placed = list(self.placed)
        self.placed.clear()
        self.lacked.pop(first, None)
        return placed

    def lead(self, row: int) -> int:
        """Return the row of the first part of the gang that a row is a part of, or the row itself."""
        if self._gangs is None or self._gangs.first is None:
            return row
        return int(self._gangs.first[row]) if row < len(self._gangs.first) else self._rows.gang_of_returned(row)

    def with_parts(self, rows: Sequence[int]) -> list[int]:
        """Return these rows that run, and the other parts of their gangs, in order."""
        leads = map(self.lead, rows)
        return sorted({row for first in leads for row in range(first, first + self._rows.request(first).parts)})

    def rule_out(self) -> None:
        """Note which gangs have more parts than the empty cluster has room for."""
        outcome, rows, gangs = self._run.record.outcome, self._rows, self._gangs
        assert gangs is not None
        assert rows.leads is not None
        heads = np.flatnonzero(rows.leads & (gangs.parts > 1) & (outcome[: len(rows.leads)] == PENDING))
        others = [column for column in (rows.models, rows.roles) if column is not None]
        columns = [*self._run.workload.demand.T, gangs.parts, gangs.of, *others]
        kinds = np.stack([column[heads] for column in columns], axis=1)
        _, alike, kind = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
        room = [self._ledger.room_for_parts(request) >= request.parts for request in rows.requests(heads[alike])]
        for first in heads[~np.array(room, np.bool_)[kind.ravel()]].tolist():
            outcome[first : first + gangs.parts[first]] = IMPOSSIBLE
