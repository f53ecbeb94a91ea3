"""Trains cvd-rl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from binwright.agents.heuristics.servers.candidates import Filter, counts
from binwright.agents.learned.common.tensors import Tensors
from binwright.agents.learned.common.trainer import Count
from binwright.agents.learned.cvd_rl.agent import described
from binwright.agents.learned.cvd_rl.rule import (
    LAYERS,
    NODES,
    WIDTH,
    cvd_rl,
    cvd_rl_exploring,
    look,
    look_around,
    sizes,
)
from binwright.agents.learned.numa.dqn import DQN
from binwright.agents.learned.numa.dqn_update import Reals, Shape
from binwright.agents.learned.numa.mlp import untrained
from binwright.agents.learned.numa.replay_buffer import Decisions
from binwright.simcore.jit import kernel
from binwright.simcore.types import Compiled, Floats, Ints


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

    def make(self, rng: np.random.Generator) -> tuple[Shape, int, Floats]:
        """Return the network of one server, or without decomposition of the cluster."""
        capacity, operators = self.view.capacity, (self.lookahead, self.decomposition)
        servers, absolute = None if self.decomposition else len(capacity), self.sizes == "absolute"
        self._units: Floats = np.floor(capacity.mean(axis=(0, 1))) if absolute else np.zeros(0)
        self._how = np.array([*self._counts, *operators, self.layers, self.width, *self._units], np.float64)
        self._sizes = sizes(self.lookahead, servers, self.width, self.layers, absolute)
        return Shape(self.layers, self.width, 1, False), self._sizes[0], untrained(self._sizes, rng)

    def cells(self, decisions: Decisions) -> tuple[Ints, Ints, Ints]:
        """Share all servers as they are, and exchange the chosen one; or else value the cluster after each choice."""
        capacity, candidates = self.view.capacity, np.maximum(decisions.candidates.astype(np.int64), 0)
        servers = len(capacity) if self.decomposition else 0
        observed = np.empty((len(candidates), servers + self.slots(), self._sizes[0]), np.float32)
        of = decisions.free, decisions.demand, decisions.spread, candidates
        observe_all(*of, capacity, self.lookahead, self._units, servers, observed)
        numbers = self.buffer.number(observed)
        shared, after = numbers[:, :servers], numbers[:, servers:]
        before = np.take_along_axis(shared, candidates // NODES, axis=1) if servers else np.zeros_like(after)
        return shared, after, before

    def rule(self, network: Reals, recorded: Floats | None) -> Compiled:
        """Return the agent's kernel, or the one that explores."""
        numbers = network.astype(np.float64), self._how
        return Compiled(cvd_rl, numbers) if recorded is None else Compiled(cvd_rl_exploring, (*numbers, recorded))

    def slots(self) -> int:
        """Return how many candidates the filter lets through, or how many places there are."""
        return sum(self._counts) or self.view.capacity.shape[0] * self.view.capacity.shape[1]

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the network's weights, and which candidates they were trained with."""
        notes = described(self.view, self.lookahead, self.decomposition, self._sizes, self._units)
        return {"weights": self.averaged_network.copy()}, notes | {"filter": self.filter, "k": self.k}


@kernel
def observe_all(
    free: Floats, demands: Floats, spread: Floats, candidates: Ints, capacity: Ints, ahead: bool, units: Floats,
    servers: int, observed: npt.NDArray[np.float32],
) -> None:  # fmt: skip
    """Write to observed [n, servers + slots, inputs] the `servers` as they are, and each candidate's after the choice.

    With 0 servers it is the whole cluster after each choice.
    """
    for b in range(len(free)):
        demand, both = (int(demands[b, 0]), int(demands[b, 1])), spread[b] > 0
        for server in range(servers):
            look(free[b], capacity, server, -1, demand, both, ahead, units, observed[b, server], 0)
        for i in range(candidates.shape[1]):
            seen = observed[b, servers + i]
            look_around(free[b], capacity, candidates[b, i], demand, both, ahead, units, servers == 0, seen)
