"""What an attempt of the published search on processors writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.solver.backends.flat import Sizes
from agents.solver.model.problem import Problem
from agents.solver.model.program import NULL
from simcore.vocabulary import Ints


class Room(NamedTuple):
    """What an attempt writes: utilisation [dims], ALLOC [balls], unplaced and placed units [units], additions, members
    over their capacity [soft groups] and behind them the elastic dimensions over their ceiling, imposed sets [sets],
    and the best allocation of a search [balls]. Units that wishes join are a chain: by its first one, `chain`, and the
    next one, `after`, -1 at the end [units each]. `stop` [1] is set from outside: what is left then stays unplaced."""

    used: Ints
    alloc: Ints
    left: Ints
    placed: Ints
    dims: Ints
    amounts: Ints
    over: Ints
    imposed: Ints
    best: Ints
    chain: Ints
    after: Ints
    stop: Ints


def room(problem: Problem) -> Room:
    """For one search at a time."""
    sizes = Sizes.of_problem(problem)
    lengths = (sizes.dims, sizes.balls, sizes.units, sizes.units, sizes.adds, sizes.adds, sizes.soft + 1, sizes.sets)
    found = Room(*(np.zeros(length, np.int64) for length in (*lengths, sizes.balls, sizes.units, sizes.units, 1)))
    found.after[:] = NULL
    return found
