"""Finds the few places for a request that simple rules like best, for others to choose from: the top-k filter."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field

from binwright.agents.heuristics.servers.costs import best_fit, internal
from binwright.agents.rules.cheapest_place import write_taken
from binwright.agents.rules.random_stream import drawn
from binwright.agents.rules.scan import ScanAgent, places_with_room
from binwright.fabric.servers import fits_node, fits_spread
from binwright.simcore.errors import UserError
from binwright.simcore.jit import kernel, lean
from binwright.simcore.jit.cost_functions import at_place, bound_of, on_stack
from binwright.simcore.record import SPREAD
from binwright.simcore.types import Amounts, Floats, Ints, View

Filter: TypeAlias = Literal["none"] | dict[Literal["best-fit", "internal"], Annotated[int, Field(ge=0)]]
"""How many candidates each of two rules names; `none` stands for all places."""
MIXED: Filter = {"best-fit": 2, "internal": 3}


def counts(filter: Filter) -> tuple[int, int]:
    """Return how many candidates Best-Fit names, and how many `internal`; 0 and 0 stand for all places."""
    if filter == "none":
        return 0, 0
    named = filter.get("best-fit", 0), filter.get("internal", 0)
    if not any(named):
        remedy = "Say how many each names, {best-fit: 4, internal: 3}, or none for all places."
        raise UserError("names no candidates", key="filter", value=filter, remedy=remedy)
    return named


def first_places(rule: Any) -> Callable[..., int]:
    """Make a kernel of a rule of `cheapest`, whose costs are whole numbers: it finds the places that cost least."""
    of = rule.cost

    @lean
    def first(free: Ints, capacity: Ints, demand: Amounts, spread: bool, codes: Ints, keys: Ints, most: int) -> int:
        """Write the `most` first places to `codes`, and what they cost to `keys`; returns how many there are."""
        nodes, count = free.shape[1], 0
        taken = on_stack((nodes, nodes, len(demand)))
        write_taken(taken, demand, spread)
        for server in range(len(free) if most > 0 else 0):
            bound = bound_of(of(free[server], capacity[server], taken[0], 0))
            for node in range(1 if spread else nodes):
                if not (fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand)):
                    continue
                cost = of(free[server], capacity[server], taken[node], SPREAD if spread else node)
                key, order = at_place(cost, bound)
                place = count
                while place > 0 and (key, server, order) < (keys[place - 1, 0], keys[place - 1, 1], keys[place - 1, 2]):
                    codes[place] = codes[place - 1]
                    for part in range(3):
                        keys[place, part] = keys[place - 1, part]
                    place -= 1
                codes[place] = server * nodes + node
                keys[place, 0], keys[place, 1], keys[place, 2] = key, server, order
                count = min(count + 1, most)
        return count

    return first


_by_best_fit, _by_internal = first_places(best_fit), first_places(internal)


@kernel
def candidates(free: Ints, capacity: Ints, demand: Amounts, spread: bool, best: int, internal: int) -> Ints:
    """Return places on which the request fits, as codes of a `Scan`, int64 [any]; changes nothing.

    The `best` first ones in Best-Fit's order, then those of the `internal` first ones in the order of the agent
    `internal` that are not among them; as many as there are. All places by their number when both are 0.
    """
    if best + internal == 0:
        return places_with_room(free, demand, spread)
    codes, keys = np.empty(best + internal + 1, np.int64), np.empty((best + internal + 1, 3), np.int64)
    count = named = _by_best_fit(free, capacity, demand, spread, codes, keys, best)
    more = codes[named:]
    for place in range(_by_internal(free, capacity, demand, spread, more, keys, internal)):
        if not (codes[:named] == more[place]).any():
            codes[count] = more[place]
            count += 1
    return codes[:count]


@kernel
def random_top(free: Ints, capacity: Ints, demand: Amounts, spread: bool, how: Floats, stream: Floats) -> int:
    """Take, as a `Scan` with numbers, any of the candidates. `how` has the two counts; `stream` changes."""
    codes = candidates(free, capacity, demand, spread, int(how[0]), int(how[1]))
    return int(codes[int(drawn(stream) * len(codes))]) if len(codes) else -1


class RandomTop(ScanAgent):
    """One of the best places by Best-Fit and by `internal`, at random; `filter` says how many of each."""

    reference = "the control for CVD-RL's top-k filter (Sheng et al. 2025, arXiv:2503.00537)"
    scan = staticmethod(random_top)

    def __init__(self, filter: Filter = MIXED) -> None:
        self.numbers = np.array(counts(filter), np.float64), np.zeros(2)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Take the run's random stream: one number for every request that fits somewhere."""
        self.numbers[1][:] = int(rng.integers(2**53)), 0
        self.get_ready(view)
