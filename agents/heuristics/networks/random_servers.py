"""Takes servers of a network at random."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.heuristics.networks.common import Network, NetworkAgent, answered, take
from fabric.multi_server import GOES_ON, begin, has_any
from fabric.network import NetworkView, Provisioned
from fabric.routing import find_route
from fabric.topology import Indices
from simcore.jit import kernel
from simcore.types import Amounts, Floats, Ints, Refusal, Request, View

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
        place = max(0, min(int(drawing.draws[drawing.used[0]] * count), count - 1))  # what is recalled may be anything
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
    return answered(network, status)


class RandomServers(NetworkAgent):
    """Any servers of a network that have anything free, all equally likely."""

    reference = "Shabka, Zervas 2021, Nara, arXiv:2106.02412: its Random"
    remembers = ("drawn",)
    rule = staticmethod(random_servers)

    def scratch(self, view: NetworkView, shared: Network, rng: np.random.Generator) -> Drawing:
        """Draw numbers from the run's random stream."""
        servers = len(view.free)
        draws = rng.random(DRAWS + servers)
        self.drawn, self._rng, self._enough = (draws, np.zeros(1, np.int64)), rng, len(draws) - servers
        return Drawing(shared, *self.drawn, np.zeros(servers, np.int32))

    def decide(self, view: View, request: Request) -> Provisioned | Refusal | None:
        """Ask the rule, with as many new numbers as it has used, when it could run out of them."""
        draws, used = self._scratch.draws, self._scratch.used
        if not 0 <= used[0] <= self._enough:
            self._rng.random(out=draws)
            used[0] = 0
        return super().decide(view, request)
