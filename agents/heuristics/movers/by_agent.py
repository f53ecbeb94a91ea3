"""Packs what runs more tightly by asking another agent where it would go: ByAgent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.inner import inner
from simcore.moves import Move, Mover, Running
from simcore.vocabulary import Floats, Ints, Placement, Request, View


class ByAgent(Mover):
    """Takes requests off the servers, emptiest first, to where another agent would place them, if it is fuller there.

    `agent` is its name, `options` are its own. A server is the fuller the larger the share of its resources that is
    held, on average, the request that moves left out: so every plan ends, and nothing moves to and fro. What may not
    lie where it is goes first, wherever the agent places it. To make room for a request, moves are planned until the
    agent finds a place for it.
    """

    reference = "ours: any rule of placement, asked again about what runs"
    keeps_rules = True

    def __init__(self, agent: str = "best-fit", options: dict[str, Any] | None = None) -> None:
        self.agent = inner(agent, options)
        self.needs_lifetimes = self.agent.needs_lifetimes

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Start the agent."""
        self.agent.start(view, rng)

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        """Plan moves by what the agent answers, one after another."""
        draft = _Draft(view, running)
        out = draft.out_of_place()
        inside = (np.flatnonzero(running.server == server).tolist() for server in draft.emptiest_first())
        found: list[Move] = []
        for place in (*out, *(place for some in inside for place in some if place not in out)):
            if len(found) == moves or (request is not None and self._fits(draft, request)):
                break
            if move := self._move(draft, place, anywhere=place in out):
                found.append(move)
        return found if request is None or self._fits(draft, request) else []

    def _fits(self, draft: _Draft, request: Request) -> bool:
        may = draft.running.may
        shown = draft.free if may is None else np.where(may(request.index)[:, None, None], draft.free, 0)
        return isinstance(self.agent.decide(draft.view.showing(shown), request), Placement)

    def _move(self, draft: _Draft, place: int, *, anywhere: bool) -> Move | None:
        """Ask where a request would go that is `place` in the list of those that run; None where it stays."""
        request, server = draft.running.request(int(draft.running.row[place])), int(draft.running.server[place])
        held = draft.parts(place)
        open_to = np.ones(len(draft.free), np.bool_) if anywhere else draft.fuller(server, held)
        open_to[server] = False
        if draft.running.may:
            open_to &= draft.running.may(request.index)
        shown = np.where(open_to[:, None, None], draft.free, 0)
        answer = self.agent.decide(draft.view.showing(shown), request) if open_to.any() else None
        if not isinstance(answer, Placement):
            return None
        draft.free[server] += held
        for other, node, amounts in answer.shares:
            draft.free[other, node] -= amounts
        return Move(request.index, answer)


class _Draft:
    """Holds what would be free if the moves planned so far were made."""

    def __init__(self, view: View, running: Running) -> None:
        self.view, self.running = view, running
        self.free = view.free.copy()
        self._total = np.maximum(view.capacity.sum(axis=1), 1)

    def parts(self, place: int) -> Ints:
        """Return what a request holds of each node of its server, int64 [nodes, resources]."""
        running, nodes = self.running, self.free.shape[1]
        held = np.zeros(self.free.shape[1:], np.int64)
        request, node = running.request(int(running.row[place])), int(running.node[place])
        for _, at, amounts in (request.across(0, nodes) if node < 0 else request.on(0, node)).shares:
            held[at] = amounts
        return held

    def _fullness(self, free: Ints) -> Floats:
        """Return the share of each server's resources that is held, on average, float64 [servers]."""
        found: Floats = 1 - (free.sum(axis=1) / self._total).mean(axis=1)
        return found

    def emptiest_first(self) -> list[int]:
        """List the servers with something that may be moved, the emptiest first."""
        servers = np.unique(self.running.server)
        return [int(server) for server in servers[np.argsort(self._fullness(self.free)[servers], kind="stable")]]

    def fuller(self, server: int, held: Ints) -> npt.NDArray[np.bool_]:
        """Tell which servers are fuller than a server without what a request holds there, bool [servers]."""
        fullness = self._fullness(self.free)
        own = 1 - ((self.free[server] + held).sum(axis=0) / self._total[server]).mean()
        found: npt.NDArray[np.bool_] = fullness > own
        return found

    def out_of_place(self) -> list[int]:
        """List the places of those that may not lie where they are."""
        running = self.running
        if running.may is None:
            return []
        rows, servers = running.row.tolist(), running.server.tolist()
        return [place for place, row in enumerate(rows) if not running.may(row)[servers[place]]]
