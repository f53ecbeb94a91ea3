"""What became of tenants with quotas."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import HOUR, FinishedRun, ratio
from binwright.simcore.ordered_sums import dot, rows_dot
from binwright.simcore.types import QUANTUM, Floats, Ints

Tenants = tuple[Any, Ints]


def _tenants(run: FinishedRun) -> Tenants | None:
    """Need `quotas`: these, and the place among them of every row, int64 [rows], -1 for none."""
    quotas: Any = run.simulation.quotas
    if quotas is None:
        return None
    return quotas, quotas.table.tenant[: len(run.outcome)]


def _shares(run: FinishedRun, quotas: Any, of: Ints) -> Floats:
    """Return the share of the cluster that each tenant held on average, float64 [tenants, resources]."""
    mine = of[run.held]
    each = [rows_dot(run.demand[run.held[mine == n]].T, run.seconds[mine == n]) for n in range(len(quotas.names))]
    installed = run.installed_seconds[: len(run.resources)]
    shares: Floats = np.divide(each, installed, out=np.zeros((len(each), len(installed))), where=installed > 0)
    return shares


def _borrowed(run: FinishedRun, quotas: Any, of: Ints) -> Floats:
    """Integrate what each tenant held beyond its nominal quota: unit hours, float64 [tenants, resources]."""
    found = np.zeros((len(quotas.names), len(run.resources)))
    for number, nominals in enumerate(quotas.nominal):
        mine = of[run.held] == number
        rows, ends = run.held[mine], np.clip(run.end[mine], run.begin, run.finish)
        times = np.concatenate([np.clip(run.start[mine], run.begin, run.finish), ends])
        order = np.argsort(times, kind="stable")
        for r, nominal in nominals.items():
            level = np.cumsum(np.concatenate([run.demand[rows, r], -run.demand[rows, r]])[order])
            found[number, r] = dot(np.maximum(level - nominal, 0)[:-1], np.diff(times[order])) if len(order) else 0.0
    return found / QUANTUM / HOUR


def _waits(run: FinishedRun, quotas: Any, of: Ints) -> tuple[Ints, Floats]:
    """Count who was above a quota, int64 [tenants], and add up for how long, seconds float64 [tenants]."""
    rows = np.array([*quotas.waited], np.int64)
    since, until = np.array([*quotas.waited.values()], np.float64).reshape(-1, 2).T
    waited, tenants = np.minimum(until, run.finish) - since, len(quotas.names)
    total: Floats = np.bincount(of[rows], np.maximum(waited, 0), minlength=tenants).astype(np.float64)
    return np.bincount(of[rows], minlength=tenants), total


def tenants_column(run: FinishedRun) -> dict[str, str]:
    """Put into a column what became of each tenant: its requests, shares, what it borrowed, and its waits, as JSON."""
    if (found := _tenants(run)) is None:
        return {}
    quotas, of = found
    shares, borrowed, (held, waited) = _shares(run, *found), _borrowed(run, *found), _waits(run, *found)
    said = {
        name: {
            "requests": int((of[run.offered] == n).sum()),
            "dominant_share": float(shares[n].max()),
            **{f"share_{resource}": float(shares[n, r]) for r, resource in enumerate(run.resources)},
            **{f"borrowed_{run.resources[r]}": float(borrowed[n, r]) for r in quotas.nominal[n]},
            "above_quota": int(held[n]),
            "waited_above_quota": float(waited[n]),
        }
        for n, name in enumerate(quotas.names)
    }
    return {"tenants": json.dumps(said, ensure_ascii=False)}


def _jain(run: FinishedRun, tenants: Tenants) -> float:
    """Compute Jain's index of the largest share of a resource that each tenant held on average."""
    dominant = _shares(run, *tenants).max(axis=1)
    return ratio(float(dominant.sum()) ** 2, len(dominant) * dot(dominant, dominant))


TABLE = table((
    define("jain", "Jain's index", "how equal the dominant shares of tenants with quotas are: 1 equal, 1/n one has all",
           _jain, needs=_tenants, better="higher"),
    define("borrowed_{}", "{} borrowed h", "hours of a unit of {} that tenants held beyond their nominal quotas",
           lambda run, tenants: _borrowed(run, *tenants).sum(axis=0).tolist(),
           needs=_tenants, per="resource", table="differs"),
    define("quota_wait", "quota wait", "mean time that a request of a tenant with a quota waited above it",
           lambda run, tenants: ratio(float(_waits(run, *tenants)[1].sum()), int((tenants[1][run.offered] >= 0).sum())),
           needs=_tenants, unit="s", better="lower"),
))  # fmt: skip
