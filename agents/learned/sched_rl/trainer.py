"""Trains sched-rl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.agents.learned.common.tensors import Tensors, extra
from binwright.agents.learned.common.trainer import Count
from binwright.agents.learned.numa.dqn import DQN
from binwright.agents.learned.numa.mlp import put, size_of, taken, untrained
from binwright.agents.learned.sched_rl.agent import check_servers, described, sizes
from binwright.agents.learned.sched_rl.rule import HIDDEN, WIDTH, sched_rl, sched_rl_exploring, trunk
from binwright.simcore.types import Compiled, Floats, Ints, View


@dataclass
class SchedTrainer(DQN):
    """Dueling double DQN over all places.

    The two streams share `hidden` layers of `width` units; more settings are in `binwright.agents.learned.numa.dqn`.
    """

    agent = "sched-rl"
    width: Count = WIDTH
    hidden: Count = HIDDEN

    def check(self, view: View) -> None:
        """Refuse servers that are not all alike."""
        check_servers(view)

    def make(self, rng: np.random.Generator) -> tuple[Callable[[], Any], Floats]:
        """Return how to make the network of a cluster like this, and its first numbers."""
        capacity = self.view.capacity
        self._needed = sizes(capacity, self.width, self.hidden)
        numbers = [untrained(self._needed, rng), untrained((self._needed[-2], 1), rng)]
        kind = extra("binwright.agents.learned.sched_rl.network").Dueling
        return partial(kind, trunk(capacity, self.width, self.hidden), self._needed[-1]), np.concatenate(numbers)

    def inputs(self, rows: Ints, slots: Ints) -> tuple[npt.NDArray[Any], ...]:
        """Return what is free, the demand and whether it is spread, in a row; and the choices."""
        memory, capacity = self.remembered, self.view.capacity
        shares = memory.free[rows].reshape(len(rows), -1) / capacity.ravel()
        asked = memory.demand[rows] / capacity[0, 0]
        codes = np.maximum(np.take_along_axis(memory.candidates[rows], slots, axis=1), 0).astype(np.int64)
        return np.column_stack([shares, asked, memory.spread[rows]]).astype(np.float32), codes

    def _layers(self, network: Any) -> list[Any]:
        """Return the layers that a decision needs, and last the value of the state, which decides nothing."""
        return [*network.trunk, network.advantage, network.value]

    def put(self, network: Any, numbers: Floats) -> None:
        """Put numbers into the network, layer by layer."""
        put(self._layers(network), numbers)

    def taken(self, network: Any) -> Floats:
        """Return the numbers of the network, layer by layer."""
        return taken(self._layers(network))

    def _deciding(self, network: Any) -> Floats:
        return self.taken(network)[: size_of(self._needed)]

    def rule(self, network: Any, recorded: Floats | None) -> Compiled:
        """Return the agent's kernel, or the one that explores."""
        numbers = self._deciding(network), np.array([self.hidden, self.width], np.float64)
        return Compiled(sched_rl, numbers) if recorded is None else Compiled(sched_rl_exploring, (*numbers, recorded))

    def slots(self) -> int:
        """Return how many places there are."""
        return self._needed[-1]

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the weights that a decision needs."""
        return {"weights": self._deciding(self.averaged_network).astype(np.float32)}, described(self.view, self._needed)
