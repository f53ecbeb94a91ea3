"""value-es in use: what every machine is worth, by trained weights."""

from __future__ import annotations

import numpy as np

from agents.learned.tensors import find, fits, read
from agents.learned.value_es.value import HIDDEN, KNOWN, SIZE, value_es
from simcore.errors import UserError
from simcore.jit import prepared
from simcore.vocabulary import Agent, Compiled, Floats, Placement, Request, View

NODES = 2


class ValueES(Agent):
    """The place that costs its machine least of its worth, a small function whose weights evolution found.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote; `terms` are the six terms alone, with
    the weights known before. Any number of machines, each of two NUMA nodes.
    """

    reference = "ours: docs/numa-learning.md has the method and the measurements"

    def __init__(self, weights: str = "huawei-10", path: str | None = None) -> None:
        self._file = None if weights == "terms" and path is None else find("value-es", weights, path)
        self._weights: Floats = np.zeros(SIZE)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights, have the kernel compiled or loaded."""
        check_servers(view)
        if self._file is None:
            self._weights[: len(KNOWN)] = KNOWN
        else:
            tensors, notes = read(self._file)
            wanted = {"agent": "value-es", "resources": list(view.resources), "nodes": NODES, "hidden": HIDDEN}
            fits(self._file, notes, **wanted)
            if "weights" not in tensors or tensors["weights"].shape != (SIZE,):
                raise UserError(
                    "not the weights of this network", file=self._file, remedy="Train some: `binwright train`."
                )
            self._weights[:] = tensors["weights"]
        demand = (1,) * len(view.resources)
        self._scan = prepared(value_es, view.free, view.capacity, demand, False, self._weights)

    def decide(self, view: View, request: Request) -> Placement | None:
        """Where the kernel says."""
        code = self._scan(view.free, view.capacity, request.demand, request.spread, self._weights)
        if code < 0:
            return None
        server = code // NODES
        return request.across(server, NODES) if request.spread else request.on(server, code - server * NODES)

    @property
    def compiled(self) -> Compiled:
        """The same for compiled simulations."""
        return Compiled(value_es, (self._weights,))


def check_servers(view: View) -> None:
    """Refuse servers that the value is not for."""
    _, nodes, resources = view.capacity.shape
    if nodes != NODES or resources != 2 or (view.capacity == 0).any():
        raise UserError(
            f"value-es is for servers of two NUMA nodes with some of two resources, not of {nodes} with {resources}",
            key="agents",
            value="value-es",
            remedy="Take another agent, such as internal.",
        )
