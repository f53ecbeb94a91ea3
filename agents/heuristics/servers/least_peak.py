"""Keeps requests apart whose peaks fall together: Least-Peak."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from binwright.simcore.errors import UserError
from binwright.simcore.types import Agent, Floats, Ints, Placement, Request, View, part

DAY = 86_400.0
HOURS = 24


class LeastPeak(Agent):
    """The place whose highest hour of the day will be least, as a share of what is there, with the request on it.

    Who runs is expected to use in each hour what it used on average when that hour was last; of hours that it has not
    run through, and of the request, that is what requests `like` it, of the same value of a label, used so far: in that
    hour, or else in all hours, or else all that is asked for. The `oracle` knows what will be used, as a bound.
    """

    reference = "ours, after Verma and others 2009, USENIX ATC (peak clustering), and Coach (ASPLOS 2025)"

    def __init__(self, like: str = "", oracle: bool = False) -> None:
        self.like, self.oracle = like, oracle

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Begin to watch a run."""
        meter, resources = view.meter, len(view.resources)
        step = DAY if meter is None else meter.step
        self._hours = max(1, min(HOURS, int(DAY // step)))
        self._day = ceil(DAY / step)
        self._ahead = self._day if self.oracle else 0
        owners = [()] if meter is None else self._owners(view)
        self._number = {owner: number for number, owner in enumerate(owners)}
        numbers = [(name, np.int64) for name in ("row", "kind", "count")]
        kinds = [*numbers, ("sum", np.float64, (resources,)), ("series", np.int64, (self._hours, resources))]
        self._runs: Any = np.zeros(0, kinds)
        """Who runs, ascending by row: `sum` are the shares that each used since the hour began, in `count` steps,
        `series` is what it is expected to use in each hour, quanta."""
        self._all, self._times = np.zeros((len(owners), self._hours, resources)), np.zeros((len(owners), self._hours))
        """The shares that those of each kind used in each hour, and how often they were seen then."""
        self._seen, self._hour = 0 if meter is None else meter.over, -1

    def _owners(self, view: View) -> list[Any]:
        if not self.like:
            return [()]
        try:
            found: list[Any] = view.accounts.owners((self.like,))
        except UserError as error:
            error.key = "like"
            raise
        return found

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request where the peak is least."""
        nodes, demand, meter = view.free.shape[1], request.demand, view.meter
        each = [part(demand, node, nodes) if request.spread else demand for node in range(nodes)]
        fits = np.all(view.free >= np.array(each, np.int64), axis=2)
        if meter is None:
            load, there = (view.capacity - view.free)[:, :, None], view.capacity
            more = np.array(each, np.int64)[:, None]
        else:
            load = self._look(view, request.index)
            more = _quanta(self._expected(view, meter, request.index), np.array(demand, np.int64))
            more, there = more // nodes if request.spread else more, meter.installed
        peak = ((load + more).max(axis=2) / np.maximum(there, 1)).max(axis=2)
        if request.spread:
            fits, peak = fits.all(axis=1, keepdims=True), peak.max(axis=1, keepdims=True)
        if not fits.any():
            return None
        server, node = divmod(int(np.where(fits, peak, np.inf).argmin()), peak.shape[1])
        return request.across(server, nodes) if request.spread else request.on(server, node)

    def _look(self, view: View, but: int) -> Ints:
        """See who runs and what was used; returns what all but one row will use, int64 [servers, nodes, hours, r]."""
        meter, nodes = view.meter, view.free.shape[1]
        rows, server, node, demand, began = meter.running()
        stay = np.isin(self._runs["row"], rows, assume_unique=True)
        new = np.flatnonzero(np.isin(rows, self._runs["row"], assume_unique=True, invert=True))
        more = np.zeros(len(new), self._runs.dtype)
        for run, row, amounts in zip(more, rows[new].tolist(), demand[new], strict=True):
            run["row"], run["kind"] = row, self._kind_of(view, row)
            run["series"] = _quanta(self._expected(view, meter, row), amounts)
        runs = np.concatenate([self._runs[stay], more])
        self._runs = runs[np.argsort(runs["row"])]
        for step in range(max(self._seen, meter.over - self._day), meter.over):
            self._observe(view, step, np.flatnonzero(began <= step), demand)
        self._seen = meter.over
        series = self._runs["series"]
        load = np.zeros((*view.free.shape[:2], *series.shape[1:]), np.int64)
        spread, other = node < 0, rows != but
        whole = other & ~spread
        np.add.at(load, (server[whole], node[whole]), series[whole])
        np.add.at(load, server[other & spread], series[other & spread][:, None] // nodes)
        return load

    def _observe(self, view: View, step: int, who: Ints, demand: Ints) -> None:
        """Learn from what those that ran used in a step, or of the oracle from what they will use a day later."""
        step += self._ahead
        ask = view.meter.will_use if self.oracle else view.meter.used
        hour, runs = self._hour_of(view, step), self._runs
        if hour != self._hour:
            runs["sum"], runs["count"], self._hour = 0.0, 0, hour
        shares = ask(runs["row"][who], step, step + 1)[:, 0]
        runs["sum"][who] += shares
        runs["count"][who] += 1
        runs["series"][who, hour] = _quanta(runs["sum"][who] / runs["count"][who, None], demand[who])
        at = runs["kind"][who], np.full(len(who), hour)
        np.add.at(self._all, at, shares)
        np.add.at(self._times, at, 1.0)

    def _expected(self, view: View, meter: Any, row: int) -> Floats:
        """Return the shares that a request is expected to use in each hour, float64 [hours, resources]."""
        if self.oracle:
            steps = np.arange(self._ahead) + meter.over
            shares = meter.will_use(np.array([row]), meter.over, meter.over + self._ahead)[0]
            hours = np.array([self._hour_of(view, step) for step in steps.tolist()])
            return np.array([shares[hours == hour].mean(axis=0) for hour in range(self._hours)])
        kind = self._kind_of(view, row)
        shares, times = self._all[kind], self._times[kind]
        total = times.sum()
        usual = np.add.accumulate(shares)[-1] / total if total else np.ones(shares.shape[1])
        return np.where(times[:, None] > 0, shares / np.maximum(times, 1)[:, None], usual)

    def _kind_of(self, view: View, row: int) -> int:
        return self._number[view.accounts.owner(row, (self.like,)) if self.like else ()]

    def _hour_of(self, view: View, step: int) -> int:
        """Return in which hour of the trace's day a step begins."""
        return int((view.origin + step * view.meter.step) % DAY * self._hours / DAY)


def _quanta(shares: Floats, demand: Ints) -> Ints:
    """Return what shares of a demand come to, no more than all of it."""
    return np.rint(np.minimum(shares, 1.0) * demand).astype(np.int64)
