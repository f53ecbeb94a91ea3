"""Keeps account of what the requests of each user have used, as batch systems do to share fairly."""

from math import isnan, log
from typing import Any

from binwright.simcore.errors import WorkloadError
from binwright.simcore.types import QUANTUM


class Accounts:
    """Tells of a run whose requests are, by a label or by `group`, and what everybody has used so far.

    What is used are units of the first resource times seconds, each of which counts half as much after a half-life.
    """

    def __init__(self, run: Any, by: str, half_life: float) -> None:
        roles, labels = run.workload.roles, run.workload.labels
        if by == "group" and roles is not None:
            self._owners = [roles.all[number].group for number in roles.of.tolist()]
        elif by in labels or not len(run.workload):
            self._owners = labels[by].tolist() if by in labels else []
        else:
            known = ", ".join([*labels, *(["group"] if roles is not None else [])])
            remedy = f"Known: {known or 'none'}; `fair: {{by: LABEL}}` names one. A table's `labels:` name columns."
            raise WorkloadError("the requests have no such label to share fairly by", value=by, remedy=remedy)
        self._run, self._half_life = run, half_life
        self._seen = 0
        self._runs: dict[int, tuple[float, float]] = {}  # since when, and how much of the resource
        self._sums = dict.fromkeys(sorted({*self._owners}), (0.0, 0.0))  # of those that are over: how much, as of when

    def owner(self, row: int) -> str:
        """Return whose the request of a row is."""
        owner: str = self._owners[self._run.rows.source(row)]
        return owner

    def used(self) -> dict[str, float]:
        """Return what everybody has used until now; that changes no sum."""
        self._close()
        now = self._run.now
        used_by = {owner: used * self._left(now - when) for owner, (used, when) in self._sums.items()}
        for row, (began, units) in sorted(self._runs.items()):
            used_by[self.owner(row)] += self._since(began, now, units)
        return used_by

    def _close(self) -> None:
        """Book what was placed and what is over, in order of the ends."""
        run = self._run
        record, running, now = run.record, run.ledger.running, run.now
        for row in record.sequence[self._seen :].tolist():
            if record.server[row] >= 0:
                units = int(run.workload.demand[run.rows.source(row), 0]) / QUANTUM
                self._runs[row] = float(record.decided[row]), units
        self._seen = len(record.sequence)
        over = []
        for row in self._runs.keys() - running:
            cut = float(record.interruption[row])
            end = self._runs[row][0] + run.rows.holding_time(row)
            over.append((min(end, now if isnan(cut) else cut), row))
        for end, row in sorted(over):
            began, units = self._runs.pop(row)
            owner = self.owner(row)
            used, when = self._sums[owner]
            self._sums[owner] = used * self._left(end - when) + self._since(began, end, units), end

    def _left(self, seconds: float) -> float:
        """Return how much a unit counts after a time."""
        return float(2 ** (-seconds / self._half_life))

    def _since(self, began: float, end: float, units: float) -> float:
        """Return what so many units come to at the end of a time."""
        return units * self._half_life / log(2) * (1 - self._left(end - began))
