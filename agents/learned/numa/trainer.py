"""Trains agents on servers with NUMA nodes: from warm starts, validated against another agent."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from binwright.agents.learned.common.trainer import TRAINING, Count, Trainer
from binwright.agents.learned.common.training_conditions import regime_of
from binwright.agents.learned.numa.rollouts import HeldOut, check_worlds
from binwright.agents.learned.numa.settings import CompiledAgent, WarmStarts, check_servers
from binwright.agents.world import World
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.types import Compiled, View

SHARES = 0.0, 0.3, 0.5
SAMPLED = 20
"""Training episodes whose requests are looked at where all are too many."""


@dataclass
class NumaTrainer(Trainer):
    """Prepares episodes for training and validation.

    Training has the requests of `pool` seeds, from shares of `warm` on: so much of the first resource is filled by
    Best-Fit before, or as the scenario's warm start says, which also says the share where `warm` does not. Without
    either the shares are 0, .3 and .5. What is validated is how much more is placed than by the agent `against`.
    """

    score = "gain"
    warms = True
    agent: ClassVar[str]
    """What the agent is called."""

    pool: Count = 250
    warm: WarmStarts | None = None
    against: CompiledAgent = "best-fit"

    @abstractmethod
    def used(self) -> Compiled:
        """Return the rule of the agent as it would be used."""

    def check(self, view: View) -> None:
        """Refuse servers that the agent is not for."""
        check_servers(view, self.agent)

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Check the worlds and draw the seeds."""
        self._training, self._seed = training, seed
        self.view = training.ledger(0).view
        check_worlds(self.agent, training, validation)
        for world in (training, validation):
            self.check(world.ledger(0).view)
        self.shares = self.warm or ((training.warm_start.until,) if training.warm_start else SHARES)
        try:
            self._held_out = HeldOut(validation, self.shares, self.against)
        except UserError as error:
            error.key = f"train.agent.{self.agent}.against"
            raise
        self._seeds = TRAINING + stream(seed, "train", "episodes").integers(2**40, size=self.pool)

    def met(self) -> dict[str, Any]:
        """Return notes on the servers and on the requests of some episodes."""
        ledger = self._training.ledger(0)
        demand = np.concatenate([self._training.draw(seed).demand for seed in self._seeds[:SAMPLED].tolist()])
        demand = demand[ledger.possible(demand)]
        found = regime_of(ledger.view.capacity, demand, ledger.spreads(demand))
        return {"regime": found._asdict()} if found else {}

    def validate(self, seeds: Sequence[int]) -> dict[str, float]:
        """Return how much more is placed than by `against`."""
        return self._held_out.gains(self.used(), seeds)
