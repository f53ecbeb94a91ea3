"""Counts what requests take of quotas and of limits of queues, in one kind of table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from binwright.simcore.jit import inlined, lean, prepared
from binwright.simcore.types import Flags, Floats, Ints

if TYPE_CHECKING:
    from binwright.fabric.run.simulation import Simulation

URGENT = 40
"""Turns and priorities of so many bits follow one another within each urgency of a queue."""


class Counters(NamedTuple):
    """Holds counters, how much each row takes of them, and who waited for them, in quanta or requests.

    `counter` and `amount` int64 [rows, k] are what a row counts on, -1 for nothing, and how much. Of each counter at
    most `most` may be used, and what is used beyond `own` counts on its `parent`, too, -1 for none: all int64
    [counters]. `never` bool [rows] says who is refused at once.

    Written are `used` int64 [counters], and of each row: `counts` bool [rows], whether it is counted, `since` and
    `until` float64 [rows], when it was kept waiting (NaN: never; infinite: still), and `by` int64 [rows], the first
    counter that did so. `returned` bool [1] tells that some may have room that had none.
    """

    counter: Ints
    amount: Ints
    most: Ints
    own: Ints
    parent: Ints
    never: Flags
    used: Ints
    counts: Flags
    since: Floats
    until: Floats
    by: Ints
    returned: Flags


def counters_of(counter: Ints, amount: Ints, most: Ints, own: Ints, parent: Ints) -> Counters:
    """Make counters of which nothing is used yet, and that refuse nobody at once."""
    rows = len(counter)
    no, nan = np.zeros(rows, np.bool_), np.full(rows, np.nan)
    changing = np.zeros(len(most), np.int64), no, nan, nan.copy(), np.full(rows, -1), np.zeros(1, np.bool_)
    return Counters(counter, np.where(counter >= 0, amount, 0), most, own, parent, no.copy(), *changing)


@lean
def full(counters: Counters, used: Ints, row: int) -> int:
    """Return the first counter that has no room for a row, where so much is `used` int64 [counters]; -1 for none."""
    for k in range(counters.counter.shape[1]):
        counter, amount = counters.counter[row, k], counters.amount[row, k]
        while counter >= 0 and amount > 0:
            if used[counter] + amount > counters.most[counter]:
                return int(counter)
            own = counters.own[counter]
            amount = max(0, used[counter] + amount - own) - max(0, used[counter] - own)
            counter = counters.parent[counter]
    return -1


@lean
def add(counters: Counters, used: Ints, row: int, sign: int) -> None:
    """Add what a row takes, or with sign -1 take it away; changes `used` int64 [counters]."""
    for k in range(counters.counter.shape[1]):
        counter, amount = counters.counter[row, k], counters.amount[row, k]
        while counter >= 0 and amount > 0:
            own, before = counters.own[counter], used[counter]
            used[counter] += sign * amount
            amount = abs(max(0, used[counter] - own) - max(0, before - own))
            counter = counters.parent[counter]


@lean
def count_row(counters: Counters, row: int, counts: bool) -> None:
    """Count a row, or stop counting it; changes `counters`."""
    if counters.counts[row] != counts:
        counters.counts[row] = counts
        add(counters, counters.used, row, 1 if counts else -1)
        if not counts:
            counters.returned[0] = True


@lean
def is_held(counters: Counters, row: int, now: float) -> bool:
    """Tell whether a counter keeps a row waiting, and note since when, or that none does any more."""
    counter = full(counters, counters.used, row)
    if counter >= 0:
        if np.isnan(counters.since[row]):
            counters.since[row], counters.by[row] = now, counter
        counters.until[row] = np.inf
    elif counters.until[row] == np.inf:
        counters.until[row] = now
    return counter >= 0


class Tables(NamedTuple):
    """Holds what a run may have beside servers and requests: what there is none of has no rows.

    `parts` int64 [rows] says of how many parts the gang of each row has, whose rows follow. `quotas` are taken from the
    line on, `limits` of queues by those that run.
    """

    parts: Ints
    quotas: Counters
    limits: Counters


def no_tables() -> Tables:
    """Return the tables of a run without gangs, quotas and several queues."""
    none, nobody = np.zeros(0, np.int64), np.zeros((0, 0), np.int64)
    return Tables(none, *(counters_of(nobody, nobody, none, none, none) for _ in range(2)))


@inlined
def parts_of(parts: Ints, row: int) -> int:
    """Return how many parts a request has; `parts` int64 [n] is empty where there are no gangs."""
    return parts[row] if len(parts) else 1


class CounterBook:
    """Counts the requests of a simulation in one of its tables; `reasons` name the counters."""

    def __init__(
        self, simulation: Simulation, name: Literal["quotas", "limits"], table: Counters, reasons: list[str]
    ) -> None:
        self._simulation, self._name, self._reasons = simulation, name, reasons
        tables = simulation.tables
        simulation.tables = tables._replace(quotas=table) if name == "quotas" else tables._replace(limits=table)
        self._full, self._count = prepared(full, table, table.used, 0), prepared(count_row, table, 0, True)
        self._is_held = prepared(is_held, table, 0, 0.0)

    @property
    def table(self) -> Counters:
        """The counters, and who counts on them."""
        table: Counters = getattr(self._simulation.tables, self._name)
        return table

    def lacks(self, row: int, used: Ints | None = None) -> str:
        """Say what keeps a row out, where so much is `used`, by default now; empty where nothing does."""
        table = self.table
        counter = self._full(table, table.used if used is None else used, row)
        return self._reasons[counter] if counter >= 0 else ""

    def lacks_alone(self, row: int) -> str:
        """Say what keeps a row out even where nothing is used."""
        return self.lacks(row, np.zeros_like(self.table.used))

    def started(self, row: int) -> None:
        """Count a row from now on."""
        self._count(self.table, row, True)

    def freed(self, row: int) -> None:
        """Stop counting a row, if it is counted."""
        self._count(self.table, row, False)

    def waited(self, row: int) -> tuple[float, float, str] | None:
        """Return since when and until when a row was kept waiting, and what did so first; None if nothing did."""
        table = self.table
        if np.isnan(table.since[row]):
            return None
        until = min(float(table.until[row]), self._simulation.now)
        return float(table.since[row]), until, self._reasons[table.by[row]]
