"""Computes the networks of padrl: an LSTM that forecasts demand, and a policy that scores every place with it.

`weights` holds all of both, in the order of `SHAPES`. `memory` is what the LSTM remembers: its output, its cell and its
forecast; every request asked about is told to it, once per question.
"""

from __future__ import annotations

from math import exp, sqrt, tanh

import numpy as np
import numpy.typing as npt

from binwright.fabric.servers import fits_node, fits_spread
from binwright.simcore.jit import kernel, lean
from binwright.simcore.types import Amounts, Floats, Ints

ASKED, CELLS, FORECAST = 3, 8, 6
"""Numbers of a request, units of the LSTM, numbers that it forecasts."""
SHARED, PLACE, HIDDEN = ASKED + 2 + FORECAST, 8, 16
"""Inputs of the policy that all places share, inputs of each place, hidden units."""
SHAPES = {
    "lstm.weight_ih": (4 * CELLS, ASKED),
    "lstm.weight_hh": (4 * CELLS, CELLS),
    "lstm.bias": (4 * CELLS,),
    "forecast.weight": (FORECAST, CELLS),
    "forecast.bias": (FORECAST,),
    "shared.weight": (HIDDEN, SHARED),
    "shared.bias": (HIDDEN,),
    "place.weight": (HIDDEN, PLACE),
    "score.weight": (HIDDEN,),
}
SIZE = sum(int(np.prod(shape)) for shape in SHAPES.values())
AT_FORECAST = 4 * CELLS * (ASKED + CELLS + 1)
AT_POLICY = AT_FORECAST + FORECAST * (CELLS + 1)
MEMORY = 2 * CELLS + FORECAST
SHARED_FROM, SLOTS = 256, 4096
"""From how many servers on equal ones share a score, and the slots of the hash table by which they are found."""


@kernel
def sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + exp(-x))


@kernel
def asked(demand: Amounts, spread: bool, capacity: Ints, out: Floats) -> None:
    """Describe a request in `out` [ASKED]: the roots of its shares of the first node, and whether it is spread."""
    out[0] = sqrt(demand[0] / capacity[0, 0, 0])
    out[1] = sqrt(demand[1] / capacity[0, 0, 1])
    out[2] = 1.0 if spread else 0.0


@kernel
def remember(seen: Floats, weights: Floats, memory: Floats) -> None:
    """Tell the LSTM of a request, `seen` [ASKED]; changes `memory`."""
    gates = np.empty(4 * CELLS)
    at_hidden, at_bias = 4 * CELLS * ASKED, 4 * CELLS * (ASKED + CELLS)
    for gate in range(4 * CELLS):
        total = weights[at_bias + gate]
        for i in range(ASKED):
            total += weights[gate * ASKED + i] * seen[i]
        for i in range(CELLS):
            total += weights[at_hidden + gate * CELLS + i] * memory[i]
        gates[gate] = total
    for i in range(CELLS):  # torch's order: input, forget, cell, output
        cell = sigmoid(gates[CELLS + i]) * memory[CELLS + i] + sigmoid(gates[i]) * tanh(gates[2 * CELLS + i])
        memory[CELLS + i] = cell
        memory[i] = sigmoid(gates[3 * CELLS + i]) * tanh(cell)
    for k in range(FORECAST):
        total = weights[AT_FORECAST + FORECAST * CELLS + k]
        for i in range(CELLS):
            total += weights[AT_FORECAST + k * CELLS + i] * memory[i]
        memory[2 * CELLS + k] = total


@kernel
def share(free: Ints, capacity: Ints, seen: Floats, memory: Floats, out: Floats) -> None:
    """Write the inputs that all places share to `out` [SHARED]: request, free shares of the cluster, forecast."""
    out[:ASKED] = seen
    for r in range(2):
        left, there = 0, 0
        for server in range(len(free)):
            for node in range(2):
                left += free[server, node, r]
                there += capacity[server, node, r]
        out[ASKED + r] = left / there
    out[ASKED + 2 :] = memory[2 * CELLS :]


@kernel
def describe(free: Ints, capacity: Ints, demand: Amounts, spread: bool, server: int, node: int, out: Floats) -> bool:
    """Tell whether the request fits there, and if so describes the place in `out` [PLACE].

    These are the free shares of this node and of the other, cpu and mem, as they are and as they would be.
    """
    if spread:
        if node > 0 or not fits_spread(free, server, demand):
            return False
    elif not fits_node(free, server, node, demand):
        return False
    for n in range(2):
        where = node if n == 0 else 1 - node
        for r in range(2):
            taken = demand[r] if n == 0 else 0
            if spread:  # the first node takes the odd quanta
                taken = demand[r] - demand[r] // 2 if n == 0 else demand[r] // 2
            there, of = free[server, where, r], capacity[server, where, r]
            out[n * 2 + r] = there / of
            out[4 + n * 2 + r] = (there - taken) / of
    return True


@kernel
def begin_scores(shared: Floats, weights: Floats, common: Floats) -> None:
    """Write the part of the hidden layer that all places have in common to `common` [HIDDEN]."""
    at = AT_POLICY
    for j in range(HIDDEN):
        total = weights[at + HIDDEN * SHARED + j]
        for i in range(SHARED):
            total += weights[at + j * SHARED + i] * shared[i]
        common[j] = total


@kernel
def score(place: Floats, common: Floats, weights: Floats) -> float:
    """Score one place, `place` [PLACE]."""
    at = AT_POLICY + HIDDEN * (SHARED + 1)
    found = 0.0
    for j in range(HIDDEN):
        total = common[j]
        for i in range(PLACE):
            total += weights[at + j * PLACE + i] * place[i]
        found += weights[at + HIDDEN * PLACE + j] * max(total, 0.0)
    return found


@lean
def _is_alike(free: Ints, capacity: Ints, server: int, slots: Ints) -> bool:
    """Tell whether a server has the same free and capacity as the last one in its slot, and put it there.

    `slots` int64 [SLOTS] are servers by their hash, -1 for none. What another server has pushed out is scored again.
    """
    mixed = np.uint64(0)
    for node in range(2):
        for r in range(2):
            mixed = (mixed ^ np.uint64(free[server, node, r])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
    at = mixed % np.uint64(SLOTS)
    other, same = slots[at], slots[at] >= 0
    for node in range(2):
        for r in range(2):
            same &= free[other, node, r] == free[server, node, r]
            same &= capacity[other, node, r] == capacity[server, node, r]
    slots[at] = server
    return bool(same)


@lean
def highest_score(
    free: Ints,
    capacity: Ints,
    demand: Amounts,
    spread: bool,
    common: Floats,
    weights: Floats,
    place: Floats,
    slots: Ints,
) -> int:
    """Find the place with the highest score, the first of equals; -1 if there is none.

    `place` [PLACE] is scratch, and so is `slots` int64 [SLOTS], all -1: most servers of a run are equal, and of these
    one is scored. Without slots, int64 [0], all are.
    """
    best, highest = -1, -np.inf
    for server in range(len(free)):
        if len(slots) and _is_alike(free, capacity, server, slots):
            continue
        for node in range(2):
            if describe(free, capacity, demand, spread, server, node, place):
                found = score(place, common, weights)
                if found > highest:
                    best, highest = server * 2 + node, found
    return best


@kernel
def padrl(free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, memory: Floats) -> int:
    """Take, as a `Scan` for two nodes and two resources, the place with the highest score, the first of equals.

    `memory` float64 [MEMORY] changes.
    """
    seen, shared, common = np.empty(ASKED), np.empty(SHARED), np.empty(HIDDEN)
    asked(demand, spread, capacity, seen)
    remember(seen, weights, memory)
    share(free, capacity, seen, memory, shared)
    begin_scores(shared, weights, common)
    slots = np.full(SLOTS * (len(free) >= SHARED_FROM), -1, np.int64)
    return highest_score(free, capacity, demand, spread, common, weights, np.empty(PLACE), slots)


@kernel
def padrl_sampled(
    free: Ints, capacity: Ints, demand: Amounts, spread: bool, weights: Floats, memory: Floats, diary: Floats
) -> int:
    """Take each place with probability softmax(score), and write to the `diary` what was seen and done.

    `diary` float64: how many rows there are so far, and then rows as `rows_of` reads them, whose first number is a
    random one in [0, 1) before they are written. Answers nowhere once it is full.
    """
    places = 2 * len(free)
    width = 1 + SHARED + places * (1 + PLACE)
    number = int(diary[0])
    if 1 + (number + 1) * width > len(diary):
        return -1
    row = diary[1 + number * width : 1 + (number + 1) * width]
    seen, common, scores = np.empty(ASKED), np.empty(HIDDEN), np.full(places, -np.inf)
    asked(demand, spread, capacity, seen)
    remember(seen, weights, memory)
    share(free, capacity, seen, memory, row[1 : 1 + SHARED])
    begin_scores(row[1 : 1 + SHARED], weights, common)
    mask = row[1 + SHARED : 1 + SHARED + places]
    for code in range(places):
        place = row[1 + SHARED + places + code * PLACE : 1 + SHARED + places + (code + 1) * PLACE]
        mask[code] = 0.0
        if describe(free, capacity, demand, spread, code // 2, code % 2, place):
            mask[code] = 1.0
            scores[code] = score(place, common, weights)
    highest = scores.max()
    if highest == -np.inf:
        return -1
    chances = np.exp(scores - highest).cumsum()
    chosen = min(np.searchsorted(chances, row[0] * chances[-1], side="right"), places - 1)
    while mask[chosen] == 0.0:  # a sum that rounding kept below the random number
        chosen -= 1
    row[0] = chosen
    diary[0] = number + 1
    return int(chosen)


def diary_of(rows: int, servers: int) -> Floats:
    """Make a diary for so many decisions."""
    return np.zeros(1 + rows * _width(servers))


def begin_diary(diary: Floats, servers: int, rng: np.random.Generator) -> None:
    """Empty a diary, and give it new random numbers."""
    diary[0] = 0.0
    numbers = diary[1 :: _width(servers)]
    numbers[:] = rng.random(len(numbers))


def rows_of(diary: Floats, servers: int) -> tuple[Ints, Floats, npt.NDArray[np.bool_], Floats]:
    """Read actions [n], shared inputs [n, SHARED], places that fitted [n, places], their inputs [n, places, PLACE]."""
    places = 2 * servers
    rows = diary[1:].reshape(-1, _width(servers))[: int(diary[0])]
    parts = np.split(rows, [1, 1 + SHARED, 1 + SHARED + places], axis=1)
    there = parts[2] > 0
    return parts[0][:, 0].astype(np.int64), parts[1], there, parts[3].reshape(-1, places, PLACE)


def _width(servers: int) -> int:
    return 1 + SHARED + 2 * servers * (1 + PLACE)
