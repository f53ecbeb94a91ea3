"""Takes the trained network's favourite server, again and again."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from agents.environments.observation import observation, observe
from agents.learned.common.tensors import extra, find, fitting, read
from agents.learned.nara.inference import infer, layers, wiring
from agents.learned.nara.variants import noted, shapes
from agents.learned.network.sequential_choice import Choosing
from fabric.network import NetworkView
from simcore.jit import prepared
from simcore.types import Request, View

FEATURES = ("enough free", "chosen")
"""What the weights are for: see `agents.environments.observation`."""


class Nara(Choosing):
    """A graph neural network over servers, switches and links, trained with PPO.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote; its notes say which form of the network
    they are of. `mask` is "any" as published, or "feasible" to choose only servers that have a working route to those
    chosen.
    """

    reference = "Shabka, Zervas 2021, Nara, arXiv:2106.02412"
    remembers = ()
    needs_lifetimes = True

    def __init__(
        self, weights: str = "alpha-uniform", path: str | None = None, mask: Literal["any", "feasible"] = "any"
    ) -> None:
        super().__init__(mask)
        self._file = find("nara", weights, path)

    def prepare(self, view: NetworkView, rng: np.random.Generator) -> None:
        """Load the network."""
        topology = view.topology
        resources = len(view.resources)
        form = noted(self._file, read(self._file)[1])
        tensors = fitting(self._file, shapes(resources, form), described(view))
        self._features = form.seen
        self._seen = observation(topology, resources, 1, form.seen)
        self._total = view.capacity.sum(axis=(0, 1))
        self._written = seen = (self._seen.nodes[0, topology.switches :], self._seen.edges[0], self._seen.cluster[0])
        self._observe = prepared(observe, form.seen, self._total, view.free, view.link_free, self.room, 1, 1.0, *seen)
        scratch = np.zeros((2, topology.switches + topology.servers, form.width), np.float32)
        self._logits = np.zeros(topology.servers, np.float32)
        observed = (part[0] for part in self._seen)
        self._inputs = (wiring(topology), layers(tensors, form), *observed, *scratch, self._logits)
        self._infer = prepared(infer, *self._inputs)

    def scores(self, view: NetworkView, request: Request) -> npt.NDArray[Any]:
        """Return the network's logits."""
        self._observe(
            self._features,
            self._total,
            view.free,
            view.link_free,
            self.room,
            request.bandwidth,
            request.duration,
            *self._written,
        )
        self._infer(*self._inputs)
        return self._logits


def described(view: View) -> dict[str, Any]:
    """Return what the notes beside the weights say they were trained for."""
    return {"agent": "nara", "features": list(FEATURES), "resources": list(view.resources)}


def import_network() -> Any:
    """Import the part that needs torch, which is not imported before."""
    return extra("agents.learned.nara.network")
