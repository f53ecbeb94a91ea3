"""Every agent for networks as the slow, obvious rule over lists, in exact arithmetic: what the kernels must equal.

A `Case` is all that an agent may see. Each rule says which server it would take next, given those chosen so far and
what is still needed; `provision` does the rest. `min` and `max` keep the first of equals, which is the tie rule.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import TypeAlias

from binwright.fabric.topology import Topology
from tests.reference.routes import turn

Demand: TypeAlias = tuple[int, ...]
Link: TypeAlias = int
Pick: TypeAlias = Callable[[list[int], list[int]], int | None]
"""(servers chosen, still needed) -> the next server."""


@dataclass
class Case:
    """A network with what is free [servers][nodes][resources] and on links, and a request."""

    topology: Topology
    capacity: list[list[list[int]]]
    free: list[list[list[int]]]
    link_free: list[int]
    demand: Demand
    bandwidth: int
    weighted: bool
    masked: bool
    k: int = 3

    @cached_property
    def rack(self) -> list[int]:
        """Of every server."""
        return [int(rack) for rack in self.topology.rack_of]

    @cached_property
    def near(self) -> dict[int, list[tuple[int, Link]]]:
        """Neighbours of every vertex, servers first, then switches, and the links to them."""
        switches = self.topology.switches
        found: dict[int, list[tuple[int, Link]]] = {v: [] for v in range(switches + len(self.rack))}
        for link, (one, other) in enumerate(self.topology.link_ends.tolist()):
            found[one].append((other, link))
            found[other].append((one, link))
        for vertex in found:
            found[vertex].sort(key=lambda hop: (hop[0] < switches, hop[0]))
        return found

    def length(self, links: list[Link]) -> int:
        """What weighted paths are sorted by, before hops."""
        return sum(self.link_free[link] for link in links) if self.weighted else 0

    def paths(self, a: int, b: int) -> list[list[Link]]:
        """The first K simple paths between racks through switches, from the lower rack.

        They are sorted by (length, hops, turn, vertices), weighted ones without turns. Weighted ones avoid what has
        failed, unless there is none.
        """

        def walk(path: list[int], links: list[Link]) -> Iterator[tuple[int, int, int, list[int], list[Link]]]:
            if path[-1] == max(a, b):
                yield self.length(links), len(path), turn(self.topology, path), path, links
                return
            for vertex, link in self.near[path[-1]]:
                if vertex < self.topology.switches and vertex not in path:
                    yield from walk([*path, vertex], [*links, link])

        every = sorted(walk([min(a, b)], []))
        if self.weighted:
            by_vertices = sorted(every, key=lambda path: (*path[:2], path[3]))
            around = [path for path in by_vertices if all(self.link_free[link] >= 0 for link in path[-1])]
            every = around or sorted(every, key=lambda path: path[1:])
        found = [path[-1] for path in every[: self.k]]
        return found if a < b else [links[::-1] for links in found]

    def routes(self, s: int, t: int) -> list[list[Link]]:
        """As links, in order of preference."""
        return [[s, *links, t] for links in self.paths(self.rack[s], self.rack[t])]

    def route(self, s: int, t: int) -> list[Link] | None:
        """The one to take, if any works."""
        working = (
            route for route in self.routes(s, t) if all(self.link_free[link] >= self.bandwidth for link in route)
        )
        return next(working, None)

    def works(self, server: int, chosen: list[int]) -> bool:
        """Has this server a working route to all of these?"""
        return all(self.route(other, server) is not None for other in chosen)

    def tier(self, s: int, t: int) -> str:
        """Where the bandwidth is missing: at the later server, at the earlier one, or first on the way."""
        route = self.routes(s, t)[0]
        link = next(link for link in (route[-1], *route) if self.link_free[link] < self.bandwidth)
        return str(self.topology.tiers[self.topology.link_tier[link]])

    def there(self, server: int) -> list[int]:
        """What a server has free, over all nodes."""
        return [sum(amounts) for amounts in zip(*self.free[server], strict=True)]

    def wire(self, server: int) -> int:
        """What its link has free."""
        return self.link_free[server]

    @cached_property
    def largest(self) -> tuple[list[int], int]:
        """The most that a server has of each resource; the widest link of a server."""
        sizes = [[sum(amounts) for amounts in zip(*server, strict=True)] for server in self.capacity]
        wires = [
            int(self.topology.link_capacity[link])
            for link, (low, _) in enumerate(self.topology.link_ends.tolist())
            if self.topology.level[low] == 0
        ]
        return [max(column) for column in zip(*sizes, strict=True)], max(wires)

    @cached_property
    def candidates(self) -> list[int]:
        """Servers that have anything free."""
        return [server for server in range(len(self.free)) if any(self.there(server))]


@dataclass
class Answer:
    """What an agent answers: a placement, or a tier, or neither when the capacity ran out."""

    shares: list[tuple[int, int, Demand]]
    links: set[Link]
    servers: list[int]
    tier: str | None = None
    span: int = 0


def provision(case: Case, pick: Pick) -> Answer | None:
    """Take servers one at a time, until the request is complete or fails."""
    needed = list(case.demand)
    answer = Answer([], set(), [])
    while any(needed) or not answer.servers:
        server = pick(answer.servers, needed)
        if server is None:
            return None
        for other in answer.servers:
            route = case.route(other, server)
            if route is None:
                return Answer([], set(), [], case.tier(other, server))
            answer.links |= set(route)
        answer.servers.append(server)
        for node, room in enumerate(case.free[server]):
            gives = tuple(min(free, need) for free, need in zip(room, needed, strict=True))
            if any(gives):
                answer.shares.append((server, node, gives))
            needed = [need - given for need, given in zip(needed, gives, strict=True)]
    racks = {case.rack[server] for server in answer.servers}
    pods = {int(case.topology.pod_of[rack]) for rack in racks}
    far = 2 if len(pods) == 1 and -1 not in pods else 3
    answer.shares = answer.shares or [(answer.servers[0], 0, case.demand)]
    answer.span = 0 if len(answer.servers) == 1 else 1 if len(racks) == 1 else far
    return answer


def allowed(case: Case, chosen: list[int], servers: list[int]) -> list[int]:
    """Those not chosen yet; if masked those that work, unless none does."""
    left = [server for server in servers if server not in chosen]
    return [server for server in left if not case.masked or case.works(server, chosen)] or left


def random_servers(case: Case, draws: Iterator[float]) -> Answer | None:
    """Any of them. When none of those left works, any may be named."""

    def pick(chosen: list[int], needed: list[int]) -> int | None:
        left = allowed(case, chosen, case.candidates)
        if not left:
            return None
        if case.masked and not case.works(left[0], chosen):
            return left[-1]
        return left[int(next(draws) * len(left))]

    return provision(case, pick)


def misplaced(case: Case, chosen: list[int]) -> dict[int, int | None]:
    """Whose link the program takes for each server's: a column of those that may be chosen, shorter than that of all
    servers by name, stands at its end."""
    servers = list(range(len(case.free)))
    names = case.topology.names[case.topology.switches :]
    may = [server for server in servers if any(case.there(server)) and server not in chosen]
    column: list[int | None] = [None] * (len(servers) - len(may)) + may
    return dict(zip(sorted(servers, key=lambda server: names[server]), column, strict=True))


def points(case: Case, server: int, owner: int | None = -1) -> Fraction:
    """Tetris' score: of what is asked for and what is free, as shares of the largest server.

    The link is that of the server itself, or of another `owner`, if there is one."""
    sizes, widest = case.largest
    wire = 0 if owner is None else max(0, case.wire(server if owner < 0 else owner))
    pairs = zip([*case.there(server), wire], [*case.demand, case.bandwidth], strict=True)
    shares = ((free, need, size) for (free, need), size in zip(pairs, [*sizes, widest], strict=True) if size)
    return sum((Fraction(free, size) * Fraction(need, size) for free, need, size in shares), Fraction(0))


def tetris(
    case: Case,
    penalty: Fraction = Fraction(9, 10),
    links: str = "own",
    latest: int = -1,
) -> Answer | None:
    """The highest score; `latest` is the rack of the last server that an earlier request chose."""

    def pick(chosen: list[int], needed: list[int]) -> int | None:
        def worth(server: int) -> Fraction:
            home = latest if latest >= 0 else case.rack[server]
            if chosen:
                home = case.rack[chosen[-1]]
            own = points(case, server, of[server] if links == "misplaced" else server)
            return own * (1 if case.rack[server] == home else penalty)

        of = misplaced(case, chosen)
        return max(allowed(case, chosen, case.candidates), key=worth, default=None)

    return provision(case, pick)


def in_order(case: Case, order: list[int]) -> Answer | None:
    """One server after the other; those passed over because they don't work come last."""
    waiting = [server for server in order if server in case.candidates]
    passed: list[int] = []

    def pick(chosen: list[int], needed: list[int]) -> int | None:
        while waiting:
            server = waiting.pop(0)
            if not case.masked or case.works(server, chosen):
                return server
            passed.append(server)
        return passed[0] if passed else None

    return provision(case, pick)


def first_by_tetris(case: Case) -> list[int]:
    """Its vertex, if there is one."""
    best = max(case.candidates, key=lambda server: points(case, server), default=None)
    return [] if best is None else [case.topology.switches + best]


def nulb(case: Case) -> Answer | None:
    """Breadth-first."""
    order = first_by_tetris(case)
    for vertex in order:  # grows while it is walked
        order.extend(near for near, _ in case.near[vertex] if near not in order)
    return in_order(case, [vertex - case.topology.switches for vertex in order])


def nalb(case: Case) -> Answer | None:
    """Depth-first with a stack, the widest link on top."""

    def room(hop: tuple[int, Link | None]) -> int:
        return 10**18 if hop[1] is None else case.link_free[hop[1]]

    stack, order = first_by_tetris(case), list[int]()
    while stack:
        vertex = stack.pop()
        if vertex not in order:
            order.append(vertex)
            stack.extend(near for near, _ in sorted(case.near[vertex], key=room))
    return in_order(case, [vertex - case.topology.switches for vertex in order])


def free_share(case: Case) -> Fraction:
    """Of all servers together, the mean over the resources."""
    free, capacity = (
        [sum(column) for column in zip(*(node for server in servers for node in server), strict=True)]
        for servers in (case.free, case.capacity)
    )
    each = [billionths(amount, total) for amount, total in zip(free, capacity, strict=True)]
    return Fraction(sum(each), len(each) * 10**9)


Weights: TypeAlias = dict[str, Fraction]
BEST_HOME = {"links": Fraction(1), "uplinks": Fraction(1), "stranded": Fraction(1, 2)}
"""Its weights that are not 0 by default."""


def best_home(case: Case, **weights: Fraction) -> Answer | None:
    """The cheapest over all racks."""
    every = from_every_rack(case, **weights)
    found = [(cost, answer) for cost, answer in every if answer and not answer.tier]
    return min(found, key=lambda pair: pair[0])[1] if found else every[0][1]


def from_every_rack(case: Case, **weights: Fraction) -> list[tuple[Fraction, Answer | None]]:
    """An answer for each as home, and what it costs."""
    weights = BEST_HOME | weights
    found = []
    for home in range(case.topology.racks):
        costs: list[Fraction] = []
        answer = provision(case, nearest(case, home, weights, costs))
        tiers = [case.topology.link_tier[link] for link in answer.links] if answer else []
        wires = sum((weights["uplinks" if tier else "links"] for tier in tiers), Fraction(0))
        found.append((sum(costs) + wires * billionths(case.bandwidth, case.largest[1]), answer))
    return found


def nearest(case: Case, home: int, weights: Weights, costs: list[Fraction]) -> Pick:
    """From this rack on; notes what each server costs."""
    pod_of = case.topology.pod_of

    def pick(chosen: list[int], needed: list[int]) -> int | None:
        useful = [server for server in case.candidates if server not in chosen]
        useful = [s for s in useful if any(gives(s, needed)) or gives(s, needed) == needed]
        working = [server for server in useful if works(server, chosen, needed)]
        if not working:
            return min(useful, key=lambda server: (away(server), case.rack[server], server), default=None)
        best = min(working, key=lambda server: key(server, chosen, needed))
        costs.append(cost(best, chosen, needed))
        return best

    def away(server: int) -> int:
        rack = case.rack[server]
        return 0 if rack == home else 1 if pod_of[rack] == pod_of[home] >= 0 else 2

    def gives(server: int, needed: list[int]) -> list[int]:
        return [min(free, need) for free, need in zip(case.there(server), needed, strict=True)]

    def cost(server: int, chosen: list[int], needed: list[int]) -> Fraction:
        given, wire = gives(server, needed), case.wire(server)
        alone = not chosen and given == needed
        before = shares(case.there(server))
        after = [there - taken for there, taken in zip(before, shares(given), strict=True)]
        strands = max(after) - min(after) - (max(before) - min(before))
        cuts = cut_off(sum(after), wire if alone else wire - case.bandwidth) - cut_off(sum(before), wire)
        return (
            weights["stranded"] * strands
            + weights.get("cut_off", Fraction(0)) * cuts
            + weights.get("leftover", Fraction(0)) * sum(after)
        )

    def shares(left: list[int]) -> list[int]:
        return [billionths(amount, size) for amount, size in zip(left, case.largest[0], strict=True)]

    def cut_off(left: int, wire: int) -> int:
        return left * (10**6 - billionths(max(0, wire), case.largest[1]) // 1000) // 10**6

    def key(server: int, chosen: list[int], needed: list[int]) -> tuple[int, bool, Fraction, int, int]:
        value = cost(server, chosen, needed) - sum(shares(gives(server, needed)))
        return away(server), gives(server, needed) != needed, value, case.rack[server], server

    def works(server: int, chosen: list[int], needed: list[int]) -> bool:
        if chosen or gives(server, needed) == needed:
            return case.works(server, chosen)
        return case.wire(server) >= case.bandwidth

    return pick


def billionths(amount: int, of: int) -> int:
    """To the nearest; 0 of nothing."""
    return floor(Fraction(amount * 10**9, of) + Fraction(1, 2)) if of else 0
