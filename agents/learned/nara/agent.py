"""Takes the trained network's favourite server, again and again."""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from binwright.agents.environments.observation import Watched, deduct, show, shown
from binwright.agents.learned.common.tensors import extra, find, fitting, read
from binwright.agents.learned.nara.inference import infer, layers, wiring
from binwright.agents.learned.nara.variants import noted, shapes
from binwright.agents.networked import network_of, provisioned
from binwright.fabric.multi_server import Filling, begin, choose, filling
from binwright.fabric.network import NetworkView, Provisioned
from binwright.fabric.reachable_servers import allow, homes, narrow
from binwright.simcore.jit import prepared
from binwright.simcore.types import Agent, Refusal, Request, View

FEATURES = ("enough free", "chosen")
"""What the weights are for: see `binwright.agents.environments.observation`."""


class Nara(Agent):
    """A graph neural network over servers, switches and links, trained with PPO.

    It takes servers one by one, each time the one with the largest score, and scores again after every choice; equals
    go to the first.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote; its notes say which form of the network
    they are of. `mask` is "any" as published, to choose from all servers that have anything free and are not chosen, or
    "feasible" for those that also have a working route to all chosen.
    """

    reference = "Shabka, Zervas 2021, Nara, arXiv:2106.02412"
    needs_lifetimes = True

    def __init__(
        self, weights: str = "alpha-uniform", path: str | None = None, mask: Literal["any", "feasible"] = "any"
    ) -> None:
        self.feasible = mask == "feasible"
        self._file = find("nara", weights, path)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Make the arrays to work in, and load the network."""
        view = network_of(self, view)
        servers, nodes, resources = view.capacity.shape
        topology, routes = view.topology, view.routing.routes
        self.room = room = filling(view.routing, nodes, resources)
        self.allowed = np.zeros(servers, np.bool_)
        self._home, self._reach = homes(topology), np.zeros(topology.racks, np.bool_)
        self._refusals = [Refusal(f"no path: {tier}") for tier in topology.tiers]
        free, wires = view.free, view.link_free
        self._begin = prepared(begin, room, (1,) * resources)
        self._allow = prepared(allow, routes, free, wires, room, 1, self._reach, True, self.allowed)
        self._choose = prepared(choose, routes, wires, topology.link_tier, free, room, 1, 1, True)
        self._narrow = prepared(narrow, routes, self._home, wires, room, 1, 1, True, self._reach)
        self._load(view)

    def decide(self, view: View, request: Request) -> Provisioned | Refusal | None:
        """Take servers until the request is complete, or one has no route."""
        assert isinstance(view, NetworkView)
        self._begin(self.room, request.demand)
        self._reach[:] = True
        while self._may_choose(view, request, self.feasible):
            scores = np.where(self.allowed, self._scores(view, request), -np.inf)
            server = int(scores.argmax())
            status = self._take(view, request, server)
            if status:
                return self._refusals[-1 - status] if status < 0 else provisioned(self.room)
            if self.feasible:
                routes, bandwidth = view.routing.routes, request.bandwidth
                self._narrow(
                    routes, self._home, view.link_free, self.room, server, bandwidth, view.weighted, self._reach
                )
        if self.feasible and self._may_choose(view, request, False):  # tell for want of what
            return self._refusals[-1 - self._take(view, request, int(self.allowed.argmax()))]
        return None

    def _may_choose(self, view: NetworkView, request: Request, feasible: bool) -> bool:
        routes, bandwidth = view.routing.routes, request.bandwidth
        return self._allow(routes, view.free, view.link_free, self.room, bandwidth, self._reach, feasible, self.allowed)

    def _take(self, view: NetworkView, request: Request, server: int) -> int:
        routes, tiers = view.routing.routes, view.topology.link_tier
        return self._choose(
            routes, view.link_free, tiers, view.free, self.room, server, request.bandwidth, view.weighted
        )

    def _load(self, view: NetworkView) -> None:
        topology = view.topology
        resources = len(view.resources)
        form = noted(self._file, read(self._file)[1])
        tensors = fitting(self._file, shapes(resources, form), described(view))
        self._fixed: Any = form.seen.plain, topology.switches, np.zeros(3)
        self._shown = shown(topology, resources, 1, form.seen)
        self._total, room = view.capacity.sum(axis=(0, 1)), cast(Any, self.room)
        self._filling = Filling(*(array[None] for array in room))
        watched, self._left = self._watched(view, 1, 1.0), form.seen.left
        self._observe: Any = prepared(show, watched, *self._fixed, self._shown, 0, 1, False)
        self._deduct: Any = prepared(deduct, watched, *self._fixed[:2], self._filling, self._shown)
        scratch = np.zeros((2, topology.switches + topology.servers, form.width), np.float32)
        self._logits = np.zeros(topology.servers, np.float32)
        observed = (part[0] for part in self._shown.seen)
        self._inputs = (wiring(topology), layers(tensors, form), *observed, *scratch, self._logits)
        self._infer = prepared(infer, *self._inputs)

    def _watched(self, view: NetworkView, bandwidth: int, duration: float) -> Watched:
        """Collect what the network is shown of one request."""
        room, free, link_free = self._filling, view.free[None], view.link_free[None]
        at, result = np.array([[0, 1]]), np.zeros((1, 2), np.int64)
        lasts, wide = np.array([[duration]], np.float64), np.array([[bandwidth]], np.int64)
        need, counts, servers, chosen = room.need, room.counts, room.servers, room.chosen
        return Watched(self._total, free, link_free, at, lasts, wide, result, need, counts, servers, chosen)

    def _scores(self, view: NetworkView, request: Request) -> npt.NDArray[Any]:
        """Return the network's logits of all servers, given `self.room`: what is chosen so far and still needed."""
        watched, self._shown.row[0] = self._watched(view, request.bandwidth, request.duration), -1
        self._observe(watched, *self._fixed, self._shown, 0, 1, False)
        if self._left:
            self._deduct(watched, *self._fixed[:2], self._filling, self._shown)
        self._infer(*self._inputs)
        return self._logits


def described(view: View) -> dict[str, Any]:
    """Return what the notes beside the weights say they were trained for."""
    return {"agent": "nara", "features": list(FEATURES), "resources": list(view.resources)}


def import_network() -> Any:
    """Import the part that needs torch, which is not imported before."""
    return extra("binwright.agents.learned.nara.network")
