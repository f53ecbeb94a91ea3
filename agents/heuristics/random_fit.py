"""Chooses at random among what fits, on servers and in networks; and keeps agents from what they cannot connect."""

from typing import Any, NamedTuple

import numpy as np

from binwright.agents.heuristics.networks.common import NetworkAgent, one_by_one
from binwright.agents.rules.on_devices import nested
from binwright.agents.rules.scan import places_with_room
from binwright.fabric.compiled.numa_decisions import placement_of
from binwright.fabric.multi_server import Filling, allow
from binwright.fabric.network import NetworkView
from binwright.simcore.errors import UserError
from binwright.simcore.jit import lean, prepared
from binwright.simcore.types import Agent, Flags, Floats, Ints, Placement, Refusal, Request, View

DRAWS = 4096
"""Random numbers drawn at a time, and always enough for a request."""


class Draws(NamedTuple):
    """Holds `draws` float64 [any] in [0, 1), and how many of them are used up, int64 [1].

    `masked` says that only servers with a working route to those chosen before are drawn; `allowed` bool [servers] is
    scratch.
    """

    room: Filling
    draws: Floats
    used: Ints
    masked: bool
    allowed: Flags


@lean
def random_server(of: Draws, free: Ints, link_free: Ints, bandwidth: int, masked: bool) -> int:
    """Take any server that has something free and isn't chosen, all equally likely; where none is reached the last."""
    allowed = of.allowed
    if not allow(of.room, free, link_free, bandwidth, masked, allowed):
        return -1
    count = 0
    for server in range(len(allowed)):
        count += int(allowed[server])
    place, server = count - 1, -1
    if masked or not of.masked:
        place = int(of.draws[of.used[0]] * count)
        of.used[0] += 1
    while place >= 0:
        server += 1
        place -= int(allowed[server])
    return server


class RandomFit(NetworkAgent):
    """Any (server, node) that fits, or any server for a spread request, all equally likely; in a network any."""

    reference = "the baseline that a choice has to beat; in a network the Random of Nara, arXiv:2106.02412"
    rule = staticmethod(one_by_one(random_server))

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Take the run's random stream: one number for every request, or in a network one for every server."""
        self._rng = rng
        if isinstance(view, NetworkView):
            super().start(view, rng)
        else:
            self._places = prepared(places_with_room, view.free, (1,) * len(view.resources), False)

    def scratch(self, view: NetworkView, room: Filling) -> Draws:
        draws, allowed = self._rng.random(DRAWS + len(view.free)), np.zeros(len(view.free), np.bool_)
        return Draws(room, draws, np.zeros(1, np.int64), self.masked, allowed)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        if isinstance(view, NetworkView):
            drawing: Draws = self._scratch
            if drawing.used[0] > DRAWS:  # it could run out of numbers
                self._rng.random(out=drawing.draws)
                drawing.used[0] = 0
            return super().decide(view, request)
        draw, codes = self._rng.random(), self._places(view.free, request.demand, request.spread)
        return placement_of(int(codes[int(draw * len(codes))]), request, view.free.shape[1]) if len(codes) else None


class Feasible(Agent):
    """An agent for networks that passes over servers without a working route to those chosen before.

    `agent` is its name, `options` are its own.
    """

    reference = "ours: what of a method's failures is due to choices that could not work"

    def __init__(self, agent: str = "tetris", options: dict[str, Any] | None = None) -> None:
        made = nested(agent, options)
        if not isinstance(made, NetworkAgent):
            remedy = "Name an agent that takes servers from a network, such as tetris."
            raise UserError("does not choose servers one by one", key="agent", value=agent, remedy=remedy)
        made.masked = True
        self.agent: Agent = made
        self.needs_lifetimes = made.needs_lifetimes

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.agent.start(view, rng)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        return self.agent.decide(view, request)
