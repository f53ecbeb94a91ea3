"""Packs what runs more tightly by asking another agent where it would go: ByAgent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from binwright.agents.heuristics.movers.draft import Draft
from binwright.agents.nested_agent import inner
from binwright.agents.rules.on_devices import choosing
from binwright.simcore.moves import Move, Mover, Running
from binwright.simcore.types import Placement, Request, View


class ByAgent(Mover):
    """Takes requests off the servers, emptiest first, to where another agent would place them, if it is fuller there.

    `agent` is its name, `options` are its own. A server is the fuller the larger the share of its resources that is
    held, on average, the request that moves left out: so every plan ends, and nothing moves to and fro. What may not
    lie where it is goes first, wherever the agent places it. To make room for a request, moves are planned until the
    agent finds a place for it.
    """

    reference = "ours: any rule of placement, asked again about what runs"
    keeps_rules = True
    on_devices = True

    def __init__(self, agent: str = "best-fit", options: dict[str, Any] | None = None) -> None:
        self.agent = inner(agent, options)
        self.needs_lifetimes, self.only_devices = self.agent.needs_lifetimes, self.agent.on_devices

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.agent = choosing(self.agent, view)
        self.agent.start(view, rng)

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        """Plan moves by what the agent answers, one after another."""
        draft = Draft(view, running)
        out = draft.out_of_place()
        inside = (np.flatnonzero(running.server == server).tolist() for server in draft.emptiest_first())
        found: list[Move] = []
        for place in (*out, *(place for some in inside for place in some if place not in out)):
            if len(found) == moves or (request is not None and self._fits(draft, request)):
                break
            if move := self._move(draft, place, anywhere=place in out):
                found.append(move)
        return found if request is None or self._fits(draft, request) else []

    def _fits(self, draft: Draft, request: Request) -> bool:
        may = draft.running.may
        shown = draft.free if may is None else np.where(may(request.index)[:, None, None], draft.free, 0)
        return isinstance(self.agent.decide(draft.showing(shown), request), Placement)

    def _move(self, draft: Draft, place: int, *, anywhere: bool) -> Move | None:
        """Ask where a request would go that is `place` in the list of those that run; None where it stays."""
        request = draft.request(place)
        open_to = np.ones(len(draft.free), np.bool_) if anywhere else draft.fuller(place)
        open_to[draft.running.server[place]] = False
        if draft.running.may:
            open_to &= draft.running.may(request.index)
        shown = np.where(open_to[:, None, None], draft.free, 0)
        answer = self.agent.decide(draft.showing(shown), request) if open_to.any() else None
        if not isinstance(answer, Placement):
            return None
        draft.hold(request, answer)
        draft.hold(request, draft.at(place), -1)
        return Move(request.index, answer)
