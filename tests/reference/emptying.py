"""Movers, as slow and plain as can be: requests are dicts, and every move is tried."""

from copy import deepcopy
from typing import Any, TypeAlias

One: TypeAlias = dict[str, Any]
"""A request that runs: its `demand`, whether it is `spread`, its `server` and `node`."""
Free: TypeAlias = list[list[list[int]]]


def part(amount: int, node: int, nodes: int) -> int:
    return amount // nodes + (node < amount % nodes)


def taken(one: One, node: int, nodes: int) -> list[int]:
    """What a request takes of a node, if it goes to that one."""
    return [part(amount, node, nodes) if one["spread"] else amount for amount in one["demand"]]


def nodes_of(one: One, node: int, nodes: int) -> list[int]:
    return list(range(nodes)) if one["spread"] else [node]


def fits(free: Free, one: One, server: int, node: int) -> bool:
    nodes = len(free[server])
    return all(
        have >= want
        for n in nodes_of(one, node, nodes)
        for have, want in zip(free[server][n], taken(one, n, nodes), strict=True)
    )


def change(free: Free, one: One, server: int, node: int, sign: int) -> None:
    nodes = len(free[server])
    for n in nodes_of(one, node, nodes):
        for r, want in enumerate(taken(one, n, nodes)):
            free[server][n][r] += sign * want


def may(free: Free, one: One, server: int, node: int) -> bool:
    if one["spread"]:
        return node == 0 and server != one["server"] and fits(free, one, server, node)
    return (server, node) != (one["server"], one["node"]) and fits(free, one, server, node)


def move(free: Free, one: One, server: int, node: int) -> None:
    change(free, one, one["server"], one["node"], 1)
    change(free, one, server, node, -1)
    one["server"], one["node"] = server, node


def places(free: Free) -> list[tuple[int, int]]:
    return [(server, node) for server in range(len(free)) for node in range(len(free[server]))]


def empty(
    free: Free, capacity: Free, requests: list[One], order: list[int], moves: int, allowed: Any = None
) -> list[tuple[int, int, int]]:
    """Empty servers, those with the fewest requests first; `allowed` [request][server] says where they may lie."""
    made: list[tuple[int, int, int]] = []
    everywhere = [[True] * len(free) for _ in requests]
    allowed = everywhere if allowed is None else allowed
    closed = {one["server"] for one, ok in zip(requests, allowed, strict=True) if not ok[one["server"]]}

    def best_fit(which: int, any_server: bool) -> tuple[int, int] | None:
        found = []
        for server, node in places(free):
            one, unused = requests[which], free[server] == capacity[server]
            if server in closed or not allowed[which][server] or (unused and not any_server):
                continue
            if not (one["spread"] and node) and fits(free, one, server, node):
                here = 0 if one["spread"] else free[server][node][0]
                found.append((unused, sum(n[0] for n in free[server]), server, here, node))
        return min(found)[2::2] if found else None

    for which in order:
        if not allowed[which][requests[which]["server"]] and len(made) < moves:
            there = best_fit(which, True)
            if there:
                move(free, requests[which], *there)
                made.append((which, *there))
    drained, on = len(made), dict[int, list[int]]()
    for which in order:
        on.setdefault(requests[which]["server"], []).append(which)
    for server in sorted(on, key=lambda server: (len(on[server]), server)):
        nodes = range(len(free[server]))
        alone = all(
            sum(capacity[server][n][r] - free[server][n][r] for n in nodes)
            == sum(requests[which]["demand"][r] for which in on[server])
            for r in range(len(free[server][0]))
        )
        received = server in {there for _, there, _ in made[drained:]}
        if server in closed or received or not alone or len(on[server]) > moves - len(made):
            continue
        closed.add(server)
        before, began = deepcopy((free, requests)), len(made)
        for which in on[server]:
            if there := best_fit(which, False):
                move(free, requests[which], *there)
                made.append((which, *there))
            else:
                free[:], requests[:] = before
                del made[began:]
                break
    return made
