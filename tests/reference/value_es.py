"""The rule of value-es, slow and plain."""

from __future__ import annotations

import numpy as np

from agents.learned.numa.value import HIDDEN, TERMS
from simcore.vocabulary import Floats, Ints


def worth_of(nodes: list[list[float]], weights: Floats) -> float:
    """Compute the value of a server as docs/guides/numa-learning.md says it."""
    (a, am), (b, bm) = sorted(nodes)
    terms = [((a + b) / 2) ** 2, min(a, b, am, bm), a * a + b * b]
    for cpu, mem in ((0.8, 0.71), (0.4, 0.355), (0.2, 0.177)):
        terms.append(float(min(a, b) >= cpu and min(am, bm) >= mem))
    network = weights[TERMS:].reshape(6, HIDDEN)
    hidden = np.maximum(np.array([a, am, b, bm]) @ network[:4] + network[4], 0)
    return float(np.dot(terms, weights[:TERMS]) + hidden @ network[5])


def gains(free: Ints, capacity: Ints, demand: tuple[int, int], spread: bool, weights: Floats) -> dict[int, float]:
    """Compute by code the gain of every place that fits."""
    found = {}
    for server in range(len(free)):
        for node in range(1 if spread else 2):
            left = free[server].copy()
            for r in range(2):
                if spread:
                    left[0, r] -= demand[r] - demand[r] // 2
                    left[1, r] -= demand[r] // 2
                else:
                    left[node, r] -= demand[r]
            if (left >= 0).all():
                before, after = (worth_of((now / capacity[server]).tolist(), weights) for now in (free[server], left))
                found[server * 2 + node] = after - before
    return found
