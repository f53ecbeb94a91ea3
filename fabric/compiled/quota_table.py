"""Tells whose quotas have room, for the loop and for what holds, admits and evicts requests outside of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.simcore.jit import lean
from binwright.simcore.types import Ints

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
                kept = nominal[other, r] - quotas.lent[other, r]
                taken += max(0, used[other, r] + (amount if other == tenant else 0) - kept)
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
