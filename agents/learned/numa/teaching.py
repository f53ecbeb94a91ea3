"""Says which of an agent's candidates another one would have taken: what a learner imitates first."""

from __future__ import annotations

import numpy as np

from agents.learned.numa.tape import Decisions
from simcore.vocabulary import Compiled, Ints


def taught(decisions: Decisions, capacity: Ints, teacher: Compiled) -> Ints:
    """Find the teacher's choice among the candidates of each decision, int64 [n]; -1 where it is not among them."""
    found = np.full(len(decisions.code), -1)
    for row in range(len(found)):
        demand = tuple(decisions.demand[row].astype(np.int64).tolist())
        free = decisions.free[row].astype(np.int64)
        code = teacher.scan(free, capacity, demand, bool(decisions.spread[row]), *teacher.weights)
        places = np.flatnonzero(decisions.candidates[row] == code)
        if code >= 0 and len(places):
            found[row] = places[0]
    return found
