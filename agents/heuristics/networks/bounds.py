"""Bounds what Best-Home still has to find, so that it looks only where somebody can be better.

A request is divided among servers. What one of them gives is a share of each resource. What makes the server less
stranded is at most the difference between the most and the least of these; the rest is *plain*: nothing is earned by
it. A server that gives one resource only gives at most a whole share; one that gives more gives part of it plainly. So
either many servers are needed, each with a link of its own, or much is given plainly.

All numbers are whole, so that homes which cost just as much as the best are told apart from those that may be cheaper.
Only where shares had to be rounded (`Homes.rough`) the bounds leave room for that.
"""

from __future__ import annotations

from math import floor, inf

from agents.heuristics.networks.homes import (
    LEVELS,
    MOST,
    SERVER,
    STRONG,
    WHOLE,
    CostWeights,
    Homes,
    holds,
    is_rounded,
    level_of,
    share,
)
from simcore.jit import lean, lean_inlined
from simcore.vocabulary import Amounts, Ints


@lean_inlined
def can_better(homes: Homes, level: int, at: int, complete: bool, value: int) -> bool:
    """Tell whether any server below a place of the tree may complete the request where it is not, or be worth more."""
    tree, wanted, weights = homes.tree[level], homes.wanted, homes.weights
    resources = len(wanted)
    if tree[at, resources + 1] < 0:
        return False
    if complete != holds(tree, at, homes.network.room.need):
        return not complete
    given, least, most = 0, SERVER, 0
    for r in range(resources):
        taken = min(tree[at, resources + 2 + r], wanted[r])
        given, least, most = given + taken, min(least, taken), max(most, taken)
    apart = tree[at, 2 * resources + 2]
    returned = min(apart, most)
    if weights.stranded <= WHOLE:  # otherwise it may be worth more to give less
        returned = min(apart, most - least, 2 * apart - (most - least))
    bound = WHOLE * given + weights.stranded * returned
    bound += weights.cut_off * tree[at, 2 * resources + 3]
    return bool(min(bound, tree[at, resources + 1]) > value)


@lean_inlined
def servers_of(need: Ints, most: Ints) -> int:
    """Return how many of the largest servers are needed at least."""
    servers = 1
    for r in range(len(need)):
        if most[r] > 0:
            servers = max(servers, -(-need[r] // most[r]))
    return int(servers)


@lean_inlined
def link_of(homes: Homes, bandwidth: int) -> int:
    """Return what a server's own link costs at least."""
    return int(min(homes.weights.links, homes.weights.uplinks) * share(bandwidth, homes.most[-1]))


@lean
def to_come(homes: Homes, bandwidth: int, chosen: int) -> int:
    """Return what servers, and their own links, cost at least that are still to be chosen. So many are chosen.

    What is needed is in `wanted`, too.
    """
    servers, link = servers_of(homes.network.room.need, homes.most), link_of(homes, bandwidth)
    if chosen == 0 and servers == 1:  # one server alone needs no link
        return multiple(homes, 0, apart_in(homes, 0, 1), 1, 0)
    # The first server's own link is still to be taken when the second is.
    apart = apart_in(homes, level_of(homes, bandwidth), 1)
    return multiple(homes, link, apart, servers, 0) + (link if chosen == 1 else 0)


@lean_inlined
def apart_in(homes: Homes, level: int, at: int) -> int:
    """Return how much of a server below a place of the tree is stranded at most, of those of a level."""
    return int(max(0, homes.tree[level, at, 2 * len(homes.wanted) + 2]))


@lean
def multiple(homes: Homes, link: int, apart: int, servers: int, plain: int) -> int:
    """Return what giving all that is `wanted` costs at least: by so many servers or more, so much of it plainly.

    Each takes a link, and has at most so much stranded. More servers cost more links, and have to give less plainly: of
    these sums, which are convex, it is the least.
    """
    wanted, weights, resources = homes.wanted, homes.weights, len(homes.wanted)
    given, most = 0, 0
    for r in range(resources):
        given += wanted[r]
        most += -(-wanted[r] // SERVER)
    rounded = 4 * resources * (weights.stranded + weights.cut_off + link // SERVER + 1) if homes.rough[0] else 0
    if link < rounded:  # rounding might pay for links
        return -(weights.stranded + weights.cut_off) * (given + 2 * homes.parts.size)
    link -= rounded
    if apart > 0:  # from so many on none is kept from becoming less stranded by having little stranded
        most = max(most, -(-given // apart))
    low, high = servers, max(servers, min(most, len(homes.order), MOST // max(1, 2 * link)))
    while low < high:
        middle = (low + high) // 2
        if _sum(homes, link, apart, given, plain, middle) <= _sum(homes, link, apart, given, plain, middle + 1):
            high = middle
        else:
            low = middle + 1
    return int(_sum(homes, link, apart, given, plain, low) - weights.cut_off * given - 2 * rounded)


@lean_inlined
def _sum(homes: Homes, link: int, apart: int, given: int, plain: int, servers: int) -> int:
    """Return what so many servers cost at least: their links, less the most that they can become less stranded.

    A server that gives more of one resource than of another by more than is stranded, becomes stranded the other way.
    """
    wanted, returned = homes.wanted, given - max(plain, plain_at_least(homes.wanted, servers))
    returned = min(returned, servers * apart)
    if len(wanted) == 2:
        returned = min(returned, 2 * servers * apart - abs(wanted[0] - wanted[1]))
    return int(servers * link - homes.weights.stranded * returned)


@lean_inlined
def plain_at_least(wanted: Ints, servers: int) -> int:
    """Return how much of what is wanted is given plainly at least by so many servers.

    Of two resources every server gives more of one: some of the first, and the rest of the other. What these can't
    give, a whole share each, the others give as well; that is plain, and so is as much of what they give most of.
    """
    if len(wanted) != 2:
        return int(max(0, wanted.sum() - servers * SERVER))
    least = MOST
    for more in range(2):
        first = min(servers, wanted[0] // SERVER + more)
        least = min(least, max(0, wanted[0] - first * SERVER) + max(0, wanted[1] - (servers - first) * SERVER))
    return int(2 * least)


@lean
def bound_plain(homes: Homes, demand: Amounts, bandwidth: int) -> None:
    """Write to `plain` how much homes give plainly at least, where that is known: of two resources.

    The first servers come from home as long as it has one with the bandwidth. Of all that work the one is chosen that
    is worth most: as much, at least, as any of the `strong` that is left. What is worth so much gives much plainly.
    """
    most, weights, wanted, plain, strong = homes.most, homes.weights, homes.wanted, homes.plain, homes.strong
    for r in range(len(wanted)):
        homes.rough[0] |= is_rounded(demand[r], most[r])
    plain[:] = 0.0
    level = -(-LEVELS * bandwidth // max(1, most[-1]))
    above = float(WHOLE + weights.cut_off - weights.stranded)
    before = min(STRONG, servers_of(homes.network.room.need, most) - 1)
    if len(wanted) != 2 or strong.shape[3] == 0 or level > LEVELS or above <= 0.0:
        return
    known, rough = strong[level], homes.rough[0]
    largest = min(SERVER, max(wanted[0], wanted[1]) + rough)
    top = float((WHOLE + weights.cut_off + weights.stranded) * largest)
    for turn in range(before):
        one = float(max(0, wanted[0] - turn * (SERVER + rough)))
        other = float(max(0, wanted[1] - turn * (SERVER + rough)))
        last = known[turn]
        for rack in range(len(plain)):
            value = worth_at_least(weights, float(last[0, rack]), float(last[1, rack]), one, other)
            for earlier in range(turn):
                first = known[earlier]
                value = min(value, worth_at_least(weights, float(first[0, rack]), float(first[1, rack]), one, other))
            plain[rack] += max(0.0, floor((value - top) * 2.0 / above))


@lean_inlined
def worth_at_least(weights: CostWeights, one: float, other: float, wanted: float, wanted_other: float) -> float:
    """Return what a server with such shares of two resources is worth at least, when so much is wanted of them."""
    left, left_other = max(0.0, one - wanted), max(0.0, other - wanted_other)
    lost = (weights.leftover + weights.cut_off) * (left + left_other)
    stranded = abs(left - left_other) - abs(one - other)
    return WHOLE * (one + other - left - left_other) - weights.stranded * stranded - lost


@lean
def at_least(homes: Homes, rack: int, bandwidth: int) -> int:
    """Return what placing the request costs at least with a rack as home; `bound_plain` comes before.

    If not all servers come from home, a link leads there and another away: then none there is left that gives anything.
    """
    wanted, need, tree, resources = homes.wanted, homes.network.room.need, homes.tree, len(homes.wanted)
    level, enough = level_of(homes, bandwidth), -(-LEVELS * bandwidth // max(1, homes.most[-1]))
    at, link, apart = tree.shape[1] // 2 + rack, link_of(homes, bandwidth), apart_in(homes, level, 1)
    servers, stays, comes, giving = servers_of(need, homes.most), True, False, MOST
    for r in range(resources):
        stays &= tree[level, at, 2 * resources + 4 + r] + homes.rough[0] * len(homes.order) >= wanted[r]
        if need[r] > 0 and enough < len(tree):
            comes |= tree[enough, at, 3 * resources + 4 + r] > 0
            giving = min(giving, max(0, tree[enough, at, 3 * resources + 4 + r]))
    if servers == 1:
        several = multiple(homes, link, apart, 2, 0)
        if holds(tree[0], at, need):
            one = alone(homes, at)
            return one if is_held(homes, rack) else min(one, several, alone(homes, 1))
        return several if comes else min(several, alone(homes, 1))
    if not comes:
        return multiple(homes, link, apart, servers, 0)
    plain = int(homes.plain[rack])
    found = multiple(homes, link, apart, max(servers, giving + 1), plain)
    if homes.network.routes.planes > 0:
        found += 2 * homes.weights.uplinks * share(bandwidth, homes.most[-1])
    if stays:
        found = min(found, multiple(homes, link, apart_in(homes, level, at), servers, plain))
    return found


@lean
def alone(homes: Homes, at: int) -> int:
    """Return what one server below a place of the tree costs at least that holds the whole request."""
    weights, wanted, resources = homes.weights, homes.wanted, len(homes.wanted)
    low, high, given = MOST, 0, 0
    for r in range(resources):
        low, high, given = min(low, wanted[r]), max(high, wanted[r]), given + wanted[r]
    returned = min(apart_in(homes, 0, at), high - low + 4 * homes.rough[0])
    return int(-weights.stranded * returned - weights.cut_off * (given + 4 * resources * homes.rough[0]))


@lean
def is_held(homes: Homes, rack: int) -> bool:
    """Tell whether one of the `strong` servers of a rack holds the whole request; rounded shares can't tell."""
    strong, wanted = homes.strong, homes.wanted
    for one in range(STRONG if strong.shape[3] > 0 and not homes.rough[0] else 0):
        held = True
        for r in range(len(wanted)):
            held &= bool(strong[0, one, r, rack] >= wanted[r])
        if held:
            return True
    return False


@lean
def plain_enough(homes: Homes, bandwidth: int, limit: int) -> float:
    """Return how much has to be given plainly for the cost not to be below a limit; infinity if that never happens."""
    link, servers = link_of(homes, bandwidth), servers_of(homes.network.room.need, homes.most)
    apart, low, high = apart_in(homes, level_of(homes, bandwidth), 1), 0, homes.wanted.sum()
    if servers == 1 or multiple(homes, link, apart, servers, high) < limit:
        return inf
    while low < high:
        middle = (low + high) // 2
        if multiple(homes, link, apart, servers, middle) >= limit:
            high = middle
        else:
            low = middle + 1
    return float(low)
