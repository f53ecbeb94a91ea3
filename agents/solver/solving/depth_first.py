"""Try all allocations of a small problem, ball after ball, in plain Python: nothing is compiled for it.

A unit goes into the first bin that takes it; where none does, the one before it goes into its next one. Units come by
index, as the verifier puts them in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from binwright.agents.solver.local.construct import Construction, Placed
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.random import DEPTH, below, stream, word
from binwright.agents.solver.model.tenants import Tenants


def suits(problem: Problem) -> bool:
    """Tell whether a problem is small enough."""
    return problem.balls * problem.bins <= 10_000


def allocations(problem: Problem, seed: int, over: Callable[[], bool]) -> Iterator[list[int]]:
    """Iterate over the right allocations of all balls [balls] until all have been tried, or time is `over`.

    That there is none proves nothing where UTILFN subtracts and a SOFT group may be over what it falls below again.
    """
    units, bins = len(problem.units), problem.bins
    state = Construction(problem, Tenants(problem.units, [None] * problem.balls), seed, lambda: False)
    turns = []
    for unit, now in enumerate(problem.unit_now.tolist()):  # where it is now, then from a random bin on and around
        first = below(stream(word(seed), DEPTH, unit), 0, bins)
        around = [(first + n) % bins for n in range(bins)]
        turns.append([*(place for place in around if place == now), *(place for place in around if place != now)])
    tried, placed = [0] * units, list[Placed]()
    while not over():
        depth = len(placed)
        if depth == units:
            if not state.is_over(placed):
                yield state.where[:]
        elif tried[depth] < bins:
            part = state.put_unit(depth, turns[depth][tried[depth]])
            tried[depth] += 1
            if part is not None:
                placed.append(part)
            continue
        elif depth == 0:
            return
        else:
            tried[depth] = 0
        state.move(placed.pop(), out=True)
