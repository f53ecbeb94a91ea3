"""Takes the trained network's cheapest candidate, in one compiled call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from agents.learned.common.tensors import find, fitting
from agents.learned.fabric_rl.network import FEATURES, SHAPES, SIZE, TERMS, Weights, beginning, weights_of
from agents.learned.fabric_rl.search import place
from agents.learned.fabric_rl.sight import forget, sight
from agents.learned.network.choosing import provisioned
from agents.networked import network_of
from fabric.filling import COMPLETE, choose
from fabric.network import NetworkView, Provisioned
from simcore.jit import prepared
from simcore.vocabulary import Agent, Floats, Refusal, Request, View

CONTROLS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "beginning": beginning,
    "untrained": lambda rng: rng.normal(size=SIZE),
}
"""Weights to compare the trained ones with."""


class FabricRL(Agent):
    """Candidates for every rack as home, made and compared by a small network that an evolution strategy trained.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote. With `reject` it also rejects requests
    that it could place, when they would take too much from those to come.

    Controls: `weights` may be "beginning", what training begins with, or "untrained", random numbers, others for every
    seed; `choice` may be "random" among the same candidates.
    """

    reference = "ours: docs/guides/learned.md has the method and the measurements"
    remembers = "_sight.known", "_sight.ends"
    needs_lifetimes = True

    def __init__(
        self,
        weights: str = "alpha-uniform",
        path: str | None = None,
        reject: bool = False,
        choice: Literal["cheapest", "random"] = "cheapest",
    ) -> None:
        self._control = weights if weights in CONTROLS and path is None else None
        self._file = None if self._control else find("fabric-rl", weights, path, CONTROLS)
        self._reject, self._random = reject, choice == "random"

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights, and make room to work in."""
        view = network_of(self, view)
        self._weights = self._read(view, rng)
        self._rng = rng
        self._sight = sight(view)
        self._refusals = [Refusal(f"no path: {tier}") for tier in view.topology.tiers]
        self._demand: Any = np.zeros(len(view.resources), np.int64)  # an array, as in training
        seen = view.free, view.link_free, self._demand
        self._place = prepared(place, self._sight, self._weights, *seen, 1, 0.0, 1.0, False, self._reject)
        self._forget = prepared(forget, self._sight, view.free, view.capacity)

    def decide(self, view: View, request: Request) -> Provisioned | Refusal | None:
        """Take the cheapest candidate, if it is worth it."""
        assert isinstance(view, NetworkView)
        if self._random:
            self._sight.lots[:] = 1e9 * self._rng.random(self._sight.lots.shape)
        self._forget(self._sight, view.free, view.capacity)  # what a failure interrupted has not left at its end
        self._demand[:] = request.demand
        status = self._place(
            self._sight,
            self._weights,
            view.free,
            view.link_free,
            self._demand,
            request.bandwidth,
            view.now,
            request.duration,
            view.weighted,
            self._reject,
        )
        if status == COMPLETE:
            return provisioned(self._sight.room)
        return self._blamed(view, request) if status < 0 else None

    def _read(self, view: NetworkView, rng: np.random.Generator) -> Weights:
        if self._file is None:
            return weights_of(CONTROLS[str(self._control)](rng))
        return Weights(**fitting(self._file, SHAPES, described(view)))

    def _blamed(self, view: NetworkView, request: Request) -> Refusal | None:
        """Say for want of what the last candidate could not go on."""
        room, routes, tiers = self._sight.room, view.routing.routes, view.topology.link_tier
        left = np.flatnonzero(view.free.any(axis=(1, 2)) & (room.chosen != room.counts[3]))
        if len(left) == 0:
            return None
        status = choose(routes, view.link_free, tiers, view.free, room, int(left[0]), request.bandwidth, view.weighted)
        return self._refusals[-1 - status] if status < 0 else None


def described(view: View) -> dict[str, Any]:
    """Return what the notes beside the weights say they were trained for."""
    return {"agent": "fabric-rl", "features": [*FEATURES, *TERMS], "resources": list(view.resources)}
