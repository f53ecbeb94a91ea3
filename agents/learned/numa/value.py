"""Computes what a server of two NUMA nodes is worth by what is free on it; takes places that leave most worth."""

from __future__ import annotations

import numpy as np

from agents.learned.numa.remaining_fits import room
from agents.rules.cheapest_place import cheapest
from simcore.jit import kernel, lean
from simcore.types import Amounts, Floats, Ints

TERMS, HIDDEN, INPUTS = 6, 8, 4
SIZE = TERMS + (INPUTS + 2) * HIDDEN
"""Weights: of the terms; then of the network, for all hidden units those of each input, the biases, and what
they count."""

KNOWN: Floats = np.array([23.9, 1.02, 1.61, 2.10, 0.94, 0.56])
"""Weights of the terms that an earlier evolution strategy found, without a network."""
LARGE, MIDDLE, SMALL = (0.8, 0.71), (0.4, 0.355), (0.2, 0.177)
"""Shares of cpu and mem: 32 of 40 cores and 64 of 90 GB, half, a quarter."""


def beginning(rng: np.random.Generator, terms: bool = True) -> tuple[Floats, Floats]:
    """Return where training begins, and its scale, both float64 [SIZE]; what `value_es` takes is the product.

    The known terms begin with weights of 1, or 0 without `terms`, the network with weights that count for nothing yet.
    """
    weights, scale = np.ones((2, SIZE))
    scale[:TERMS] = KNOWN
    weights[:TERMS] = terms
    weights[TERMS:] = rng.normal(size=SIZE - TERMS)
    weights[TERMS + (INPUTS + 1) * HIDDEN :] = 0.0
    return weights, scale


@kernel
def worth(cpu: float, mem: float, other_cpu: float, other_mem: float, weights: Floats) -> float:
    """Compute the worth of a server with these shares free on its nodes; which node is which makes no difference.

    The terms: the square of the free share of the server's cpu; the least share of all; the squares of the nodes'
    shares of cpu; and 1 for each of three sizes while both nodes have room for it.
    """
    if cpu > other_cpu or (cpu == other_cpu and mem > other_mem):
        cpu, mem, other_cpu, other_mem = other_cpu, other_mem, cpu, mem
    both, least = (cpu + other_cpu) / 2, min(mem, other_mem)
    value: float = weights[0] * both * both + weights[1] * min(cpu, least)
    value += weights[2] * (cpu * cpu + other_cpu * other_cpu)
    value += weights[3] * (cpu >= LARGE[0] and least >= LARGE[1])
    value += weights[4] * (cpu >= MIDDLE[0] and least >= MIDDLE[1])
    value += weights[5] * (cpu >= SMALL[0] and least >= SMALL[1])
    for unit in range(HIDDEN):
        at = TERMS + unit
        excited = weights[at] * cpu + weights[at + HIDDEN] * mem
        excited += weights[at + 2 * HIDDEN] * other_cpu + weights[at + 3 * HIDDEN] * other_mem
        value += weights[at + 5 * HIDDEN] * max(excited + weights[at + 4 * HIDDEN], 0.0)
    return value


@cheapest
def value_es(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, node: int, weights: Floats, known: Floats
) -> float:
    """Costs the worth that the server loses, one of two nodes and two resources.

    `weights` float64 [SIZE] are of the shares that are free, `known` float64 [any] of the requests that still fit, as
    `known_sizes` has them.
    """
    cpu, mem, other_cpu, other_mem = free[0, 0], free[0, 1], free[1, 0], free[1, 1]
    # The first node takes the odd quanta of a spread request.
    takes_cpu, takes_mem = demand[0] * (node == 0), demand[1] * (node == 0)
    if spread:
        takes_cpu, takes_mem = demand[0] - demand[0] // 2, demand[1] - demand[1] // 2
    before = _worth_of(cpu, mem, other_cpu, other_mem, capacity, weights, known)
    cpu, mem = cpu - takes_cpu, mem - takes_mem
    other_cpu, other_mem = other_cpu - demand[0] + takes_cpu, other_mem - demand[1] + takes_mem
    return before - _worth_of(cpu, mem, other_cpu, other_mem, capacity, weights, known)


@lean
def _worth_of(
    cpu: int, mem: int, other_cpu: int, other_mem: int, capacity: Ints, weights: Floats, known: Floats
) -> float:
    """Compute the worth of a server with these quanta free on its nodes."""
    shares = cpu / capacity[0, 0], mem / capacity[0, 1], other_cpu / capacity[1, 0], other_mem / capacity[1, 1]
    return worth(*shares, weights) + room(cpu, mem, other_cpu, other_mem, known)
