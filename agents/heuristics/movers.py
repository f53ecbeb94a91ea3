"""Movers: rules that decide what is moved, and where to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from binwright.agents.availability import holding_of
from binwright.agents.heuristics.servers.costs import BestFit
from binwright.agents.rules.on_devices import choosing, nested
from binwright.fabric.compiled.numa_loop import fits
from binwright.fabric.devices import Devices, DeviceView
from binwright.fabric.network import NetworkView
from binwright.fabric.servers import give
from binwright.simcore.jit import kernel
from binwright.simcore.moves import Move, Mover, Running
from binwright.simcore.types import QUANTUM, Agent, Flags, Floats, Ints, Placement, Request, View


class ByAgent(Mover):
    """Takes requests off the servers, emptiest first, to where another agent would place them, if it is fuller there.

    `agent` is its name, `options` are its own. A server is the fuller the larger the share of its resources that is
    held, on average, the request that moves left out: so every plan ends. What may not lie where it is goes first. To
    make room for a request, moves are planned until the agent finds a place for it.
    """

    reference = "ours: any rule of placement, asked again about what runs"
    keeps_rules = reads_places = True

    def __init__(self, agent: str = "best-fit", options: dict[str, Any] | None = None) -> None:
        self.agent = nested(agent, options)
        self.needs_lifetimes, self.only_devices = self.agent.needs_lifetimes, self.agent.on_devices

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.agent = choosing(self.agent, view)
        self.agent.start(view, rng)

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        draft = Draft(view, running)
        out, plan = draft.out_of_place(), list[Move]()
        emptiest_first = np.lexsort((running.server, draft.fullness[running.server]))
        for item in (*out, *emptiest_first[~np.isin(emptiest_first, out)].tolist()):
            if len(plan) == moves or (request is not None and self._fits(draft, request)):
                break
            open_to = np.ones(len(view.free), np.bool_) if item in out else draft.fuller(item)
            open_to[draft.server[item]] = False
            if move := draft.moved(self.agent, item, open_to):
                plan.append(move)
        return plan if request is None or self._fits(draft, request) else []

    def _fits(self, draft: Draft, request: Request) -> bool:
        return isinstance(self.agent.decide(draft.showing(draft.open_to(request)), request), Placement)


class Draft:
    """Holds what would be free if the moves planned so far were made, devices included.

    A request is called by its place in the list of those that run, its `item`. `server` int64 [n] is where each would
    be.
    """

    def __init__(self, view: View, running: Running) -> None:
        self.running, self.free, self.server = running, view.free.copy(), running.server.copy()
        self._moved: dict[int, Placement] = {}
        if isinstance(view, DeviceView):
            view = replace(view, devices=Devices(*(array.copy() for array in view.devices)))
        elif isinstance(view, NetworkView):
            view = replace(view, link_free=view.link_free.copy())
        self._view: Any = view
        self._total = np.maximum(view.capacity.sum(axis=1), 1)
        self.fullness: Floats = 1 - (self.free.sum(axis=1) / self._total).mean(axis=1)
        """The share of each server's resources that is held, on average, float64 [servers]."""

    def open_to(self, request: Request, among: Flags | None = None) -> Flags:
        """Tell on which servers a request may lie, bool [servers], of those `among` which it may choose."""
        allowed = np.ones(len(self.free), np.bool_) if among is None else among
        return allowed & self.running.may(request.index) if self.running.may else allowed

    def showing(self, open_to: Flags) -> View:
        """Return a view for an agent that is to see only these servers, bool [servers], with what would be free."""
        free = np.where(open_to[:, None, None], self.free, 0)
        view: View = self._view
        return replace(view, free=free) if isinstance(view, DeviceView | NetworkView) else view.showing(free)

    def request(self, item: int) -> Request:
        return self.running.request(int(self.running.row[item]))

    def at(self, item: int) -> Placement:
        """Tell where a request would lie."""
        return self._moved.get(item) or self.running.at(int(self.running.row[item]))

    def moved(self, agent: Agent, item: int, among: Flags) -> Move | None:
        """Move a request to where an agent places it on these servers, bool [servers]; None where it stays."""
        request = self.request(item)
        open_to = self.open_to(request, among)
        answer = agent.decide(self.showing(open_to), request) if open_to.any() else None
        # One who asks for nothing fits on a server that shows nothing, too.
        if not isinstance(answer, Placement) or not open_to[[share[0] for share in answer.shares]].all():
            return None
        self.put(item, answer)
        return Move(request.index, answer)

    def put(self, item: int, placement: Placement) -> None:
        """Move a request there."""
        request = self.request(item)
        self.hold(request, placement)
        self.hold(request, self.at(item), -1)
        self._moved[item], self.server[item] = placement, placement.shares[0][0]

    def hold(self, request: Request, placement: Placement, sign: int = 1) -> None:
        """Take what a placement holds, or with sign -1 give it back."""
        holding = holding_of(self._view, request, placement)
        for server, node, amounts in holding.shares:
            self.free[server, node] -= np.array(amounts) * sign
            self.fullness[server] = 1 - (self.free[server].sum(axis=0) / self._total[server]).mean()
        for server, devices, each in holding.devices:
            own: Devices = self._view.devices
            own.free[server, list(devices)] -= sign * each
            own.held[server, len(devices) if each == QUANTUM else 0] += sign
        for link, amount in holding.links if isinstance(self._view, NetworkView) else ():
            self._view.link_free[link] -= amount * sign

    def in_use(self) -> Flags:
        """Tell which servers hold anything, bool [servers]."""
        in_use: Flags = np.any(self.free != self._view.capacity, axis=(1, 2))
        return in_use

    def fuller(self, item: int) -> Flags:
        """Tell which servers are fuller than the server of a request without what it holds there, bool [servers]."""
        server = int(self.running.server[item])
        own = np.sum([share[2] for share in self.at(item).shares if share[0] == server], axis=0)
        total = self.free[server].sum(axis=0) + own
        fuller: Flags = self.fullness > 1 - (total / self._total[server]).mean()
        return fuller

    def out_of_place(self) -> list[int]:
        """List those that may not lie where they are."""
        may, items = self.running.may, list[int]()
        for item, row in enumerate(self.running.row.tolist()) if may else ():
            if may and not may(row)[[share[0] for share in self.at(item).shares]].all():
                items.append(item)
        return items


class Empty(Mover):
    """Empties whole servers, those with the fewest requests first: fewer servers are in use.

    Its requests go, the largest first, where Best-Fit puts them on other servers in use. A server is emptied only if
    all find a place within the moves that are left; one that has been looked at receives none. Requests that may not
    lie where they are come first, and go to unused servers if need be.
    """

    reference = "ours"
    makes_room = False
    keeps_rules = True

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._agent = BestFit()
        self._agent.start(view, rng)

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        if request is not None or not len(running.row):
            return []
        draft, plan = Draft(view, running), list[Move]()
        largest_first = np.argsort(-running.demand[:, 0], kind="stable")
        out, closed = draft.out_of_place(), np.zeros(len(view.free), np.bool_)
        closed[running.server[out]] = True
        for item in largest_first[np.isin(largest_first, out)].tolist():
            if len(plan) == moves:
                break
            used = draft.in_use()
            move = draft.moved(self._agent, item, ~closed & used) or draft.moved(self._agent, item, ~closed & ~used)
            plan += [move] if move else []
        count, held = np.bincount(draft.server, minlength=len(closed)), np.zeros_like(view.capacity[:, 0])
        np.add.at(held, draft.server, running.demand)
        count[(held != (view.capacity - draft.free).sum(axis=1)).any(axis=1)] = 0  # something else is on it
        by_server = largest_first[np.argsort(draft.server[largest_first], kind="stable")]
        inside = np.split(by_server, np.searchsorted(draft.server[by_server], np.arange(1, len(closed))))
        open_to, receiving = draft.in_use() & ~closed, set[int]()
        for leaving in np.argsort(count, kind="stable").tolist():
            if not 0 < count[leaving] <= moves - len(plan) or closed[leaving] or leaving in receiving:
                continue
            open_to[leaving], made = False, list[Move]()
            before = [(item, draft.at(item)) for item in inside[leaving].tolist()]
            for item, _ in before:
                if not (move := draft.moved(self._agent, item, open_to)):
                    break
                made.append(move)
            if len(made) == len(before):
                plan += made
                receiving |= {move.placement.shares[0][0] for move in made}
            else:
                for item, placement in before[: len(made)]:
                    draft.put(item, placement)
        return plan


MOST = 3
"""More moves for one request are not looked for: the search would take too long."""


class MakeRoom(Mover):
    """Moves the fewest requests off one place so that a request fits there, three at most.

    All places and all sets of requests there are tried; each of these goes to a place with room, in the order of their
    rows. Of equals the place with the lowest number wins, then the lowest rows, then the lowest places to go to.
    """

    reference = "ours: exhaustive search over the requests of one place"
    reschedules = False

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        """Search with one move, then with two, then with three."""
        if request is None:
            return []
        order = np.argsort(running.server, kind="stable")
        server, node, demand = running.server[order], running.node[order], running.demand[order]
        first = np.searchsorted(server, np.arange(len(view.free) + 1))
        moved_to = fewest(
            view.free.copy(), first, node, demand, np.array(request.demand), request.spread, min(moves, MOST)
        )
        plan = list[Move]()
        for item, to, on in moved_to.tolist():
            moved = running.request(int(running.row[order[item]]))
            plan.append(Move(moved.index, moved.across(to, view.free.shape[1]) if on < 0 else moved.on(to, on)))
        return plan


@kernel
def fewest(free: Ints, first: Ints, node: Ints, demand: Ints, wanted: Ints, spread: bool, most: int) -> Ints:
    """Return which requests move, and their new servers and nodes, int64 [any, 3]; none where there is no way.

    `free` int64 [servers, nodes, resources] is changed. Requests `first[s]` to `first[s + 1]` lie on server s, on
    `node` [n], -1 where spread, with `demand` [n, resources].
    """
    servers, nodes = free.shape[0], free.shape[1]
    for count in range(1, most + 1):
        plan = np.zeros((count, 3), np.int64)
        for place in range(servers if spread else servers * nodes):
            server, target = (place, -1) if spread else (place // nodes, place % nodes)
            if _cleared(free, server, target, node, demand, wanted, plan, 0, first[server], first[server + 1]):
                return plan
    return np.zeros((0, 3), np.int64)


@kernel
def _cleared(
    free: Ints, server: int, target: int, node: Ints, demand: Any, wanted: Any, plan: Ints, level: int, first: int,
    end: int,
) -> bool:  # fmt: skip
    """Choose who leaves, `plan` from `level` on, of a server's requests `first` to `end` - 1, and find them places.

    Changes `free` and `plan`; without a way `free` is as before.
    """
    if level == len(plan):
        enough = fits(free, wanted, server, target)
        for sign in (-1, 1):  # they are there until they move, one after another
            for item in plan[:, 0]:
                give(free, demand[item], server, node[item], sign)
            if sign < 0 and enough and _settled(free, server, target, node, demand, wanted, plan, 0):
                return True
        return False
    for item in range(first, end - (len(plan) - 1 - level)):
        plan[level, 0] = item
        give(free, demand[item], server, node[item], 1)
        if _cleared(free, server, target, node, demand, wanted, plan, level + 1, item + 1, end):
            return True
        give(free, demand[item], server, node[item], -1)
    return False


@kernel
def _settled(
    free: Ints, server: int, target: int, node: Ints, demand: Any, wanted: Any, plan: Ints, level: int
) -> bool:
    """Find places for the requests of `plan` from `level` on, the first ones with which `wanted` fits; false for none.

    Changes `free` and `plan`; without places `free` is as before.
    """
    if level == len(plan):
        return fits(free, wanted, server, target)
    item = plan[level, 0]
    own, amounts = node[item], demand[item]
    width = 1 if own < 0 else free.shape[1]
    for place in range(len(free) * width):
        to, on = place // width, -1 if own < 0 else place % width
        if (to == server and on == own) or not fits(free, amounts, to, on):
            continue
        plan[level, 1], plan[level, 2] = to, on
        give(free, amounts, to, on, -1)
        give(free, amounts, server, own, 1)
        if _settled(free, server, target, node, demand, wanted, plan, level + 1):
            return True
        give(free, amounts, server, own, -1)
        give(free, amounts, to, on, 1)
    return False
