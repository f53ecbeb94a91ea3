"""What became of the requests, how long they waited, and how long the run was."""

from collections.abc import Callable
from typing import Any

import numpy as np

from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import HOUR, FinishedRun, ratio
from binwright.simcore.record import IMPOSSIBLE, PENDING, PLACED, REJECTED
from binwright.simcore.types import Floats, Ints

SHORT = 10.0
"""Seconds. Jobs that run for less count as if they ran for so long, since their slowdown would say nothing."""


def _cut(run: FinishedRun) -> int:
    """Count the holding periods that a failure or an eviction cut short in the measured time."""
    return len(run.requests.leads(np.flatnonzero(run.interruption >= run.begin)))


def _lost(run: FinishedRun) -> int:
    """Count those of them whose request got no new place."""
    back = np.arange(len(run.simulation.workload), len(run.outcome))  # where those lie that were sent back
    again = run.got_place[back] & (run.interruption[run.origin[back]] >= run.begin)
    return _cut(run) - len(run.requests.leads(back[again]))


def _came(run: FinishedRun) -> slice | Ints:
    """Return the rows of `offered`."""
    return slice(run.first, run.simulation.offered) if run.requests.gangs is None else run.offered


def _offered(run: FinishedRun) -> int:
    return run.simulation.offered - run.first if run.requests.gangs is None else len(run.offered)


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
    came = slice(run.first, run.simulation.offered)
    demand, placed = run.demand[came], run.got_place[came]
    return [ratio(int(column.sum(where=placed)), int(column.sum())) for column in demand.T]


def _acceptance_cumulative(run: FinishedRun) -> float:
    """Average the acceptance so far over the requests; what came before the last part counts in it."""
    rows = run.requests.leads(np.arange(run.since, run.simulation.offered))
    so_far = np.cumsum(run.got_place[rows]) / np.arange(1, len(rows) + 1)
    return float(so_far[rows >= run.first].mean()) if len(so_far) else 0.0


def _running_lost(run: FinishedRun) -> int:
    """Count what ran at the start and got no place, or only later, though some server could hold it when empty."""
    rows = run.requests.leads(np.arange(run.simulation.workload.running))
    late = (run.outcome[rows] == PENDING) | (run.decided[rows] > run.begin)
    return int(np.count_nonzero(late | (run.outcome[rows] == REJECTED)))


def _waits(run: FinishedRun) -> Floats:
    """Return the seconds from arrival to placement of each of `placed`, float64 [placed]."""
    waits: Floats = run.decided[run.placed] - run.arrival[run.placed]
    return waits


def _wait_total(run: FinishedRun) -> float:
    return float(sum(_waits(part).sum() for part in run.parts()))


def _wait_p95(run: FinishedRun) -> float:
    """Find the least wait that 95 % of the placed requests did not exceed; 0 where nothing was placed."""
    if not any(_waits(part).any() for part in run.parts()):
        return 0.0  # without a look at all of them at once
    return float(np.quantile(_waits(run), 0.95, method="inverted_cdf"))


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


def _turnaround_mean(run: FinishedRun) -> float | None:
    result = _stays(run)
    result = result[np.isfinite(result)]
    return float(result.mean()) if len(result) else None


def _slowdown_mean(run: FinishedRun) -> float | None:
    """Average the bounded slowdown of those that were placed and not lost; it is 1 for those that never end."""
    stays, ran = _stays(run), run.duration[run.placed]
    ends = np.isfinite(stays)
    result: Floats = np.ones(len(ran))
    result[ends] = stays[ends] / np.maximum(ran[ends], SHORT)
    result = np.maximum(result, 1.0)[~np.isnan(stays)]
    return float(result.mean()) if len(result) else None


LOWER: dict[str, Any] = {"better": "lower", "in_parts": True}
TABLE = table((
    define("offered", "offered", "requests that arrived while the run lasted", _offered, table="never", in_parts=True),
    define("scheduled", "scheduled", "requests that got a place", _scheduled, better="higher", in_parts=True),
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
    define("running_lost", "running lost", "requests that ran already at the start, without a place there",
           _running_lost, better="lower", table="harm"),
    define("stopped", "stopped", "1 when a request that fit nowhere ended the run",
           lambda run: int(run.simulation.stopped), table="never"),
    define("wait_total", "total wait", "of all placed requests together", _wait_total, unit="s", table="never",
           **LOWER),
    define("wait_mean", "mean wait", "time from arrival to placement",
           lambda run: ratio(_wait_total(run), sum(len(part.placed) for part in run.parts())), unit="s",
           table="differs", **LOWER),
    define("wait_p95", "p95 wait", "95 % of the placed requests waited no longer", _wait_p95, unit="s",
           table="differs", **LOWER),
    define("turnaround_mean", "mean turnaround", "time from arrival to end, of those that end", _turnaround_mean,
           unit="s", **LOWER),
    define("slowdown_mean", "mean bounded slowdown", f"max(1, turnaround / max(run, {SHORT:.0f} s))", _slowdown_mean,
           **LOWER),
    define("hours", "hours", "from the first arrival after the warm start to the last decision",
           lambda run: (run.finish - run.begin) / HOUR, table="never", in_parts=True),
    define("makespan", "makespan", "from the first arrival to the end of the last lifetime",
           lambda run: run.last - run.begin if run.last < np.inf else None, unit="s", better="lower"),
    define("decision_us", "µs/decision", "the agent's own time for one decision",
           lambda run: run.thought / 1000 / run.decisions, better="lower", timed=True),
))  # fmt: skip
