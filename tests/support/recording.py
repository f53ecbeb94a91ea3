"""An agent for networks that keeps what it saw and what it chose."""

from dataclasses import dataclass, field

import numpy as np

from binwright.fabric.multi_server import COMPLETE, begin, choose, filling
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.routing import find_route
from binwright.simcore.types import Agent, Ints, Placement, Request, View


@dataclass
class Choice:
    """What an agent saw before it chose a server, and the server."""

    row: int
    now: float
    free: Ints
    link_free: Ints
    need: list[int]
    mask: list[bool]
    server: int


@dataclass
class Recorder(Agent):
    """Chooses at random among the servers that may be chosen, and keeps all of it."""

    rng: np.random.Generator
    feasible: bool
    choices: list[Choice] = field(default_factory=list)

    def decide(self, view: View, request: Request) -> Placement | None:
        assert isinstance(view, NetworkView)
        servers, nodes, resources = view.free.shape
        room = filling(view.routing, nodes, resources)
        begin(room, request.demand)
        chosen: list[int] = []
        while any(mask := [self._may(view, request, server, chosen) for server in range(servers)]):
            server = int(self.rng.choice(np.flatnonzero(mask)))
            self.choices.append(
                Choice(
                    request.index, view.now, view.free.copy(), view.link_free.copy(), room.need.tolist(), mask, server
                )
            )
            status = choose(room, view.free, view.link_free, server, request.bandwidth)
            if status < 0:
                return None
            chosen.append(server)
            if status == COMPLETE:
                count = int(room.counts[1])
                shares = [
                    (int(s), int(n), tuple(part))
                    for (s, n), part in zip(room.places[:count], room.amounts[:count].tolist(), strict=True)
                ]
                links = tuple(room.links[: room.counts[2]].tolist())
                nothing = [(chosen[0], 0, (0,) * resources)]
                return Provisioned(tuple(shares or nothing), links, tuple(chosen))
        return None

    def _may(self, view: NetworkView, request: Request, server: int, chosen: list[int]) -> bool:
        if server in chosen or not view.free[server].any():
            return False
        out = np.empty(view.routing.longest, np.int32)
        return not self.feasible or all(
            find_route(view.routing.routes, view.link_free, other, server, request.bandwidth, out) >= 0
            for other in chosen
        )
