"""Takes servers of a network one by one, by one compiled loop for all rules: each says which server is next."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from binwright.fabric.multi_server import GOES_ON, Filling, begin, choose, filling
from binwright.fabric.network import NetworkView, Provisioned
from binwright.simcore.errors import UserError
from binwright.simcore.jit import lean, named_after, prepared
from binwright.simcore.types import Agent, Amounts, Ints, Placement, Refusal, Request, View

Rule: TypeAlias = Callable[[Any, Ints, Ints, Amounts, int, bool], int]
"""(scratch, free, link_free, demand, bandwidth, masked) -> what `choose` returned last; 0 where none is left.

`free` int64 [servers, nodes, resources] and `link_free` int64 [links] are unchanged; `scratch` is what the agent makes
in `scratch`, whose `room` is a `Filling`. With `masked` only servers are chosen that have a working route to all
chosen before.
"""


def largest(view: NetworkView) -> list[int]:
    """Return the most that a server has of each resource, and then the widest link of a server's own."""
    topology = view.topology
    widest = int(topology.link_capacity[: topology.servers].max())
    return [*view.capacity.sum(axis=1).max(axis=0).tolist(), widest]


def one_by_one(following: Callable[..., int]) -> Any:
    """Make a `Rule` of a kernel, which takes servers until the request is complete or no server is left.

    `following(scratch, free, link_free, bandwidth, masked)` returns the next server, -1 for none. Before the first one
    the room still needs all that the request asks for. Where no server can be reached it is asked once more without the
    mask, to tell for want of what.
    """
    next_of: Any = following

    def rule(scratch: Any, free: Ints, link_free: Ints, demand: Amounts, bandwidth: int, masked: bool) -> int:
        room, status = scratch.room, GOES_ON
        begin(room, demand)
        while status == GOES_ON:
            server = next_of(scratch, free, link_free, bandwidth, masked)
            if server < 0 and masked:
                server = next_of(scratch, free, link_free, bandwidth, False)
            if server < 0:
                break
            status = choose(room, free, link_free, server, bandwidth)
        return status

    return lean(named_after(following, rule, "_taken"))


def network_of(agent: Agent, view: View) -> NetworkView:
    """Return the view as one of a network; raises a `UserError` where the cluster has none."""
    if not isinstance(view, NetworkView):
        raise UserError(
            f"{type(agent).__name__} takes servers from a network, and this cluster has none",
            remedy="Give the cluster a network, or take another agent, such as best-fit.",
        )
    return view


class NetworkAgent(Agent, ABC):
    """Decides by one kernel over servers and links. Subclasses name it, and make its scratch."""

    rule: Rule
    masked = False
    """Pass over servers without a working route to those chosen before: see `Feasible`."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        view = network_of(self, view)
        topology, (_, nodes, resources) = view.topology, view.free.shape
        self._room = filling(view.routing, nodes, resources)
        self._scratch = self.scratch(view, self._room)
        self._refusals = [Refusal(f"no path: {tier}") for tier in topology.tiers]
        self._rule = prepared(self.rule, self._scratch, view.free, view.link_free, (1,) * resources, 1, False)

    @abstractmethod
    def scratch(self, view: NetworkView, room: Filling) -> Any:
        """Return the first argument of the rule."""

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        assert isinstance(view, NetworkView)
        wanted = request.demand, request.bandwidth
        status = self._rule(self._scratch, view.free, view.link_free, *wanted, self.masked)
        if status <= 0:
            return self._refusals[-1 - status] if status else None
        return provisioned(self._room)


def provisioned(room: Filling) -> Provisioned:
    """Return the placement that a complete filling holds."""
    servers, shares, links, _ = room.counts.tolist()
    chosen = room.servers[:servers].tolist()
    places, amounts = room.places[:shares].tolist(), room.amounts[:shares].tolist()
    taken = tuple((server, node, tuple(part)) for (server, node), part in zip(places, amounts, strict=True))
    nothing = ((chosen[0], 0, (0,) * len(room.need)),)
    return Provisioned(taken or nothing, tuple(room.links[:links].tolist()), tuple(chosen))
