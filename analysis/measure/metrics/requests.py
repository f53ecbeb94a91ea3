"""What became of the requests, how long they waited, and how long the run was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import HOUR, FinishedRun, ratio
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.record import IMPOSSIBLE, PENDING, PLACED, REJECTED
from binwright.simcore.types import Floats, Ints

SHORT = 10.0
"""Seconds. Jobs that run for less count as if they ran for so long, since their slowdown would say nothing."""


def _cut(run: FinishedRun) -> int:
    """Count the holding periods that a failure or an eviction cut short in the measured time."""
    return len(run.asked.leads(np.flatnonzero(run.interruption >= run.begin)))


def _lost(run: FinishedRun) -> int:
    """Count those of them whose request got no new place."""
    back = np.arange(len(run.simulation.workload), len(run.outcome))  # where those lie that were sent back
    again = run.got_place[back] & (run.interruption[run.origin[back]] >= run.begin)
    return _cut(run) - len(run.asked.leads(back[again]))


def _came(run: FinishedRun) -> slice | Ints:
    """Return the rows of `offered`."""
    whole = run.asked.gangs is None and run.only is None
    return slice(run.first, run.simulation.offered) if whole else run.offered


def _offered(run: FinishedRun) -> int:
    return run.simulation.offered - run.first if run.asked.gangs is None else len(run.offered)


def _scheduled(run: FinishedRun) -> int:
    return int(np.count_nonzero(run.got_place[_came(run)]))


def _ended_as(outcome: int) -> Callable[[FinishedRun], int]:
    return lambda run: int(np.count_nonzero(run.outcome[_came(run)] == outcome))


def _acceptance(run: FinishedRun) -> float:
    """Divide the placed requests by those offered, and those that a failure has cut short and nobody takes again.

    Otherwise the room that a failure makes would count, and those whom it costs their place would not.
    """
    return ratio(_scheduled(run), _offered(run) + _lost(run))


def _accepted(run: FinishedRun) -> list[float]:
    """Divide of each resource what the placed requests asked for by what the offered ones did."""
    whole = slice(run.first, run.simulation.offered)
    rows = whole if run.only is None else np.flatnonzero(run.only[whole]) + run.first
    demand, placed = run.demand[rows], run.got_place[rows]
    return [ratio(int(column.sum(where=placed)), int(column.sum())) for column in demand.T]


def _acceptance_cumulative(run: FinishedRun) -> float:
    """Average the acceptance so far over the requests; what came before the last part counts in it."""
    rows = run.asked.leads(np.arange(run.since, run.simulation.offered))
    so_far = np.cumsum(run.got_place[rows]) / np.arange(1, len(rows) + 1)
    return float(so_far[rows >= run.first].mean()) if len(so_far) else 0.0


def _running_lost(run: FinishedRun) -> int:
    """Count what ran at the start and got no place, or only later, though some server could hold it when empty."""
    rows = run.asked.leads(np.arange(run.simulation.workload.running))
    late = (run.outcome[rows] == PENDING) | (run.decided[rows] > run.begin)
    return int(np.count_nonzero(late | (run.outcome[rows] == REJECTED)))


def scheduled_bound(simulation: Simulation, first: int) -> int:
    """Count the requests from row `first` on that can be placed at most, before one that fits nowhere ends the run.

    For servers that neither fail nor grow, and requests offered as they arrive: until then all are placed at once, so
    those still held at every arrival must fit into the cluster as a whole, resource by resource. `simulation` is one
    of the runs that begin with the same warm start; whoever decided after it makes no difference.
    """
    workload, total = simulation.workload, simulation.view.capacity.sum(axis=(0, 1))
    outcome = simulation.record.outcome[: len(workload)]
    there = np.where(np.arange(len(workload)) < first, outcome == PLACED, outcome != IMPOSSIBLE)
    rows = np.flatnonzero(there)
    begin = workload.arrival[rows]
    over = (held(begin, begin + workload.duration[rows], workload.demand[rows]) > total).any(axis=1) & (rows >= first)
    return int(over.argmax() if over.any() else len(rows)) - int((rows < first).sum())


def held(begin: Floats, end: Floats, demand: Ints) -> Ints:
    """Add up what is held right after each beginning, int64 [n, resources]; `begin` float64 [n] ascends.

    What ends at a beginning ends before it, and what ends where it begins is held at no time.
    """
    demand = np.where((end > begin)[:, None], demand, 0)
    order = np.argsort(end, kind="stable")
    gone = np.concatenate([np.zeros((1, demand.shape[1]), np.int64), demand[order].cumsum(axis=0)])
    left: Ints = demand.cumsum(axis=0) - gone[np.searchsorted(end[order], begin, side="right")]
    return left


def _wait_total(run: FinishedRun) -> float:
    return float(sum(part.waits.sum() for part in run.parts()))


def _wait_max(run: FinishedRun) -> float:
    return max(float(part.waits.max(initial=0.0)) for part in run.parts())


def _wait_p95(run: FinishedRun) -> float:
    """Find the least wait that 95 % of the placed requests did not exceed; 0 where nothing was placed."""
    if not _wait_max(run):
        return 0.0  # without a look at all of them at once
    return float(np.quantile(run.waits, 0.95, method="inverted_cdf"))


def _stays(run: FinishedRun) -> Floats:
    """Return the seconds from arrival to end of each of `placed`, float64 [placed].

    It is infinite for requests that never end, and NaN for those that were interrupted and did not start again.
    What was sent back ends when its last row does.
    """
    last = run.placed
    back = np.arange(len(run.simulation.workload), len(run.outcome))
    if len(back):
        again = np.arange(len(run.outcome))
        again[run.origin[back]] = back
        while (again[last] != last).any():
            last = again[last]
    stays: Floats = run.decided[last] - run.arrival[run.placed] + run.duration[last]
    stays[run.outcome[last] != PLACED] = np.nan
    return stays


def _turnarounds(run: FinishedRun) -> Floats:
    found = _stays(run)
    return found[np.isfinite(found)]


def _slowdowns(run: FinishedRun) -> Floats:
    """Return the bounded slowdown of each that was placed and not lost, float64 [n]; 1 for those that never end."""
    stays, ran = _stays(run), run.duration[run.placed]
    ends = np.isfinite(stays)
    found: Floats = np.ones(len(ran))
    found[ends] = stays[ends] / np.maximum(ran[ends], SHORT)
    return np.maximum(found, 1.0)[~np.isnan(stays)]


OF = {
    "wait": (lambda run: run.waits, "time from arrival to placement", "s"),
    "turnaround": (_turnarounds, "time from arrival to end, of those that end", "s"),
    "slowdown": (_slowdowns, f"max(1, turnaround / max(run, {SHORT:.0f} s))", ""),
}


def _statistic(values: Callable[[FinishedRun], Floats], percent: int | None) -> Callable[[FinishedRun], float | None]:
    """Make the function that computes the mean or a percentile of values; None where there are none."""

    def measured(run: FinishedRun) -> float | None:
        if not len(found := values(run)):
            return None
        return float(found.mean() if percent is None else np.quantile(found, percent / 100, method="inverted_cdf"))

    return measured


LOWER: dict[str, Any] = {"better": "lower", "in_parts": True}
JOBS = table(
    define(
        f"{what}_{'mean' if percent is None else f'p{percent}'}",
        f"{'mean' if percent is None else f'p{percent}'} {'bounded ' * (what == 'slowdown')}{what}",
        f"{meaning}: {'mean' if percent is None else f'{percent} % have no more'}",
        _statistic(values, percent),
        unit=unit,
        **LOWER,
    )
    for what, (values, meaning, unit) in OF.items()
    for percent in ((50, 99) if what == "wait" else (None, 50, 95, 99))
)  # fmt: skip
"""What users of a batch system look at, of the jobs that started."""
TABLE = JOBS | table((
    define("offered", "offered", "requests that arrived while the run lasted", _offered, table="never", in_parts=True),
    define("scheduled", "scheduled", "requests that got a place", _scheduled, better="higher", in_parts=True),
    define("scheduled_bound", "scheduled at most", "requests before the first that no agent could place",
           lambda run: scheduled_bound(run.simulation, run.first) if run.bounded else None, table="never"),
    define("acceptance", "accepted %",
           "share of the offered requests that got a place; who is lost counts as asked again, in vain",
           _acceptance, unit="%", better="higher", in_parts=True),
    define("acceptance_{}", "accepted {} %", "share of what the offered requests ask for that got a place", _accepted,
           per="resource", unit="%", better="higher", table="first", in_parts=True),
    define("acceptance_cumulative", "accepted % so far",
           "share accepted of the requests so far, mean over the moments after every request",
           _acceptance_cumulative, unit="%", better="higher", in_parts=True),
    define("rejected", "rejected", "requests that got no place", _ended_as(REJECTED), table="never", **LOWER),
    define("impossible", "impossible", "requests larger than any server, which no agent was asked about",
           _ended_as(IMPOSSIBLE), table="never", in_parts=True),
    define("interrupted", "interrupted", "holding periods that a failure or an eviction cut short", _cut,
           better="lower", table="harm"),
    define("lost", "lost", "of those, the ones that got no new place", _lost, better="lower", table="harm"),
    define("running", "running", "requests that ran already at the start; they are not measured",
           lambda run: len(run.asked.leads(np.arange(run.simulation.workload.running))), table="never"),
    define("running_lost", "running lost", "of those, the ones without a place at the start", _running_lost,
           better="lower", table="harm"),
    define("stopped", "stopped", "1 when a request that fit nowhere ended the run",
           lambda run: int(run.simulation.stopped), table="never"),
    define("wait_total", "total wait", "of all placed requests together", _wait_total, unit="s", table="never",
           **LOWER),
    define("wait_mean", "mean wait", "time from arrival to placement",
           lambda run: ratio(_wait_total(run), _scheduled(run)), unit="s", table="differs", **LOWER),
    define("wait_p95", "p95 wait", "95 % of the placed requests waited no longer", _wait_p95, unit="s",
           table="differs", **LOWER),
    define("wait_max", "longest wait", "of all placed requests", _wait_max, unit="s", table="never", **LOWER),
    define("hours", "hours", "from the first arrival after the warm start to the last decision",
           lambda run: (run.finish - run.begin) / HOUR, table="never", in_parts=True),
    define("makespan", "makespan", "from the first arrival to the end of the last lifetime",
           lambda run: run.last - run.begin if run.last < np.inf else None, unit="s", better="lower"),
    define("decision_us", "µs/decision", "the agent's own time for one decision",
           lambda run: run.thought / 1000 / run.decisions, better="lower", timed=True),
))  # fmt: skip
