"""Movers, as slow and plain as can be: requests are dicts, and every move is tried."""

from __future__ import annotations

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


def fragments(free: Free, size: int) -> int:
    return sum(node[0] % size for server in free for node in server)


def stranded(free: Free, usual: list[tuple[One, int]]) -> int:
    return sum(
        times * free[server][node][0]
        for kind, times in usual
        for server in range(len(free))
        for node in range(len(free[server]))
        if not fits(free, kind, server, node)
    )


def places(free: Free) -> list[tuple[int, int]]:
    return [(server, node) for server in range(len(free)) for node in range(len(free[server]))]


def greedy(free: Free, requests: list[One], goal: Any, moves: int) -> list[tuple[int, int, int]]:
    """The one move that lowers `goal(free)` most, again and again; of equals the first request to the first place."""
    made: list[tuple[int, int, int]] = []
    while len(made) < moves:
        before, best, chosen = goal(free), 0, None
        for which, one in enumerate(requests):
            for server, node in places(free):
                if may(free, one, server, node):
                    after, moved = deepcopy(free), dict(one)
                    move(after, moved, server, node)
                    if before - goal(after) > best:
                        best, chosen = before - goal(after), (which, server, node)
        if chosen is None:
            break
        move(free, requests[chosen[0]], *chosen[1:])
        made.append(chosen)
    return made


def tightest(free: Free, one: One, source: int, goal: Any) -> tuple[int, int, int] | None:
    """Gain, server and node of the place on another server that loses least; then the fullest, then the first."""
    found = []
    for server, node in places(free):
        if server != source and not (one["spread"] and node) and fits(free, one, server, node):
            after = deepcopy(free)
            change(after, one, server, node, -1)
            left = sum(after[server][n][0] for n in nodes_of(one, node, len(free[server])))
            found.append((goal(after) - goal(free), left, server, node))
    if not found:
        return None
    loss, _, server, node = min(found)
    return -loss, server, node


def leavers(free: Free, requests: list[One], server: int, node: int, goal: Any) -> list[tuple[int, int]]:
    """The requests of a node that lose nothing elsewhere, the largest first, and their gain there."""
    found = []
    for which, one in enumerate(requests):
        if one["server"] == server and (one["spread"] or one["node"] == node):
            there = tightest(free, one, server, goal)
            if there and there[0] >= 0:
                found.append((-one["demand"][0], which, there[0]))
    return [(which, gain) for _, which, gain in sorted(found)]


def together(free: Free, requests: list[One], goal: Any, most: int, banned: set[Any]) -> list[tuple[int, int, int]]:
    """Move the group of requests of one node that gains most per move, if that helps."""
    while True:
        best = None
        for at in places(free):
            if at in banned:
                continue
            after, coming = deepcopy(free), 0
            for count, (which, gain) in enumerate(leavers(free, requests, *at, goal)[:most], 1):
                change(after, requests[which], *at, 1)
                coming += gain
                helped = goal(free) - goal(after) + coming
                key = (-helped / count, count, at)
                if helped > 0 and (best is None or key < best):
                    best = key
        if best is None:
            return []
        _, count, at = best
        before, made, old = goal(free), [], []
        for which, _ in leavers(free, requests, *at, goal)[:count]:
            there = tightest(free, requests[which], at[0], goal)
            if there is None:
                break
            old.append((requests[which]["server"], requests[which]["node"]))
            move(free, requests[which], *there[1:])
            made.append((which, *there[1:]))
        if goal(free) < before:
            return made
        for (which, *_), back in zip(reversed(made), reversed(old), strict=True):
            move(free, requests[which], *back)
        banned.add(at)


def defragment(free: Free, requests: list[One], goal: Any, moves: int, most: int) -> list[tuple[int, int, int]]:
    """Single moves, and groups of requests where no single move helps."""
    made, banned = greedy(free, requests, goal, moves), set[Any]()
    while most > 1 and len(made) < moves:
        more = together(free, requests, goal, min(most, moves - len(made)), banned)
        if not more:
            break
        made += more
        made += greedy(free, requests, goal, moves - len(made))
    return made


def empty(
    free: Free, capacity: Free, requests: list[One], order: list[int], whole: bool, moves: int, allowed: Any = None
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
                found.append((unused, sum(n[0] for n in free[server]), here, server, node))
        return min(found)[3:] if found else None

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
        if server in closed or received or not alone or (whole and len(on[server]) > moves - len(made)):
            continue
        closed.add(server)
        before, began = deepcopy((free, requests)), len(made)
        for which in on[server]:
            if len(made) < moves and (there := best_fit(which, False)):
                move(free, requests[which], *there)
                made.append((which, *there))
            elif whole:
                free[:], requests[:] = before
                del made[began:]
                break
    return made
