"""Chooses at random among everything that fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agents.heuristics.networks.random_servers import RandomServers
from agents.rules.scan import ScanAgent
from fabric.network import NetworkView
from fabric.servers import fits_node, fits_spread
from simcore.jit import kernel, prepared
from simcore.types import Agent, Amounts, Ints, Placement, Refusal, Request, View


@kernel
def random_fit(free: Ints, demand: Amounts, spread: bool, draw: float) -> int:
    """Return, as a `Scan` does, the place at `draw`, in [0, 1), of the way through all that fit.

    `free` int64 [servers, nodes, resources], unchanged.
    """
    nodes: int = free.shape[1]
    choices = 1 if spread else nodes
    count = 0
    for server in range(len(free)):
        for node in range(choices):
            count += fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand)
    before = int(draw * count)
    for server in range(len(free)):
        for node in range(choices):
            if fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand):
                if before == 0:
                    return server * nodes + node
                before -= 1
    return -1


class RandomFit(Agent):
    """Any (server, node) that fits, or any server for a spread request, all equally likely; in a network any.

    `agents/heuristics/networks/random_servers.py` has the rule for networks.
    """

    reference = "the baseline that a choice has to beat; in a network the Random of Nara, arXiv:2106.02412"
    remembers = ("drawn",)
    masked = False
    """In a network: pass over servers that can't be reached, see `Feasible`."""
    drawn: tuple[Any, ...] = ()
    """Random numbers that are drawn ahead, in a network, and how many of them are used."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Take the run's random stream: one number for every request, or in a network one for every server."""
        if isinstance(view, NetworkView):
            servers = RandomServers()
            servers.masked = self.masked
            servers.start(view, rng)
            self.drawn = servers.drawn
            self._decide: Callable[[View, Request], Placement | Refusal | None] = servers.decide
            return
        rule = prepared(random_fit, view.free, (1,) * len(view.resources), False, 0.0)

        def scan(free: Ints, capacity: Ints, demand: Amounts, spread: bool) -> int:
            return rule(free, demand, spread, rng.random())

        self.drawn = ()
        places = ScanAgent()
        places.scan = scan
        self._decide = places.decide

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Place the request where the draw says."""
        return self._decide(view, request)
