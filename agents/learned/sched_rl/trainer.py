"""Trains sched-rl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from binwright.agents.learned.common.tensors import Tensors
from binwright.agents.learned.common.trainer import Count
from binwright.agents.learned.numa.dqn import DQN
from binwright.agents.learned.numa.dqn_update import Reals, Shape
from binwright.agents.learned.numa.mlp import size_of, untrained
from binwright.agents.learned.numa.replay_buffer import Decisions
from binwright.agents.learned.sched_rl.agent import check_servers, described, sizes
from binwright.agents.learned.sched_rl.rule import HIDDEN, WIDTH, sched_rl, sched_rl_exploring
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

    def make(self, rng: np.random.Generator) -> tuple[Shape, int, Floats]:
        """Return the network of a cluster like this: what a decision needs first, then the value of the state."""
        self._needed = sizes(self.view.capacity, self.width, self.hidden)
        weights = np.concatenate([untrained(self._needed, rng), untrained((self._needed[-2], 1), rng)])
        return Shape(self.hidden + 1, self.width, self.slots(), True), self._needed[0], weights

    def cells(self, decisions: Decisions) -> tuple[Ints, Ints, Ints]:
        """Value each place by its own output for what is free, the demand and whether it is spread."""
        capacity = self.view.capacity
        shares = decisions.free.reshape(len(decisions.code), capacity.size) / capacity.ravel()
        observed = np.column_stack([shares, decisions.demand / capacity[0, 0], decisions.spread])
        numbers = self.buffer.number(observed.astype(np.float32))[:, None]
        after = numbers * self.slots() + np.maximum(decisions.candidates.astype(np.int64), 0)
        return numbers[:, :0], after, np.zeros_like(after)

    def _deciding(self, network: Reals) -> Reals:
        return network[: size_of(self._needed)]

    def rule(self, network: Reals, recorded: Floats | None) -> Compiled:
        """Return the agent's kernel, or the one that explores."""
        numbers = self._deciding(network).astype(np.float64), np.array([self.hidden, self.width], np.float64)
        return Compiled(sched_rl, numbers) if recorded is None else Compiled(sched_rl_exploring, (*numbers, recorded))

    def slots(self) -> int:
        """Return how many places there are."""
        return self._needed[-1]

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the weights that a decision needs."""
        return {"weights": self._deciding(self.averaged_network).copy()}, described(self.view, self._needed)
