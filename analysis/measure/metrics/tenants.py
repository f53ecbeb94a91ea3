"""How tenants with quotas fared: what they held and borrowed, how long they waited for it, and how equal they were."""

from __future__ import annotations

import json

import numpy as np

from binwright.analysis.measure.definition import metric
from binwright.analysis.measure.finished_run import FinishedRun, ratio
from binwright.simcore.ordered_sums import dot, rows_dot
from binwright.simcore.quotas import Quotas
from binwright.simcore.types import QUANTUM, Floats, Ints

HOUR = 3600.0


def _tenants(run: FinishedRun) -> tuple[Quotas, Ints] | None:
    """Return the quotas, and the place among them of every row, int64 [rows], -1 for none; None without quotas."""
    quotas = run.simulation.quotas
    if not isinstance(quotas, Quotas):
        return None
    source = np.arange(len(run.outcome))
    while (back := source >= len(quotas.of)).any():
        source[back] = run.origin[source[back]]
    return quotas, quotas.of[source]


def _shares(run: FinishedRun, quotas: Quotas, of: Ints) -> Floats:
    """Return the share of the cluster that each tenant held on average, float64 [tenants, resources]."""
    mine = of[run.held]
    each = [
        rows_dot(run.demand[run.held[mine == n]].T, run.seconds[mine == n]) for n in range(len(quotas.rules.quotas))
    ]
    installed = run.installed_seconds[: len(run.resources)]
    shares: Floats = np.divide(each, installed, out=np.zeros((len(each), len(installed))), where=installed > 0)
    return shares


def _borrowed(run: FinishedRun, quotas: Quotas, of: Ints) -> Floats:
    """Integrate what each tenant held beyond its nominal quota: unit hours, float64 [tenants, resources]."""
    found = np.zeros((len(quotas.rules.quotas), len(run.resources)))
    for number, quota in enumerate(quotas.rules.quotas):
        mine = of[run.held] == number
        rows, ends = run.held[mine], np.clip(run.end[mine], run.begin, run.finish)
        times = np.concatenate([np.clip(run.start[mine], run.begin, run.finish), ends])
        order = np.argsort(times, kind="stable")
        for r, nominal in quota.nominal.items():
            level = np.cumsum(np.concatenate([run.demand[rows, r], -run.demand[rows, r]])[order])
            found[number, r] = dot(np.maximum(level - nominal, 0)[:-1], np.diff(times[order])) if len(order) else 0.0
    return found / QUANTUM / HOUR


def _waits(run: FinishedRun, quotas: Quotas, of: Ints) -> tuple[Ints, Floats]:
    """Count who was above a quota, int64 [tenants], and add up for how long, seconds float64 [tenants]."""
    rows = np.array([*quotas.waited], np.int64)
    since, until = np.array([*quotas.waited.values()], np.float64).reshape(-1, 2).T
    waited, tenants = np.minimum(until, run.finish) - since, len(quotas.rules.quotas)
    total: Floats = np.bincount(of[rows], np.maximum(waited, 0), minlength=tenants).astype(np.float64)
    return np.bincount(of[rows], minlength=tenants), total


def tenants_column(run: FinishedRun) -> dict[str, str]:
    """Put into a column what became of each tenant: its requests, shares, what it borrowed, and its waits, as JSON."""
    if (found := _tenants(run)) is None:
        return {}
    quotas, of = found
    shares, borrowed, (held, waited) = _shares(run, *found), _borrowed(run, *found), _waits(run, *found)
    said = {
        quota.name: {
            "requests": int((of[run.offered] == n).sum()),
            "dominant_share": float(shares[n].max()),
            **{f"share_{name}": float(shares[n, r]) for r, name in enumerate(run.resources)},
            **{f"borrowed_{run.resources[r]}": float(borrowed[n, r]) for r in quota.nominal},
            "above_quota": int(held[n]),
            "waited_above_quota": float(waited[n]),
        }
        for n, quota in enumerate(quotas.rules.quotas)
    }
    return {"tenants": json.dumps(said, ensure_ascii=False)}


@metric(
    heading="Jain's index",
    better="higher",
    meaning="how equal the dominant shares of tenants with quotas are: 1 equal, 1/n one has all",
)
def jain(run: FinishedRun) -> float | None:
    """Compute Jain's index of the largest share of a resource that each tenant held on average."""
    if (found := _tenants(run)) is None:
        return None
    dominant = _shares(run, *found).max(axis=1)
    return ratio(float(dominant.sum()) ** 2, len(dominant) * dot(dominant, dominant))


@metric(
    name="borrowed_{}",
    heading="{} borrowed h",
    per="resource",
    table="differs",
    meaning="hours of a unit of {} that tenants held beyond their nominal quotas",
)
def borrowed(run: FinishedRun) -> list[float] | None:
    """Add up what tenants borrowed."""
    found = _tenants(run)
    return None if found is None else _borrowed(run, *found).sum(axis=0).tolist()


@metric(
    heading="quota wait",
    unit="s",
    better="lower",
    meaning="mean time that a request of a tenant with a quota waited above it",
)
def quota_wait(run: FinishedRun) -> float | None:
    """Average the time above a quota over the requests that count against one."""
    if (found := _tenants(run)) is None:
        return None
    return ratio(float(_waits(run, *found)[1].sum()), int((found[1][run.offered] >= 0).sum()))
