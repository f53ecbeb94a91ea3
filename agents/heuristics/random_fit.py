"""Chooses at random among everything that fits, on servers and in networks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from binwright.agents.heuristics.networks.common import Network, NetworkAgent, take
from binwright.fabric.compiled.numa_loop import placement_of
from binwright.fabric.multi_server import GOES_ON, begin, has_any
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.routing import find_route
from binwright.fabric.servers import fits_node, fits_spread
from binwright.fabric.topology import Indices
from binwright.simcore.jit import kernel, prepared
from binwright.simcore.types import Agent, Amounts, Floats, Ints, Placement, Refusal, Request, View

DRAWS = 4096
"""Random numbers drawn at a time, and always enough for a request."""


class Drawing(NamedTuple):
    """Holds `draws` float64 [any] in [0, 1), of which `used` int64 [1] are used up; `candidates` int32 [servers]."""

    network: Network
    draws: Floats
    used: Ints
    candidates: Indices


@kernel
def random_servers(
    drawing: Drawing, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, weighted: bool, masked: bool
) -> int:
    """Take, as a `Rule`, any server that has something free and isn't chosen, all equally likely, again and again."""
    network, candidates = drawing.network, drawing.candidates
    begin(network.room, demand)
    count = 0
    for server in range(len(free)):
        if has_any(free, server):
            candidates[count] = server
            count += 1
    status, passed = GOES_ON, -1
    while status == GOES_ON and count > 0:
        place = int(drawing.draws[drawing.used[0]] * count)
        drawing.used[0] += 1
        chosen = candidates[place]
        status = take(network, free, link_free, chosen, bandwidth, weighted)
        before, count = count, 0
        for other in range(before):
            server = candidates[other]
            if other == place:
                continue
            if masked and find_route(network.routes, link_free, chosen, server, bandwidth, weighted) < 0:
                passed = max(passed, server)
                continue
            candidates[count] = server
            count += 1
    if status == GOES_ON and passed >= 0:  # tell for want of what
        status = take(network, free, link_free, passed, bandwidth, weighted)
    return status


class RandomServers(NetworkAgent):
    """Any servers of a network that have anything free, all equally likely."""

    reference = "Shabka, Zervas 2021, Nara, arXiv:2106.02412: its Random"
    rule = staticmethod(random_servers)

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Drawing:
        """Draw numbers from the run's random stream."""
        servers = len(view.free)
        draws = rng.random(DRAWS + servers)
        self._rng = rng
        return Drawing(shared, draws, np.zeros(1, np.int64), np.zeros(servers, np.int32))

    def decide(self, view: View, request: Request) -> Provisioned | Refusal | None:
        """Ask the rule, with as many new numbers as it has used, when it could run out of them."""
        draws, used = self._scratch.draws, self._scratch.used
        if used[0] > DRAWS:
            self._rng.random(out=draws)
            used[0] = 0
        return super().decide(view, request)


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

    `RandomServers` is the rule for networks.
    """

    reference = "the baseline that a choice has to beat; in a network the Random of Nara, arXiv:2106.02412"
    masked = False
    """In a network: pass over servers that can't be reached, see `Feasible`."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Take the run's random stream: one number for every request, or in a network one for every server."""
        self._servers = RandomServers() if isinstance(view, NetworkView) else None
        if self._servers:
            self._servers.masked = self.masked
            self._servers.start(view, rng)
        else:
            self._rng, self._rule = rng, prepared(random_fit, view.free, (1,) * len(view.resources), False, 0.0)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        """Place the request where the draw says."""
        if self._servers:
            return self._servers.decide(view, request)
        code = self._rule(view.free, request.demand, request.spread, self._rng.random())
        return placement_of(code, request, view.free.shape[1]) if code >= 0 else None
