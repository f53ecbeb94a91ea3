"""Bounds what Best-Home still has to find, so that it looks only where somebody can be better.

A request is divided among servers. What one of them gives is a share of each resource. What makes the server less
stranded is at most the difference between the most and the least of these; the rest is *plain*: nothing is earned by
it. A server that gives one resource only gives at most a whole share; one that gives more gives part of it plainly. So
either many servers are needed, each with a link of its own, or much is given plainly.

All numbers are whole, and floats hold them (but for extreme weights and huge requests), so that homes which cost
just as much as the best are told apart from those that may be cheaper. Only where shares had to be rounded
(`Homes.rough`) the bounds leave room for that.
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
from fabric.topology import Indices
from simcore.jit import lean, lean_inlined
from simcore.vocabulary import Ints

EXACT = 2.0**53
"""Floats are whole numbers up to here."""


@lean
def can_better(tree: Ints, weights: CostWeights, need: Ints, wanted: Ints, at: int, complete: bool, value: int) -> bool:
    """Tell whether any server below a place of the tree may complete the request where it is not, or be worth more.

    `tree` is one level of `Homes.tree`.
    """
    resources = len(wanted)
    if tree[at, resources + 1] < 0:
        return False
    if complete != holds(tree, at, need):
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


@lean
def servers_of(need: Ints, most: Ints) -> int:
    """Return how many of the largest servers are needed at least."""
    servers = 1
    for r in range(len(need)):
        if most[r] > 0:
            servers = max(servers, -(-need[r] // most[r]))
    return int(servers)


@lean_inlined
def link_of(weights: CostWeights, wide: int) -> float:
    """Return what a server's own link costs at least, for a share of the widest."""
    return float(min(weights.links, weights.uplinks)) * wide


@lean
def to_come(homes: Homes, bandwidth: int, chosen: int) -> float:
    """Return what servers, and their own links, cost at least that are still to be chosen. So many are chosen.

    What is needed is in `wanted`, too.
    """
    weights, wanted, tree = homes.weights, homes.wanted, homes.tree
    servers, link = servers_of(homes.network.room.need, homes.most), link_of(weights, share(bandwidth, homes.most[-1]))
    alone = chosen == 0 and servers == 1  # one server alone needs no link
    if homes.strong.shape[3] > 0:
        apart = apart_in(tree, 0 if alone else level_of(len(tree), bandwidth, homes.most[-1]), 1)
        least = multiple(wanted, weights, homes.rough[0], len(homes.order), 0.0 if alone else link, apart, servers, 0)
    else:  # of few servers the shorter bound is the better one
        least, refund = 0.0 if alone else servers * link, float(weights.stranded + weights.cut_off)
        for r in range(len(wanted)):
            least -= refund * (wanted[r] + 2 * len(homes.order))
    # The first server's own link is still to be taken when the second is.
    return least + link if chosen == 1 else least


@lean_inlined
def apart_in(tree: Ints, level: int, at: int) -> int:
    """Return how much of a server below a place of `Homes.tree` is stranded at most, of those of a level."""
    return int(max(0, tree[level, at, tree.shape[2] // 2]))


@lean
def multiple(
    wanted: Ints, weights: CostWeights, rough: bool, count: int, link: float, apart: int, servers: int, plain: int
) -> float:
    """Return what giving all that is wanted costs at least: by so many servers or more, so much of it plainly.

    Each takes a link, and has at most so much stranded; the network has `count`. More servers cost more links, and have
    to give less plainly: of these sums, which are convex, it is the least.
    """
    given, most, resources, refund = 0, 0, len(wanted), float(weights.stranded + weights.cut_off)
    for r in range(resources):
        given += wanted[r]
        most += -(-wanted[r] // SERVER)
    rounded = 4.0 * resources * (refund + link / SERVER + 1.0) if rough else 0.0
    if link < rounded:  # rounding might pay for links
        return -refund * (given + 2.0 * resources * count)
    link -= rounded
    if apart > 0:  # from so many on none is kept from becoming less stranded by having little stranded
        most = max(most, -(-given // apart))
    low, high, stranded = servers, max(servers, min(most, count)), float(weights.stranded)
    while low < high:
        middle = (low + high) // 2
        if _sum(wanted, stranded, link, apart, given, plain, middle) <= _sum(
            wanted, stranded, link, apart, given, plain, middle + 1
        ):
            high = middle
        else:
            low = middle + 1
    least = _sum(wanted, stranded, link, apart, given, plain, low) - weights.cut_off * float(given) - 2.0 * rounded
    largest = low * link + refund * given
    return least if largest < EXACT else least - 1e-12 * largest


@lean
def _sum(wanted: Ints, stranded: float, link: float, apart: int, given: int, plain: int, servers: int) -> float:
    """Return what so many servers cost at least: their links, less the most that they can become less stranded.

    A server that gives more of one resource than of another by more than is stranded, becomes stranded the other way.
    """
    returned = min(given - max(plain, plain_at_least(wanted, servers)), servers * apart)
    if len(wanted) == 2:
        returned = min(returned, 2 * servers * apart - abs(wanted[0] - wanted[1]))
    return servers * link - stranded * returned


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
def bound_plain(homes: Homes, bandwidth: int) -> None:
    """Write to `plain` how much homes give plainly at least, where that is known: of two resources.

    The first servers come from home as long as it has one with the bandwidth. Of all that work the one is chosen that
    is worth most: as much, at least, as any of the `strong` that is left. What is worth so much gives much plainly.
    """
    most, weights, wanted, plain, strong = homes.most, homes.weights, homes.wanted, homes.plain, homes.strong
    plain[:] = 0.0
    for r in range(len(wanted)):
        homes.rough[0] |= is_rounded(homes.network.room.need[r], most[r])
    level = -(-LEVELS * bandwidth // max(1, most[-1]))
    above = float(WHOLE + weights.cut_off - weights.stranded)
    before = min(STRONG, servers_of(homes.network.room.need, most) - 1)
    if len(wanted) != 2 or level > LEVELS or above <= 0.0:
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
def at_least(homes: Homes, rack: int, bandwidth: int) -> float:
    """Return what placing the request costs at least with a rack as home; `bound_plain` comes before.

    If not all servers come from home, a link leads there and another away: then none there is left that gives anything.
    """
    wanted, need, tree, weights = homes.wanted, homes.network.room.need, homes.tree, homes.weights
    wide, rough, count = share(bandwidth, homes.most[-1]), homes.rough[0], len(homes.order)
    level, enough = level_of(len(tree), bandwidth, homes.most[-1]), -(-LEVELS * bandwidth // max(1, homes.most[-1]))
    at, link, apart = tree.shape[1] // 2 + rack, link_of(weights, wide), apart_in(tree, level, 1)
    servers, stays, comes, giving, sums = servers_of(need, homes.most), True, False, MOST, 2 * len(wanted) + 4
    for r in range(len(wanted)):
        stays &= tree[level, at, sums + r] + rough * count >= wanted[r]
        if need[r] > 0 and enough < len(tree):
            comes |= tree[enough, at, sums + len(wanted) + r] > 0
            giving = min(giving, max(0, tree[enough, at, sums + len(wanted) + r]))
    plain, least, between = int(homes.plain[rack]), inf, 0.0
    if servers > 1 and comes:
        if stays:
            least = multiple(wanted, weights, rough, count, link, apart_in(tree, level, at), servers, plain)
        if homes.network.routes.planes > 0:
            between = 2.0 * weights.uplinks * wide
        servers = max(servers, giving + 1)
    elif servers == 1:
        alone = holds(tree[0], at, need)
        if alone:
            least = one_costs(wanted, weights, rough, apart_in(tree, 0, at))
            if is_held(homes.strong[0], wanted, rack, rough):
                return least
        if alone or not comes:  # one of another rack may hold it all
            least = min(least, one_costs(wanted, weights, rough, apart_in(tree, 0, 1)))
    return min(least, between + multiple(wanted, weights, rough, count, link, apart, max(2, servers), plain))


@lean
def one_costs(wanted: Ints, weights: CostWeights, rough: bool, apart: int) -> float:
    """Return what one server costs at least that holds the whole request, and has at most so much stranded."""
    low, high, given = MOST, 0, 0
    for r in range(len(wanted)):
        low, high, given = min(low, wanted[r]), max(high, wanted[r]), given + wanted[r]
    returned = min(apart, high - low + 4 * rough)
    return float(-weights.stranded * returned - weights.cut_off * (given + 4 * len(wanted) * rough))


@lean
def is_held(strong: Indices, wanted: Ints, rack: int, rough: bool) -> bool:
    """Tell whether one of a rack's `strong` servers, of level 0, holds the whole request; rounded shares can't tell."""
    for one in range(0 if rough else STRONG):
        held = True
        for r in range(len(wanted)):
            held &= bool(strong[one, r, rack] >= wanted[r])
        if held:
            return True
    return False


@lean
def plain_enough(homes: Homes, bandwidth: int, limit: float) -> float:
    """Return how much has to be given plainly for the cost not to be below a limit; infinity if that never happens."""
    wanted, weights, rough, count, tree = homes.wanted, homes.weights, homes.rough[0], len(homes.order), homes.tree
    link, servers = link_of(weights, share(bandwidth, homes.most[-1])), servers_of(homes.network.room.need, homes.most)
    apart, low, high = apart_in(tree, level_of(len(tree), bandwidth, homes.most[-1]), 1), 0, wanted.sum() + 1
    while servers > 1 and low < high:
        middle = (low + high) // 2
        if multiple(wanted, weights, rough, count, link, apart, servers, middle) >= limit:
            high = middle
        else:
            low = middle + 1
    return float(low) if servers > 1 and low <= wanted.sum() else inf
