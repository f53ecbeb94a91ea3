"""Chooses at random among everything that fits, on servers and in networks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from binwright.agents.heuristics.networks.common import Network, NetworkAgent, one_by_one
from binwright.fabric.compiled.numa_loop import placement_of
from binwright.fabric.multi_server import has_any
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.routing import find_route
from binwright.fabric.servers import fits_node, fits_spread
from binwright.fabric.topology import Indices
from binwright.simcore.jit import kernel, lean, prepared
from binwright.simcore.types import Agent, Amounts, Floats, Ints, Placement, Refusal, Request, View

DRAWS = 4096
"""Random numbers drawn at a time, and always enough for a request."""
USED, COUNT, CHOSEN, PASSED = range(4)


class Drawing(NamedTuple):
    """Holds `draws` float64 [any] in [0, 1) and `candidates` int32 [servers].

    `progress` int64 [4] says how many draws are used up, how many candidates are left, which of them was chosen last,
    and the last server passed over; -1 is none.
    """

    network: Network
    draws: Floats
    candidates: Indices
    progress: Ints


@lean
def list_candidates(drawing: Drawing, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int) -> None:
    """Write the servers that have something free."""
    progress = drawing.progress
    progress[COUNT], progress[CHOSEN], progress[PASSED] = 0, -1, -1
    for server in range(len(free)):
        if has_any(free, server):
            drawing.candidates[progress[COUNT]] = server
            progress[COUNT] += 1


@lean
def random_server(drawing: Drawing, free: Ints, link_free: Ints, bandwidth: int, weighted: bool, masked: bool) -> int:
    """Take any server that has something free and isn't chosen, all equally likely, again and again."""
    progress, candidates, routes = drawing.progress, drawing.candidates, drawing.network.routes
    last, before = progress[CHOSEN], progress[COUNT]
    if last >= 0:
        chosen, progress[CHOSEN], progress[COUNT] = candidates[last], -1, 0
        for place in range(before):
            server = candidates[place]
            if place == last:
                continue
            if masked and find_route(routes, link_free, chosen, server, bandwidth, weighted) < 0:
                progress[PASSED] = max(progress[PASSED], server)
                continue
            candidates[progress[COUNT]] = server
            progress[COUNT] += 1
    if progress[COUNT] > 0:
        progress[CHOSEN] = int(drawing.draws[progress[USED]] * progress[COUNT])
        progress[USED] += 1
        return int(candidates[progress[CHOSEN]])
    if masked:
        return -1
    passed, progress[PASSED] = progress[PASSED], -1
    return int(passed)


class RandomServers(NetworkAgent):
    """Any servers of a network that have anything free, all equally likely."""

    reference = "Shabka, Zervas 2021, Nara, arXiv:2106.02412: its Random"
    rule = staticmethod(one_by_one(list_candidates, random_server))

    def scratch(self, view: NetworkView, network: Network, rng: np.random.Generator) -> Drawing:
        """Draw numbers from the run's random stream."""
        self._rng, servers = rng, len(view.free)
        return Drawing(network, rng.random(DRAWS + servers), np.zeros(servers, np.int32), np.zeros(4, np.int64))

    def decide(self, view: View, request: Request) -> Provisioned | Refusal | None:
        """Ask the rule, with as many new numbers as it has used, when it could run out of them."""
        draws, progress = self._scratch.draws, self._scratch.progress
        if progress[USED] > DRAWS:
            self._rng.random(out=draws)
            progress[USED] = 0
        return super().decide(view, request)


@kernel
def random_fit(free: Ints, demand: Amounts, spread: bool, draw: float) -> int:
    """Return, as a `Scan` does, the place at `draw`, in [0, 1), of the way through all that fit.

    `free` int64 [servers, nodes, resources], unchanged.
    """
    nodes: int = free.shape[1]
    before = -1
    for counting in (True, False):
        count = 0
        for server in range(len(free)):
            for node in range(1 if spread else nodes):
                if fits_spread(free, server, demand) if spread else fits_node(free, server, node, demand):
                    if not counting and count == before:
                        return server * nodes + node
                    count += 1
        before = int(draw * count)
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
