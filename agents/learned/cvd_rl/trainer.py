"""Training cvd-rl."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.candidates import Filter, counts
from agents.learned.cvd_rl.agent import described
from agents.learned.cvd_rl.rule import NODES, cvd_rl, cvd_rl_exploring, look_all, sizes
from agents.learned.dqn import DQN, Reward
from agents.learned.mlp import put, taken, untrained
from agents.learned.tape import Decisions
from agents.learned.tensors import Tensors, extra
from agents.learned.value_es.agent import check_servers
from simcore.vocabulary import Compiled, Floats, Ints, View


class CvdTrainer(DQN):
    """Double DQN on the sum of the machines' values after placing, among the candidates of the top-k filter.

    `filter`, `k`, `lookahead` and `decomposition` are as in the agent; more settings are in `agents.learned.dqn`.
    """

    agent = "cvd-rl"

    def __init__(
        self,
        filter: Filter = "both",
        k: int = 5,
        lookahead: bool = True,
        decomposition: bool = True,
        episodes: int = 5,
        pool: int = 250,
        warm: tuple[float, ...] = (0.0, 0.3, 0.5),
        updates: int = 16,
        batch: int = 128,
        memory: int = 50_000,
        rate: float = 5e-4,
        discount: float = 0.99,
        reward: Reward = "one",
        explore: float = 0.05,
        annealed: int = 300,
        target: int = 100,
        against: str = "best-fit",
    ) -> None:
        super().__init__(
            episodes, pool, warm, updates, batch, memory, rate, discount, reward, explore, annealed, target, against
        )
        self._counts, self._lookahead, self._decomposition = counts(filter, k), lookahead, decomposition
        self._filter = {"filter": filter, "k": k}
        self._how = np.array([*self._counts, lookahead, decomposition], np.float64)

    def check(self, view: View) -> None:
        """Any number of machines of two nodes and two resources."""
        check_servers(view, "cvd-rl")

    def make(self, rng: np.random.Generator) -> tuple[Callable[[], Any], Floats]:
        """The network of one machine."""
        kind = extra("agents.learned.cvd_rl.network").Values
        return partial(kind, self._lookahead, self._decomposition), untrained(sizes(self._lookahead), rng)

    def inputs(self, decisions: Decisions, codes: Ints) -> tuple[npt.NDArray[Any], ...]:
        """Every machine as it is, those of the choices with the request there, and which machines these are."""
        rows = codes.shape[1] + len(self.view.capacity) * self._decomposition
        seen = np.empty((len(codes), rows, sizes(self._lookahead)[0]), np.float32)
        look_all(
            decisions.free,
            self.view.capacity,
            decisions.demand,
            decisions.spread,
            codes,
            self._lookahead,
            self._decomposition,
            seen,
        )
        return seen, codes // NODES

    def put(self, network: Any, numbers: Floats) -> None:
        """Layer by layer."""
        put(network.layers, numbers)

    def taken(self, network: Any) -> Floats:
        """Layer by layer."""
        return taken(network.layers)

    def rule(self, network: Any, recorded: Floats | None) -> Compiled:
        """The agent's kernel, or the one that explores."""
        numbers = self.taken(network), self._how
        return Compiled(cvd_rl, numbers) if recorded is None else Compiled(cvd_rl_exploring, (*numbers, recorded))

    def slots(self) -> int:
        """As many as the filter lets through, or all places."""
        return sum(self._counts) or self.view.capacity.shape[0] * self.view.capacity.shape[1]

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Of the network, and which candidates they were trained with."""
        notes = {**described(self.view, self._lookahead, self._decomposition), **self._filter}
        return {"weights": self.taken(self._network).astype(np.float32)}, notes
