"""Writes down what an agent saw and did while it learned, in its kernel: one row of numbers for each decision."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.agents.rules.random_numbers import drawn
from binwright.simcore.jit import kernel
from binwright.simcore.types import Amounts, Floats, Ints

ROWS, EPSILON, SLOTS, STOPS, SEED, DRAWN, HEAD = range(7)
"""Places in a tape's head: decisions so far; how often to explore; candidates in a row; 1 if a refusal ends the
episode; the random stream. Rows follow: how it went on, the choice, whether it is spread, the demand, the candidates
(-1 where there are fewer), and what is free.
"""
GOES_ON, ENDS, CUT = range(3)
"""How it went on: there is a next decision; a refusal ended the episode; neither is known."""


class Decisions(NamedTuple):
    """Holds n decisions in order, to be learned from.

    `fate` int8 [n], `code` int16 [n], `spread` bool [n], `demand` float32 [n, resources] quanta, `candidates` int16
    [n, slots], `free` float32 [n, servers, nodes, resources] quanta.
    """

    fate: npt.NDArray[np.int8]
    code: npt.NDArray[np.int16]
    spread: npt.NDArray[np.bool_]
    demand: npt.NDArray[np.float32]
    candidates: npt.NDArray[np.int16]
    free: npt.NDArray[np.float32]


def blank(rows: int, slots: int, capacity: Ints) -> Floats:
    """Make a tape for so many decisions."""
    return np.zeros(HEAD + rows * (3 + capacity.shape[2] + slots + capacity.size))


def wind(tape: Floats, epsilon: float, slots: int, stops: bool, seed: int) -> None:
    """Wind a tape back to its beginning; changes its head."""
    tape[:HEAD] = 0, epsilon, slots, stops, seed, 0


def read(tape: Floats, capacity: Ints) -> Decisions:
    """Return copies of the decisions on a tape."""
    rows, slots, resources = int(tape[ROWS]), int(tape[SLOTS]), capacity.shape[2]
    width = 3 + resources + slots + capacity.size
    table = tape[HEAD : HEAD + rows * width].reshape(rows, width)
    demand, listed = 3, 3 + resources
    return Decisions(
        table[:, 0].astype(np.int8),
        table[:, 1].astype(np.int16),
        table[:, 2] > 0,
        table[:, demand:listed].astype(np.float32),
        table[:, listed : listed + slots].astype(np.int16),
        table[:, listed + slots :].reshape(rows, *capacity.shape).astype(np.float32),
    )


@kernel
def exploring(codes: Ints, tape: Floats) -> int:
    """Return any candidate now and then, and -1 otherwise or where there is none; changes the tape's stream."""
    if not len(codes) or drawn(tape[SEED:HEAD]) >= tape[EPSILON]:
        return -1
    return int(codes[int(drawn(tape[SEED:HEAD]) * len(codes))])


@kernel
def write(free: Ints, demand: Amounts, spread: bool, codes: Ints, code: int, tape: Floats) -> None:
    """Add a decision, or without candidates an end, unless the tape is full; changes `tape`."""
    slots, resources = int(tape[SLOTS]), len(demand)
    width = 3 + resources + slots + free.size
    at = HEAD + int(tape[ROWS]) * width
    if at + width > len(tape):
        return
    if tape[ROWS] > 0 and tape[at - width] == CUT:
        tape[at - width] = GOES_ON if len(codes) else ENDS if tape[STOPS] > 0 else CUT
    if not len(codes):
        return
    tape[ROWS] += 1
    tape[at], tape[at + 1], tape[at + 2] = CUT, code, spread
    at += 3
    for r in range(resources):
        tape[at + r] = demand[r]
    at += resources
    for i in range(slots):
        tape[at + i] = codes[i] if i < len(codes) else -1
    at += slots
    for amount in free.flat:
        tape[at] = amount
        at += 1


@kernel
def returns(
    fate: npt.NDArray[np.int8], earned: Floats, rows: Ints, most: int, discount: float
) -> tuple[Floats, Ints, Floats]:
    """Add up what is earned from decisions `rows` [n] on, the next `most` of each if it goes on so long.

    Returns the discounted sums, the decisions after them, and how much these count: nothing where the episode is over.
    A decision that is not known to go on or to end is one after them.
    """
    sums, after, counts = np.zeros(len(rows)), np.empty(len(rows), np.int64), np.ones(len(rows))
    for i, row in enumerate(rows):
        at = row
        while at < row + most and fate[at] != CUT:
            sums[i] += counts[i] * earned[at]
            counts[i] *= discount
            if fate[at] == ENDS:
                counts[i] = 0.0
                break
            at += 1
        after[i] = at
    return sums, after, counts
