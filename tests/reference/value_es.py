"""The rule of value-es, slow and plain."""

import numpy as np

from binwright.agents.learned.value import HIDDEN, SIZE, TERMS
from binwright.simcore.types import Floats, Ints


def worth_of(nodes: list[list[float]], weights: Floats) -> float:
    """Compute the value of a server as docs/learn/numa-learning.md says it."""
    (a, am), (b, bm) = sorted(nodes)
    terms = [((a + b) / 2) ** 2, min(a, b, am, bm), a * a + b * b]
    for cpu, mem in ((0.8, 0.71), (0.4, 0.355), (0.2, 0.177)):
        terms.append(float(min(a, b) >= cpu and min(am, bm) >= mem))
    network = weights[TERMS:].reshape(6, HIDDEN)
    hidden = np.maximum(np.array([a, am, b, bm]) @ network[:4] + network[4], 0)
    return float(np.dot(terms, weights[:TERMS]) + hidden @ network[5])


def room_of(nodes: list[list[int]], sizes: list[tuple[int, int, bool]], weights: Floats) -> float:
    """Compute the value of what still fits on a server, of sizes (cpu and mem of a node, spread): by trying."""
    value = 0.0
    for number, (cpu, mem, spread) in enumerate(sizes):
        left, fits = [list(node) for node in nodes], 0
        while True:
            there = [n for n, (c, m) in enumerate(left) if c >= cpu and m >= mem]
            if len(there) < (len(left) if spread else 1):
                break
            fits += 1
            for n in there if spread else there[:1]:
                left[n] = [left[n][0] - cpu, left[n][1] - mem]
        value += weights[2 * number] * fits + weights[2 * number + 1] * (fits > 0)
    return value


def gains(
    free: Ints,
    capacity: Ints,
    demand: tuple[int, int],
    spread: bool,
    weights: Floats,
    sizes: list[tuple[int, int, bool]] | None = None,
) -> dict[int, float]:
    """Compute by code the gain of every place that fits; `sizes` have their weights behind the others."""
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
                known = weights[:SIZE]
                before, after = (worth_of((now / capacity[server]).tolist(), known) for now in (free[server], left))
                for sign, now in ((-1, free[server]), (1, left)) if sizes else ():
                    after += sign * room_of(now.tolist(), sizes or [], weights[SIZE:])
                found[server * 2 + node] = after - before
    return found
