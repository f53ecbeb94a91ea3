"""Says again what movers plan, as slow and obvious rules."""

import copy
from itertools import combinations

from tests.reference.engine import SPREAD, Demand, Room, Where, fits, shares
from tests.reference.moving import Runs


def hold(free: Room, demand: Demand, spread: bool, where: Where, sign: int) -> None:
    """Give back what a request holds (sign 1), or take it (sign -1)."""
    for server, node, amounts in shares(demand, spread, where, len(free[0])):
        for r, amount in enumerate(amounts):
            free[server][node][r] += sign * amount


def places(free: Room, spread: bool) -> list[Where]:
    """List all places in order."""
    return [(s, n) for s in range(len(free)) for n in ([SPREAD] if spread else range(len(free[s])))]


def make_room(free: Room, running: Runs, most: int, wanted: Demand, spread: bool) -> list[tuple[int, Where]]:
    """Find the fewest moves off one place, in the order of their rows, after which a request fits there."""
    for count in range(1, most + 1):
        for place in places(free, spread):
            here = [one for one in running if one[1][0] == place[0]]
            for some in combinations(here, count):
                without = copy.deepcopy(free)
                for _, where, demand, wide in some:
                    hold(without, demand, wide, where, +1)
                if fits(without, wanted, spread, place):
                    found = _send(copy.deepcopy(free), list(some), wanted, spread, place)
                    if found is not None:
                        return found
    return []


def _send(free: Room, some: Runs, wanted: Demand, spread: bool, place: Where) -> list[tuple[int, Where]] | None:
    """Find the first places to which these can go, one after another, so that there is room at the place."""
    if not some:
        return [] if fits(free, wanted, spread, place) else None
    row, own, demand, wide = some[0]
    for where in places(free, wide):
        if where != own and fits(free, demand, wide, where):
            after = copy.deepcopy(free)
            hold(after, demand, wide, where, -1)
            hold(after, demand, wide, own, +1)
            rest = _send(after, some[1:], wanted, spread, place)
            if rest is not None:
                return [(row, where), *rest]
    return None
