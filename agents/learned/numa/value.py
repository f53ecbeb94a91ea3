"""Computes what a server of two NUMA nodes is worth by what is free on it; takes places that leave most worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from binwright.agents.learned.numa.remaining_fits import room
from binwright.agents.rules.cheapest_place import cheapest
from binwright.fabric.compiled.numa_replay import Replay
from binwright.simcore.jit import kernel, lean
from binwright.simcore.types import Floats, Ints

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
def value_es(free: Ints, capacity: Ints, taken: Ints, node: int, weights: Floats, known: Floats) -> float:
    """Costs the worth that the server loses, one of two nodes and two resources.

    `weights` float64 [SIZE] are of the shares that are free, `known` float64 [any] of the requests that still fit, as
    `known_sizes` has them.
    """
    before = _worth_of(free[0, 0], free[0, 1], free[1, 0], free[1, 1], capacity, weights, known)
    return before - _worth_of(*_after(free, taken), capacity, weights, known)


@lean
def _after(free: Ints, taken: Ints) -> tuple[int, int, int, int]:
    """Return what is left of cpu and mem on both nodes."""
    return free[0, 0] - taken[0, 0], free[0, 1] - taken[0, 1], free[1, 0] - taken[1, 0], free[1, 1] - taken[1, 1]


@lean
def _worth_of(
    cpu: int, mem: int, other_cpu: int, other_mem: int, capacity: Ints, weights: Floats, known: Floats
) -> float:
    """Compute the worth of a server with these quanta free on its nodes."""
    shares = cpu / capacity[0, 0], mem / capacity[0, 1], other_cpu / capacity[1, 0], other_mem / capacity[1, 1]
    return worth(*shares, weights) + room(cpu, mem, other_cpu, other_mem, known)


HEAD = 4
"""Numbers at the head of a table: the grains of cpu and mem; in how many states a node may be by mem, and in all."""
LARGEST = 100_000
"""States of a server of which a table is made at most."""


def grains_of(replays: Sequence[Replay]) -> Ints | None:
    """Return of which amounts of cpu and mem all that requests take of a node is a multiple, int64 [2].

    Then few different amounts can be free, and a table can hold what each state of a server is worth. `None` where
    servers differ, rules of placement hide some, or there are too many states.
    """
    capacity = replays[0].capacity
    if (capacity != capacity[0]).any() or any(replay.has_rules for replay in replays):
        return None
    grains: Ints = np.maximum(np.gcd.reduce([np.gcd.reduce(replay.takes(), axis=0) for replay in replays]), 1)
    return grains if float(np.prod(capacity[0].max(axis=0) // grains + 1)) ** 2 <= LARGEST else None


def table_of(weights: Floats, known: Floats, capacity: Ints, grains: Ints) -> Floats:
    """Return what each state of a server is worth by what `value_es` takes, for `value_es_by_table`: float64 [any].

    All servers have this capacity, int64 [2 nodes, 2 resources].
    """
    states = capacity.max(axis=0) // grains + 1
    table = np.concatenate([grains, [states[1], states.prod()], np.empty(states.prod() ** 2)])
    _fill(table, weights, known, capacity, capacity % grains)
    return table


@kernel
def _fill(table: Floats, weights: Floats, known: Floats, capacity: Ints, rest: Ints) -> None:
    cpu_grain, mem_grain, by_mem, states = int(table[0]), int(table[1]), int(table[2]), int(table[3])
    for first in range(states):
        cpu, mem = first // by_mem * cpu_grain + rest[0, 0], first % by_mem * mem_grain + rest[0, 1]
        for second in range(states):
            other_cpu = second // by_mem * cpu_grain + rest[1, 0]
            other_mem = second % by_mem * mem_grain + rest[1, 1]
            table[HEAD + first * states + second] = _worth_of(cpu, mem, other_cpu, other_mem, capacity, weights, known)


@cheapest
def value_es_by_table(free: Ints, capacity: Ints, taken: Ints, node: int, table: Floats) -> float:
    """Costs what `value_es` says, and looks up in a table what servers are worth."""
    before = _worth_in(free[0, 0], free[0, 1], free[1, 0], free[1, 1], table)
    return before - _worth_in(*_after(free, taken), table)


@lean
def _worth_in(cpu: int, mem: int, other_cpu: int, other_mem: int, table: Floats) -> float:
    cpu_grain, mem_grain, by_mem, states = int(table[0]), int(table[1]), int(table[2]), int(table[3])
    first = cpu // cpu_grain * by_mem + mem // mem_grain
    second = other_cpu // cpu_grain * by_mem + other_mem // mem_grain
    found: float = table[HEAD + first * states + second]
    return found
