"""Keeps account of what the requests of each user have used, as batch systems do to share fairly."""

from collections.abc import Callable
from functools import partial
from math import inf, isnan, log
from typing import Any

from binwright.simcore.errors import WorkloadError
from binwright.simcore.types import QUANTUM


class Accounts:
    """Tells of a run whose requests are, and what has been used so far.

    What is used are units of the first resource times seconds, each of which counts half as much after a half-life.
    """

    def __init__(self, run: Any) -> None:
        self._run = run
        self._books: dict[tuple[str, float], _Book] = {}
        self._owners: dict[str, list[str]] = {}

    def owner(self, row: int, by: str) -> str:
        """Return whose the request of a row is: the value of a label, or its group."""
        owner: str = self.owners(by)[self._run.rows.source(row)]
        return owner

    def used(self, by: str, half_life: float) -> dict[str, float]:
        """Return what everybody has used until now."""
        if (by, half_life) not in self._books:
            self._books[by, half_life] = _Book(self._run, half_life, partial(self.owner, by=by))
        return dict.fromkeys(sorted({*self.owners(by)}), 0.0) | self._books[by, half_life].used()

    def owners(self, by: str) -> list[str]:
        """List whose each request of the workload is."""
        workload = self._run.workload
        if by not in self._owners and by == "group" and workload.roles is not None:
            self._owners[by] = [workload.roles.all[number].group for number in workload.roles.of.tolist()]
        elif by not in self._owners:
            if by not in workload.labels:
                known = ", ".join([*workload.labels, *(["group"] if workload.roles is not None else [])])
                remedy = f"Known: {known or 'none'}. A table's `labels:` say which columns are some."
                raise WorkloadError("the requests have no such label", key="by", value=by, remedy=remedy)
            self._owners[by] = workload.labels[by].tolist()
        return self._owners[by]


class _Book:
    """Adds up what owners have used, whenever it is asked; that changes no sum."""

    def __init__(self, run: Any, half_life: float, owner: Callable[[int], str]) -> None:
        self._run, self._half_life, self._owner = run, half_life, owner
        self._seen = 0
        self._runs: dict[int, tuple[float, float]] = {}  # since when, and how much of the resource
        self._sums: dict[str, tuple[float, float]] = {}  # of those that are over: how much, as of when

    def used(self) -> dict[str, float]:
        """Return what everybody has used until now."""
        self._close()
        now = self._run.now
        used_by = {owner: used * self._left(now - when) for owner, (used, when) in self._sums.items()}
        for row, (began, units) in sorted(self._runs.items()):
            owner = self._owner(row)
            used_by[owner] = used_by.get(owner, 0.0) + self._since(began, now, units)
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
            owner = self._owner(row)
            used, when = self._sums.get(owner, (0.0, end))
            self._sums[owner] = used * self._left(end - when) + self._since(began, end, units), end

    def _left(self, seconds: float) -> float:
        """Return how much a unit counts after a time."""
        return float(2 ** (-seconds / self._half_life)) if self._half_life < inf else 1.0

    def _since(self, began: float, end: float, units: float) -> float:
        """Return what so many units come to at the end of a time."""
        if self._half_life == inf:
            return units * (end - began)
        return units * self._half_life / log(2) * (1 - self._left(end - began))
