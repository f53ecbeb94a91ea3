"""Tells whose quotas have room, and whom limits of queues keep waiting: for the loop, and outside of it."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.simcore.jit import inlined, lean
from binwright.simcore.types import Floats, Ints

NO_TENANT = -1
OWN, COHORTS = range(2)
"""Which quota is exceeded, beside the resource: what the tenant itself may use, or what its cohort may lend."""


class QuotaTable(NamedTuple):
    """Holds quotas and what is used of them, in quanta.

    `tenant` int64 [rows] is whose quota each row counts against, `NO_TENANT` for nobody's. `nominal`, `most` and `lent`
    int64 [tenants, resources] are what a tenant owns, may use at most with what it borrows, and lends at most;
    `nominal` is negative where there is no quota. `cohort` int64 [tenants] is negative for a tenant that is in none.
    `reclaims` tells whether borrowers are evicted.

    Written are `used` int64 [tenants, resources], `granted` bool [rows], who has taken its quota, and `given_back` bool
    [1]: whether any has been given back since those held were looked at.
    """

    tenant: Ints
    nominal: Ints
    most: Ints
    lent: Ints
    cohort: Ints
    reclaims: bool
    used: Ints
    granted: npt.NDArray[np.bool_]
    given_back: npt.NDArray[np.bool_]


@lean
def exceeded(quotas: QuotaTable, used: Ints, demand: Ints, parts: int, tenant: int) -> int:
    """Return which quota keeps out a gang of so many parts of `demand` int64 [resources], -1 for none.

    It is the place of the resource times two, plus `OWN` or `COHORTS`. So much is `used` int64 [tenants, resources].
    """
    nominal, cohort = quotas.nominal, quotas.cohort
    for r in range(len(demand) if tenant != NO_TENANT else 0):
        amount = parts * demand[r]
        if amount == 0 or nominal[tenant, r] < 0:
            continue
        if amount > quotas.most[tenant, r] - used[tenant, r]:
            return 2 * r + OWN
        lent = taken = 0
        for other in range(len(cohort)):
            same = other == tenant or (cohort[other] >= 0 and cohort[other] == cohort[tenant])
            if same and nominal[other, r] >= 0:
                lent += quotas.lent[other, r]
                reserved = nominal[other, r] - quotas.lent[other, r]
                taken += max(0, used[other, r] + (amount if other == tenant else 0) - reserved)
        if taken > lent:
            return 2 * r + COHORTS
    return -1


@lean
def grant(quotas: QuotaTable, demand: Ints, parts: int, row: int) -> None:
    """Have a row take its quota; changes `quotas`."""
    quotas.granted[row] = True
    _use(quotas, demand, parts, row, 1)


@lean
def give_back(quotas: QuotaTable, demand: Ints, parts: int, row: int) -> None:
    """Have a row give back its quota, if it has taken it; changes `quotas`."""
    if quotas.granted[row]:
        quotas.granted[row] = False
        quotas.given_back[0] = True
        _use(quotas, demand, parts, row, -1)


@lean
def _use(quotas: QuotaTable, demand: Ints, parts: int, row: int, sign: int) -> None:
    tenant, used = quotas.tenant[row], quotas.used
    for r in range(len(demand) if tenant != NO_TENANT else 0):
        if quotas.nominal[tenant, r] >= 0:
            used[tenant, r] += sign * parts * demand[r]


URGENT = 40
"""Turns and priorities of so many bits follow one another within each urgency of a queue."""
REQUESTS = -1
"""Stands among the numbers of resources for how many requests run."""


class LimitTable(NamedTuple):
    """Holds the limits of queues, what counts against them, and whom they have kept waiting.

    `queue` int64 [rows] is each row's queue, negative for none, and `never` bool [rows] says who is refused at once. A
    queue has the limits from its place in `first` int64 [queues + 1] to the next one's. Each limit int64 [limits] is
    on a `resource`, or on `REQUESTS`: at most `most` quanta or requests of each owner run. `owner` int64 [limits, rows]
    is the place in `used` where a row counts; those of several resources are different.

    Written are `used` int64 [any], and of each row: `runs` bool [rows], whether it counts, `since` and `until` float64
    [rows], when it was kept waiting (NaN: never; infinite: still), and `limit` int64 [rows], the first that did so.
    """

    queue: Ints
    never: npt.NDArray[np.bool_]
    first: Ints
    resource: Ints
    most: Ints
    owner: Ints
    used: Ints
    runs: npt.NDArray[np.bool_]
    since: Floats
    until: Floats
    limit: Ints


@lean
def _amount(limits: LimitTable, limit: int, demand: Ints, parts: int) -> int:
    r = limits.resource[limit]
    return 1 if r == REQUESTS else parts * demand[r]


@lean
def limit_reached(limits: LimitTable, demand: Ints, parts: int, row: int) -> int:
    """Return which limit keeps a gang of so many parts of `demand` int64 [resources] from starting, -1 for none."""
    queue = limits.queue[row]
    for limit in range(limits.first[queue] if queue >= 0 else 0, limits.first[queue + 1] if queue >= 0 else 0):
        more = _amount(limits, limit, demand, parts)
        if more > 0 and limits.used[limits.owner[limit, row]] + more > limits.most[limit]:
            return limit
    return -1


@lean
def is_kept(limits: LimitTable, demand: Ints, parts: int, row: int, now: float) -> bool:
    """Tell whether a limit keeps a row of the line from starting, and note since when, or that none does any more."""
    limit = limit_reached(limits, demand, parts, row)
    if limit >= 0:
        if np.isnan(limits.since[row]):
            limits.since[row], limits.limit[row] = now, limit
        limits.until[row] = np.inf
    elif limits.until[row] == np.inf:
        limits.until[row] = now
    return limit >= 0


@lean
def count_limits(limits: LimitTable, demand: Ints, parts: int, row: int, runs: bool) -> None:
    """Count a row that starts, or stop counting it where it `runs` no more; changes `limits`."""
    queue = limits.queue[row]
    if queue >= 0 and limits.runs[row] != runs:
        limits.runs[row] = runs
        for limit in range(limits.first[queue], limits.first[queue + 1]):
            amount = _amount(limits, limit, demand, parts)
            limits.used[limits.owner[limit, row]] += amount if runs else -amount


class Tables(NamedTuple):
    """Holds what a run may have beside servers and requests: what there is none of has no rows.

    `parts` int64 [rows] says of how many parts the gang of each row has, whose rows follow.
    """

    parts: Ints
    quotas: QuotaTable
    limits: LimitTable


def no_tables() -> Tables:
    """Return the tables of a run without gangs, quotas and several queues."""
    none, some, never, times = np.zeros(0, np.int64), np.zeros((0, 0), np.int64), np.zeros(0, np.bool_), np.zeros(0)
    quotas = QuotaTable(none, some, some, some, none, False, some, never, np.zeros(1, np.bool_))
    limits = LimitTable(none, never, none, none, none, some, none, never, times, times, none)
    return Tables(none, quotas, limits)


@inlined
def parts_of(parts: Ints, row: int) -> int:
    """Return how many parts a request has; `parts` int64 [n] is empty where there are no gangs."""
    return parts[row] if len(parts) else 1
