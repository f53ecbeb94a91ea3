"""What became of the requests, and what failures did to those who held something."""

from __future__ import annotations

import numpy as np

from binwright.analysis.measure.definition import metric
from binwright.analysis.measure.finished_run import FinishedRun, ratio
from binwright.simcore.engine import Simulation
from binwright.simcore.record import IMPOSSIBLE, PENDING, PLACED, REJECTED
from binwright.simcore.types import Floats, Ints


def _cut(run: FinishedRun) -> int:
    """Count the holding periods that a failure cut short."""
    return len(run.asked.leads(np.flatnonzero(run.interruption >= run.begin)))


@metric(
    heading="interrupted",
    better="lower",
    table="harm",
    meaning="holding periods that a failure or an eviction cut short",
)
def interrupted(run: FinishedRun) -> int:
    """Count the holding periods that a failure cut short in the measured time."""
    return _cut(run)


@metric(heading="lost", better="lower", table="harm", meaning="of those, the ones that got no new place")
def lost(run: FinishedRun) -> int:
    """Count those of them whose request got no new place."""
    back = np.arange(len(run.simulation.workload), len(run.outcome))  # where those lie that were sent back
    again = run.got_place[back] & (run.interruption[run.origin[back]] >= run.begin)
    return _cut(run) - len(run.asked.leads(back[again]))


def _came(run: FinishedRun) -> slice | Ints:
    """Return the rows of `offered`."""
    whole = run.asked.gangs is None and run.only is None
    return slice(run.first, run.simulation.offered) if whole else run.offered


@metric(heading="offered", table="never", meaning="requests that arrived while the run lasted", in_parts=True)
def offered(run: FinishedRun) -> int:
    """Count the requests that arrived after the warm start."""
    return run.simulation.offered - run.first if run.asked.gangs is None else len(run.offered)


@metric(heading="scheduled", better="higher", meaning="requests that got a place", in_parts=True)
def scheduled(run: FinishedRun) -> int:
    """Count those that got a place: the scheduled length where the run stops at the first that gets none."""
    return int(np.count_nonzero(run.got_place[_came(run)]))


@metric(
    name="scheduled_bound",
    heading="scheduled at most",
    table="never",
    meaning="requests before the first that no agent could place",
)
def bound(run: FinishedRun) -> int | None:
    """Count the requests that can be placed at most, where that is known."""
    return scheduled_bound(run.simulation, run.first) if run.bounded else None


@metric(
    heading="accepted %",
    unit="%",
    better="higher",
    meaning="share of the offered requests that got a place; who is lost counts as asked again, in vain",
    in_parts=True,
)
def acceptance(run: FinishedRun) -> float:
    """Divide the placed requests by those offered, and those that a failure has cut short and nobody takes again.

    Otherwise the room that a failure makes would count, and those whom it costs their place would not.
    """
    return ratio(scheduled(run), offered(run) + lost(run))


@metric(
    name="acceptance_cumulative",
    heading="accepted % so far",
    unit="%",
    better="higher",
    in_parts=True,
    meaning="share accepted of the requests so far, mean over the moments after every request",
)
def cumulative(run: FinishedRun) -> float:
    """Average the acceptance so far over the requests; what came before the last part counts in it."""
    rows = run.asked.leads(np.arange(run.since, run.simulation.offered))
    so_far = np.cumsum(run.got_place[rows]) / np.arange(1, len(rows) + 1)
    return float(so_far[rows >= run.first].mean()) if len(so_far) else 0.0


@metric(heading="rejected", better="lower", table="never", meaning="requests that got no place", in_parts=True)
def rejected(run: FinishedRun) -> int:
    """Count the requests that were refused, or declined by the agent."""
    return int(np.count_nonzero(run.outcome[_came(run)] == REJECTED))


@metric(
    heading="impossible",
    table="never",
    meaning="requests larger than any server, which no agent was asked about",
    in_parts=True,
)
def impossible(run: FinishedRun) -> int:
    """Count the requests that not even the empty cluster could hold."""
    return int(np.count_nonzero(run.outcome[_came(run)] == IMPOSSIBLE))


@metric(heading="running", table="never", meaning="requests that ran already at the start; they are not measured")
def running(run: FinishedRun) -> int:
    """Count the requests that ran already at the start."""
    return len(run.asked.leads(np.arange(run.simulation.workload.running)))


@metric(heading="running lost", better="lower", table="harm", meaning="of those, the ones without a place at the start")
def running_lost(run: FinishedRun) -> int:
    """Count those of them that got no place, or only later, though some server could hold them when empty."""
    rows = run.asked.leads(np.arange(run.simulation.workload.running))
    late = (run.outcome[rows] == PENDING) | (run.decided[rows] > run.begin)
    return int(np.count_nonzero(late | (run.outcome[rows] == REJECTED)))


@metric(heading="stopped", table="never", meaning="1 when a request that fit nowhere ended the run")
def stopped(run: FinishedRun) -> int:
    """Tell whether overflow ended the run."""
    return int(run.simulation.stopped)


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
    """Add up what is held right after each beginning, int64 [n, resources].

    `begin` float64 [n] ascends; what ends at a beginning ends before it.

    What ends where it begins is held at no time.
    """
    demand = np.where((end > begin)[:, None], demand, 0)
    order = np.argsort(end, kind="stable")
    gone = np.concatenate([np.zeros((1, demand.shape[1]), np.int64), demand[order].cumsum(axis=0)])
    left: Ints = demand.cumsum(axis=0) - gone[np.searchsorted(end[order], begin, side="right")]
    return left
