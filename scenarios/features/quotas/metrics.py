"""What became of tenants with quotas."""

from typing import Any

import numpy as np

from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import FinishedRun, ratio
from binwright.simcore.ordered_sums import dot, rows_dot
from binwright.simcore.types import Floats, Ints

Tenants = tuple[Any, Ints]


def _tenants(run: FinishedRun) -> Tenants | None:
    """Need `quotas`: these, and the place among them of every row, int64 [rows], -1 for none."""
    quotas: Any = run.simulation.quotas
    if quotas is None:
        return None
    return quotas, quotas.tenants(slice(len(run.outcome)))


def _shares(run: FinishedRun, quotas: Any, of: Ints) -> Floats:
    """Return the share of the cluster that each tenant held on average, float64 [tenants, resources]."""
    mine = of[run.held]
    each = [rows_dot(run.demand[run.held[mine == n]].T, run.seconds[mine == n]) for n in range(len(quotas.names))]
    installed = run.installed(run.finish)[: len(run.resources)]
    shares: Floats = np.divide(each, installed, out=np.zeros((len(each), len(installed))), where=installed > 0)
    return shares


def _quota_wait(run: FinishedRun, tenants: Tenants) -> float:
    """Divide how long requests waited above a quota by how many of tenants with one came."""
    quotas, of = tenants
    since, until = quotas.table.since, quotas.table.until
    rows = np.argsort(since, kind="stable")[: np.count_nonzero(~np.isnan(since))]
    waited = np.maximum(np.minimum(until[rows], run.finish) - since[rows], 0)
    by_tenant = np.bincount(of[rows], waited, minlength=len(quotas.names))
    return ratio(float(by_tenant.sum()), int((of[run.offered] >= 0).sum()))


def _jain(run: FinishedRun, tenants: Tenants) -> float:
    """Compute Jain's index of the largest share of a resource that each tenant held on average."""
    dominant = _shares(run, *tenants).max(axis=1)
    return ratio(float(dominant.sum()) ** 2, len(dominant) * dot(dominant, dominant))


TABLE = table((
    define("jain", "Jain's index", "how equal the dominant shares of tenants with quotas are: 1 equal, 1/n one has all",
           _jain, needs=_tenants, better="higher"),
    define("quota_wait", "quota wait", "mean time that a request of a tenant with a quota waited above it",
           _quota_wait, needs=_tenants, unit="s", better="lower"),
))  # fmt: skip
