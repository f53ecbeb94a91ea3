"""Trains cvd-rl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.learned.common.settings import Count
from agents.learned.common.tensors import Tensors, extra
from agents.learned.cvd_rl.agent import described
from agents.learned.cvd_rl.rule import NODES, cvd_rl, cvd_rl_exploring, look_all, sizes
from agents.learned.numa.dqn import DQN
from agents.learned.numa.mlp import put, taken, untrained
from agents.learned.numa.tape import Decisions
from agents.rules.candidates import Filter, counts
from simcore.vocabulary import Compiled, Floats, Ints


@dataclass
class CvdTrainer(DQN):
    """Double DQN on the sum of the servers' values after placing, among the candidates of the top-k filter.

    `filter`, `k`, `lookahead` and `decomposition` are as in the agent; more settings are in `agents.learned.numa.dqn`.
    """

    agent = "cvd-rl"
    filter: Filter = "both"
    k: Count = 5
    lookahead: bool = True
    decomposition: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._counts = counts(self.filter, self.k)
        self._how = np.array([*self._counts, self.lookahead, self.decomposition], np.float64)

    def make(self, rng: np.random.Generator) -> tuple[Callable[[], Any], Floats]:
        """Return how to make the network of one server, and its first numbers."""
        kind = extra("agents.learned.cvd_rl.network").Values
        return partial(kind, self.lookahead, self.decomposition), untrained(sizes(self.lookahead), rng)

    def inputs(self, decisions: Decisions, codes: Ints) -> tuple[npt.NDArray[Any], ...]:
        """Return every server as it is, those of the choices with the request there, and which servers these are."""
        rows = codes.shape[1] + len(self.view.capacity) * self.decomposition
        seen = np.empty((len(codes), rows, sizes(self.lookahead)[0]), np.float32)
        look_all(
            decisions.free,
            self.view.capacity,
            decisions.demand,
            decisions.spread,
            codes,
            self.lookahead,
            self.decomposition,
            seen,
        )
        return seen, codes // NODES

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
        notes = described(self.view, self.lookahead, self.decomposition) | {"filter": self.filter, "k": self.k}
        return {"weights": self.taken(self._network).astype(np.float32)}, notes
