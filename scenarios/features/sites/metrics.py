"""At which site requests got their place, and when."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import FinishedRun, ratio
from binwright.scenarios.features.costs.metrics import per_month
from binwright.simcore.types import Ints

Sited = tuple[Any, Ints]


def _sited(run: FinishedRun) -> Sited | None:
    """Need `sites`: the routing, and at which site each of `placed` got its place, int64 [placed]."""
    routing: Any = run.simulation.routing
    return (routing, routing.of[run.server[run.placed]]) if routing else None


def _away(run: FinishedRun, sited: Sited) -> float:
    homes = sited[0].sites.home[run.placed]
    return ratio(float(np.count_nonzero((homes >= 0) & (homes != sited[1]))), int(np.count_nonzero(homes >= 0)))


def _latency(run: FinishedRun, sited: Sited) -> float | None:
    known = sited[0].sites.latency[run.placed, sited[1]]
    known = known[~np.isnan(known)]
    return 1000 * float(known.mean()) if len(known) else None


def sites_column(run: FinishedRun) -> dict[str, str]:
    """Put into a column what became of each site: its share of the placed requests, and its bill, as JSON."""
    if (result := _sited(run)) is None:
        return {}
    names, bills = result[0].sites.names, run.bill.sites if run.bill else ()
    counts = np.bincount(result[1], minlength=len(names))
    by_site: dict[str, dict[str, float | None]] = {
        name: {"placed": ratio(float(counts[site]), len(run.placed))} for site, name in enumerate(names)
    }
    for name, bill in zip(names, bills, strict=False):
        by_site[name] |= bill | {"cost_month": per_month(run, bill["cost"])}
    return {"sites": json.dumps(by_site, ensure_ascii=False)}


TABLE = table((
    define("away", "away %", "placed requests that are not at their home site", _away, needs=_sited, unit="%",
           table="differs"),
    define("spilled", "spilled %", "placed requests that their first site had refused",
           lambda run, sited: ratio(float(np.isin(run.placed, np.array([*sited[0].spilled], np.int64)).sum()),
                                    len(run.placed)), needs=_sited, unit="%", table="differs"),
    define("latency", "latency", "mean, of placed requests", _latency, needs=_sited, unit="ms", table="differs",
           better="lower"),
))  # fmt: skip
