"""Where requests went that several sites share, how far that was, and for how long they waited for a better hour."""

from __future__ import annotations

import json

import numpy as np

from binwright.analysis.measure.costs.metrics import per_days
from binwright.analysis.measure.definition import metric
from binwright.analysis.measure.finished_run import FinishedRun, ratio
from binwright.simcore.routing import Routing
from binwright.simcore.types import Ints


def _placed(run: FinishedRun) -> tuple[Routing, Ints] | None:
    """Return the routing, and at which site each of `placed` got its place, int64 [placed]; None without sites."""
    routing = run.simulation.routing
    return (routing, routing.sites.of[run.server[run.placed]]) if isinstance(routing, Routing) else None


@metric(heading="away %", unit="%", table="differs", meaning="placed requests that are not at their home site")
def away(run: FinishedRun) -> float | None:
    """Count the placed requests that have a home and are elsewhere."""
    if (found := _placed(run)) is None:
        return None
    homes = found[0].sites.home[run.placed]
    return ratio(float(np.count_nonzero((homes >= 0) & (homes != found[1]))), int(np.count_nonzero(homes >= 0)))


@metric(heading="spilled %", unit="%", table="differs", meaning="placed requests that their first site had refused")
def spilled(run: FinishedRun) -> float | None:
    """Count the placed requests that are not at the site that was tried first."""
    if (found := _placed(run)) is None:
        return None
    rows = np.array([*found[0].spilled], np.int64)
    return ratio(float(np.isin(run.placed, rows).sum()), len(run.placed))


@metric(heading="latency", unit="ms", better="lower", table="differs", meaning="mean, of placed requests")
def latency(run: FinishedRun) -> float | None:
    """Average how far the placed requests are from their sites, as far as that is known."""
    if (found := _placed(run)) is None:
        return None
    known = found[0].sites.latency[run.placed, found[1]]
    known = known[~np.isnan(known)]
    return 1000 * float(known.mean()) if len(known) else None


@metric(heading="postponed %", unit="%", table="differs", meaning="requests that waited for a better hour")
def postponed(run: FinishedRun) -> float | None:
    """Count the requests that arrived later than they were asked for."""
    waited = run.simulation.workload.postponed
    return None if waited is None else ratio(float((waited[run.offered] > 0).sum()), len(run.offered))


@metric(heading="postponed by", unit="s", better="lower", table="differs", meaning="mean, of requests that waited so")
def postponed_by(run: FinishedRun) -> float | None:
    """Average for how long requests waited for a better hour, of those that did."""
    waited = run.simulation.workload.postponed
    if waited is None:
        return None
    some = waited[run.offered]
    return ratio(float(some.sum()), int(np.count_nonzero(some > 0)))


def sites_column(run: FinishedRun) -> dict[str, str]:
    """Put into a column what became of each site: its share of the placed requests, and its bill, as JSON."""
    if (found := _placed(run)) is None:
        return {}
    names, bills = found[0].sites.names, run.bill.sites if run.bill else ()
    counts = np.bincount(found[1], minlength=len(names))
    said: dict[str, dict[str, float | None]] = {
        name: {"placed": ratio(float(counts[site]), len(run.placed))} for site, name in enumerate(names)
    }
    for name, bill in zip(names, bills, strict=False):
        money = [part for part in (bill.servers, bill.electricity) if part is not None]
        cost = sum(money) if money else None
        said[name] |= {
            "energy": bill.energy,
            "carbon": bill.carbon,
            "cost": cost,
            "cost_month": per_days(run, cost),
        }
    return {"sites": json.dumps(said, ensure_ascii=False)}
