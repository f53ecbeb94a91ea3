"""Counts what requests ask for beside the predicted peak of what they use, which admits others."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from binwright.fabric.book import Book, Holding
from binwright.scenarios.features.overcommit.predictors import PeakPredictor, Seen
from binwright.simcore.types import Floats, Ints, Share, read_only
from binwright.simcore.workload import Use

if TYPE_CHECKING:
    from binwright.fabric.ledger import Ledger
    from binwright.fabric.run.simulation import Simulation

STEP = 300.0
"""Seconds of a step where nobody says what requests use."""


class PeakBook(Book):
    """Has a request admitted where the predicted peak of those that run, and what it asks for, fit together.

    `predictors` are those of each resource, by its place. A request reserves all that it asks for until the next step,
    and from then on its part of the server's peak, in proportion to what it asks for, rounded down. So what is asked
    for and what is free are sums over the requests that run. The peak is never above what may be placed.
    """

    def __init__(self, ledger: Ledger, predictors: Mapping[int, PeakPredictor]) -> None:
        self.predictors, self._ledger, self._view = dict(predictors), ledger, ledger.view
        self.requested = np.zeros_like(ledger.cluster.capacity)
        """What those that run ask for, int64 [servers, nodes, resources]."""
        self._parts: dict[int, list[int]] = {}
        """Of every request that runs, the places of its shares in the arrays that follow."""
        self._vacant: list[int] = []
        self._row, self._place, self._steps, self._end = np.zeros((4, 0), np.int64)
        self._wanted, self._reserved = np.zeros((2, 0, self.requested.shape[2]), np.int64)
        self._series: dict[int, Ints] = {}
        """Of each resource what every share uses, int64 [any, steps]: in steps that are over, then in some to come."""
        self._view.requested = read_only(self.requested)

    def watch(self, simulation: Simulation) -> None:
        """Predict anew at every step of what the requests of a simulation use."""
        self.use: Use | None = simulation.workload.use
        self.step = STEP if self.use is None else self.use.step
        self._simulation = simulation
        self._grow_rows(0)
        simulation.recurring += 1
        simulation.clock.at(self.step, self._tick, 0)

    # -- who is there --------------------------------------------------------------------------------------------------

    def enter(self, row: int, holding: Holding) -> None:
        """Note that a request has taken what it asks for; where it moves, beside its old place, and with its past."""
        parts = self._parts.setdefault(row, [])
        old = parts.copy()
        for server, node, amounts in holding.shares:
            if not self._vacant:
                self._grow_rows(max(64, len(self._row)))
            at = self._vacant.pop()
            parts.append(at)
            self._row[at], self._place[at], self._steps[at] = row, server * self.requested.shape[1] + node, 0
            self._wanted[at] = self._reserved[at] = amounts
            for series in self._series.values():
                series[at] = 0
            self._ask(at, 1)
        if len(old) == len(holding.shares) and np.array_equal(self._wanted[old], self._wanted[parts[len(old) :]]):
            for series in (self._steps, self._end, *self._series.values()):
                series[parts[len(old) :]] = series[old]

    def begin_move(self, row: int, old: Holding, new: Holding) -> None:
        """Note that a request has taken its new place as well."""
        self.enter(row, new)

    def end_move(self, row: int, stays: Holding, leaves: Holding, part: slice) -> None:
        """Forget some of a request's shares."""
        at = self._parts[row][part]
        del self._parts[row][part]
        for each in at:
            self._ask(each, -1)
        self._row[at] = -1
        self._vacant += at

    def leave(self, row: int, holding: Holding) -> None:
        """Forget a request."""
        self.end_move(row, holding, holding, slice(None))
        del self._parts[row]

    def reserved(self, row: int, shares: tuple[Share, ...]) -> tuple[Share, ...]:
        """Return what a request takes of the predicted peaks, and what is free when it goes, of what it asked for."""
        reserved = map(tuple, self._reserved[self._parts[row]].tolist())
        return tuple((server, node, own) for (server, node, _), own in zip(shares, reserved, strict=True))

    def _ask(self, at: int, sign: int) -> None:
        self.requested[divmod(int(self._place[at]), self.requested.shape[1])] += sign * self._wanted[at]

    def _grow_rows(self, by: int) -> None:
        """Make room for more shares."""
        rows = len(self._row)
        self._vacant += range(rows + by - 1, rows - 1, -1)

        def longer(array: Ints, fill: int = 0) -> Ints:
            return np.concatenate([array, np.full((by, *array.shape[1:]), fill, np.int64)])

        self._row, self._place = longer(self._row, -1), longer(self._place)
        self._steps, self._end = longer(self._steps), longer(self._end)
        self._wanted, self._reserved = longer(self._wanted), longer(self._reserved)
        for resource, predictor in self.predictors.items():
            steps = max(1, ceil(predictor.back / self.step)) + self._ahead(predictor)
            self._series[resource] = longer(self._series.get(resource, np.zeros((rows, steps), np.int64)))

    def _ahead(self, predictor: PeakPredictor) -> int:
        """Return how many steps a predictor looks ahead."""
        return ceil(predictor.ahead / self.step)

    # -- predictions ---------------------------------------------------------------------------------------------------

    def _tick(self, step: int) -> bool:
        """See what was used in a step, now that it is over; tells whether there is more room somewhere."""
        self._simulation.clock.at((step + 2) * self.step, self._tick, step + 1)
        return self.observe(step)

    def observe(self, step: int) -> bool:
        """Note what those that run used in a step, and predict peaks; tells whether there is more room somewhere."""
        who = np.flatnonzero(self._row >= 0)
        if not len(who):
            return False
        who = who[np.argsort(self._place[who], kind="stable")]
        first = np.flatnonzero(np.append(True, np.diff(self._place[who]) > 0))
        self._see(step, who)
        place = self._place[who[first]]
        ledger, (_, nodes, resources) = self._ledger, self.requested.shape
        most, free = (array.reshape(-1, resources) for array in ledger.arrays)
        before, most = free[place], most[place]
        most[np.isin(place // nodes, list(ledger.down))] = 0  # on them are requests for nothing only
        for resource, predictor in self.predictors.items():
            series, past = self._series[resource].take(who, axis=0), -self._ahead(predictor) or None
            used = series[:, :past][:, ::-1], series[:, past:] if past else series[:, :0]
            seen = Seen(self.step, self._wanted[who, resource], self._steps[who], first, *used)
            total = seen.total(seen.requested)
            peak = np.clip(np.ceil(predictor.peaks(seen)), 0, np.minimum(total, most[:, resource]))
            part = np.repeat(peak / np.maximum(total, 1), np.diff(first, append=len(who)))
            reserved = np.minimum(np.floor(seen.requested * part).astype(np.int64), seen.requested)
            self._reserved[who, resource] = reserved
            free[place, resource] = most[:, resource] - seen.total(reserved)
        ledger.note(np.unique(place // nodes).tolist())
        if ledger.rules:
            ledger.rules.changed()
        return bool((free[place] > before).any())

    def _see(self, step: int, who: Ints) -> None:
        """Write down what those that run used in a step, and for oracles what they will use."""
        new, run = who[self._steps[who] == 0], self._simulation
        self._steps[who] += 1
        if any(map(self._ahead, self.predictors.values())):
            rows = self._row[new]
            stays = np.array([run.rows.holding_time(row) for row in rows.tolist()], np.float64)
            ends = np.ceil((run.record.decided[rows] + stays) / self.step)
            self._end[new] = np.minimum(ends, 2.0**62)
        for resource, series in self._series.items():
            wanted, last = self._wanted[:, resource], step + self._ahead(self.predictors[resource])
            series[:, :-1] = series[:, 1:]
            shares = self.use.at(run.record.sources(self._row[who]), last)[:, resource] if self.use else 1.0
            series[who, -1] = _quanta(shares, wanted[who])
            if ahead := last - step:
                series[who, -1] *= last < self._end[who]
                for at, row in zip(new.tolist(), run.record.sources(self._row[new]).tolist(), strict=True):
                    shares = self.use.during(row, step, last)[:, resource] if self.use else 1.0
                    series[at, -1 - ahead : -1] = _quanta(shares, wanted[at]) * (np.arange(step, last) < self._end[at])

    # -- what is held --------------------------------------------------------------------------------------------------

    def grow(self, by: int) -> None:
        """Count for so many more servers."""
        self.requested = np.concatenate([self.requested, np.zeros((by, *self.requested.shape[1:]), np.int64)])
        self._view.requested = read_only(self.requested)

    def in_use(self) -> int:
        """Count the servers of which anything is asked for."""
        return int(self.requested.any(axis=(1, 2)).sum())


def _quanta(shares: Floats | float, demand: Ints) -> Ints:
    """Return what is used, in quanta and not more than is asked for."""
    used: Ints = np.minimum(np.rint(shares * demand).astype(np.int64), demand)
    return used
