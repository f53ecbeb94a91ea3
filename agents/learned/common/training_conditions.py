"""Says in a few numbers what an agent learned on, and in which way it is used on something else.

Weights of one regime can do harm in another. What is compared is coarse, so that another window of the same trace is
the same regime.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from binwright.simcore.types import Ints

LARGE = 0.4
"""Requests are large that take so much of a node, in some resource."""
SIZE, BOUND, MORE = 2.0, 1.4, 0.2
"""By which factors sizes of requests, and of one resource over another, may differ, and by how much large ones."""


class Regime(NamedTuple):
    """Describes servers and requests.

    There are so many `kinds` of servers, a request takes `shares` float [resources] of an average node on average, and
    `large` requests take that share of all that is taken.
    """

    kinds: int
    shares: tuple[float, ...]
    large: float


class Learned:
    """Marks agents with weights; `regime` is what these were learned on, if that is known, from `start` on."""

    regime: Regime | None = None


def regime_of(capacity: Ints, demand: Ints, spread: Any) -> Regime | None:
    """Describe servers int64 [servers, nodes, resources] and requests int64 [n, resources], bool [n]; None of nothing.

    A spread request takes an even part of every node.
    """
    if not len(demand):
        return None
    kinds = len(np.unique(capacity.reshape(len(capacity), -1), axis=0))
    share = demand / np.maximum(capacity.mean(axis=(0, 1)), 1)
    most = share.max(axis=1)
    large = most / np.where(spread, capacity.shape[1], 1) >= LARGE
    return Regime(kinds, tuple(share.mean(axis=0).tolist()), float(most[large].sum() / most.sum()))


def noted(notes: Mapping[str, Any]) -> Regime | None:
    """Read the regime in the notes beside weights."""
    said = notes.get("regime")
    return Regime(said["kinds"], tuple(said["shares"]), said["large"]) if said else None


def outside(was: Regime, now: Regime) -> str:
    """Say in which way `now` is something else than `was`, where weights were learned; nothing if it is not.

    Every way has its numbers behind it, in round brackets: those of now, and of the training.
    """
    found = []
    if (was.kinds > 1) != (now.kinds > 1):
        way = "servers of several kinds" if now.kinds > 1 else "servers of one kind"
        found.append(f"{way} ({now.kinds}; in training {was.kinds})")
    factors = np.array(now.shares) / np.maximum(was.shares, 1e-12)
    if not 1 / SIZE <= (size := factors.mean()) <= SIZE:
        way = "larger requests" if size > 1 else "smaller requests"
        found.append(f"{way} ({_each(now)} of a node on average; in training {_each(was)})")
    if factors.max() > BOUND * factors.min():
        found.append(f"requests for another mix of resources ({_each(now)} of a node; in training {_each(was)})")
    if abs(now.large - was.large) > MORE:
        way = "more large requests" if now.large > was.large else "fewer large requests"
        found.append(f"{way} ({now.large:.0%} of what is taken; in training {was.large:.0%})".replace("%", " %"))
    return ", ".join(found)


def _each(one: Regime) -> str:
    """Write the share of a node of every resource, such as `12 and 5.1 %`."""
    return f"{' and '.join(f'{100 * share:.2g}' for share in one.shares)} %"
