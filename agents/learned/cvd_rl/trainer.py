"""Trains cvd-rl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from binwright.agents.heuristics.servers.candidates import Filter, counts
from binwright.agents.learned.common.tensors import Tensors, extra
from binwright.agents.learned.common.trainer import Count
from binwright.agents.learned.cvd_rl.agent import described
from binwright.agents.learned.cvd_rl.rule import LAYERS, NODES, WIDTH, cvd_rl, cvd_rl_exploring, sizes
from binwright.agents.learned.cvd_rl.sights import Sights, distinct, look_around_all
from binwright.agents.learned.numa.dqn import DQN
from binwright.agents.learned.numa.mlp import put, taken, untrained
from binwright.agents.learned.numa.trajectory import Decisions
from binwright.simcore.types import Compiled, Floats, Ints

SIGHTS = 1_000_000
"""How many different sights of servers are kept, at least, before those that are in no decision any more are left out.
"""


@dataclass
class CvdTrainer(DQN):
    """Double DQN on the sum of the servers' values after placing, among the candidates of the top-k filter.

    `filter`, `k`, `lookahead` and `decomposition` are as in the agent; the network has `layers` layers of weights, and
    `width` units between them. With `sizes` absolute it also sees how much is free, and so of which kind a server is;
    as measured by an average node of the training. More settings are in `binwright.agents.learned.numa.dqn`.
    """

    agent = "cvd-rl"
    filter: Filter = "both"
    k: Count | None = None
    lookahead: bool = True
    decomposition: bool = True
    width: Count = WIDTH
    layers: Count = LAYERS
    sizes: Literal["relative", "absolute"] = "relative"

    def __post_init__(self) -> None:
        self._counts = counts(self.filter, self.k)

    def make(self, rng: np.random.Generator) -> tuple[Callable[[], Any], Floats]:
        """Return how to make the network, and its first numbers."""
        capacity, operators = self.view.capacity, (self.lookahead, self.decomposition)
        servers, absolute = None if self.decomposition else len(capacity), self.sizes == "absolute"
        self._units: Floats = np.floor(capacity.mean(axis=(0, 1))) if absolute else np.zeros(0)
        self._how = np.array([*self._counts, *operators, self.layers, self.width, *self._units], np.float64)
        self._sights, self._most = Sights(self.lookahead, self._units), SIGHTS
        self._numbers = np.empty((0, len(self.view.capacity) + self.slots()), np.int32)
        self._sizes = sizes(self.lookahead, servers, self.width, self.layers, absolute)
        kind = extra("binwright.agents.learned.cvd_rl.network").Values
        return partial(kind, self._sizes, self.decomposition), untrained(self._sizes, rng)

    def remember(self, new: Decisions) -> None:
        """Remember decisions, and with decomposition number what the network sees in them."""
        super().remember(new)
        if not self.decomposition:
            return
        if self._sights.count <= self._most:
            numbers = [self._numbers, self._sights.number(new, self.view.capacity)]
            self._numbers = np.concatenate(numbers)[-self.memory :]
        else:  # forget what is in no decision any more
            self._sights = Sights(self.lookahead, self._units)
            self._numbers = self._sights.number(self.remembered, self.view.capacity)
            self._most = max(SIGHTS, 2 * self._sights.count)

    def inputs(self, rows: Ints, slots: Ints) -> tuple[npt.NDArray[Any], ...]:
        """Return what the network sees, where that is of servers and choices, and which servers are chosen."""
        memory = self.remembered
        codes = np.maximum(np.take_along_axis(memory.candidates[rows], slots, axis=1), 0).astype(np.int64)
        servers, capacity = codes // NODES, self.view.capacity
        if self.decomposition:
            numbers = self._numbers[rows]
            there = np.take_along_axis(numbers, slots + len(capacity), axis=1)
            wanted = np.concatenate([numbers[:, : len(capacity)], there], axis=1)
            found, places = distinct(wanted, self._sights.count)
            return self._sights.seen[found], places, servers
        seen = np.empty((*codes.shape, self._sizes[0]), np.float32)
        of = memory.free[rows], memory.demand[rows], memory.spread[rows]
        look_around_all(*of, codes, capacity, self.lookahead, self._units, seen)
        return seen.reshape(-1, self._sizes[0]), np.arange(codes.size).reshape(codes.shape), servers

    def put(self, network: Any, numbers: Floats) -> None:
        """Put numbers into the network, layer by layer."""
        put(network.layers, numbers)

    def taken(self, network: Any) -> Floats:
        """Return the numbers of the network, layer by layer."""
        return taken(network.layers)

    def rule(self, network: Any, recorded: Floats | None) -> Compiled:
        """Return the agent's kernel, or the one that explores."""
        numbers = self.taken(network), self._how
        return Compiled(cvd_rl, numbers) if recorded is None else Compiled(cvd_rl_exploring, (*numbers, recorded))

    def slots(self) -> int:
        """Return how many candidates the filter lets through, or how many places there are."""
        return sum(self._counts) or self.view.capacity.shape[0] * self.view.capacity.shape[1]

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the network's weights, and which candidates they were trained with."""
        notes = described(self.view, self.lookahead, self.decomposition, self._sizes, self._units)
        notes |= {"filter": self.filter, "k": self.k}
        return {"weights": self.taken(self.averaged_network).astype(np.float32)}, notes
