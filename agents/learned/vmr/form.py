"""The form of the network: its layers, their weights, and the same network without torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.agents.learned.common.tensors import Tensors
from binwright.agents.learned.vmr.observation import NODE, PLACE, REQUEST, Sight
from binwright.simcore.types import Ints

WIDTH = 32
LAYERS = {
    "node": (NODE, WIDTH),
    "request": (REQUEST, WIDTH),
    "which_node": (WIDTH, WIDTH),
    "which_all": (2 * WIDTH, WIDTH),
    "which_own": (WIDTH, WIDTH),
    "which": (WIDTH, 1),
    "place": (PLACE, WIDTH),
    "where_node": (WIDTH, WIDTH),
    "where_chosen": (WIDTH, WIDTH),
    "where_own": (WIDTH, WIDTH),
    "where": (WIDTH, 1),
    "value_all": (2 * WIDTH, WIDTH),
    "value": (WIDTH, 1),
}
"""Inputs and outputs of each layer; a layer has weights and a bias."""
DIGITS = 4
"""What is preferred by less than that many digits tell is preferred by nothing: equals go to the lowest index."""

Matrix = npt.NDArray[np.float32]


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the shape of every array of weights, as torch names and lays them out."""
    found: dict[str, tuple[int, ...]] = {}
    for name, (inputs, outputs) in LAYERS.items():
        found |= {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}
    return found


class Forward:
    """Computes the network's preferences with numpy, of one cluster at a time."""

    def __init__(self, tensors: Tensors) -> None:
        self._layers = {
            name: (np.ascontiguousarray(tensors[f"{name}.weight"].T), tensors[f"{name}.bias"]) for name in LAYERS
        }

    def _apply(self, name: str, inputs: Matrix) -> Any:
        weights, bias = self._layers[name]
        return np.einsum("...f,fu->...u", inputs, weights) + bias  # which, unlike `@`, adds up in one order

    def which(self, sight: Sight, place: Ints) -> Matrix:
        """Return how much each request is preferred, float32 [n]; `place` int64 [n] is where they are."""
        nodes = _relu(self._apply("node", sight.nodes))
        self._requests = _relu(self._apply("request", sight.requests))
        self._there = self._apply("where_node", nodes)
        pooled = np.concatenate([nodes.mean(axis=0), self._requests.mean(axis=0)])
        hidden = self._apply("which_own", self._requests) + self._apply("which_node", nodes)[place]
        logits = self._apply("which", _relu(hidden + self._apply("which_all", pooled)))[:, 0]
        return np.where(sight.movable, logits, np.float32(-np.inf))

    def where(self, sight: Sight, which: int) -> Matrix:
        """Return how much each place is preferred for a request of which `which` has been asked before."""
        own = self._apply("where_own", _relu(self._apply("place", sight.places)))
        hidden = own + self._there + self._apply("where_chosen", self._requests[which])
        logits = self._apply("where", _relu(hidden))[:, 0]
        return np.where(sight.fitting, logits, np.float32(-np.inf))


def _relu(values: Any) -> Any:
    return np.maximum(values, 0)
