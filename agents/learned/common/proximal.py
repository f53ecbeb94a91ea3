"""Holds the settings of proximal policy optimisation, and improves a trainer's policy with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.learned.common.adam import finite
from agents.learned.common.settings import Count, FromZero, Positive
from agents.learned.common.tensors import extra


@dataclass
class Proximal:
    """Improves a policy by `agents.learned.common.ppo`, with RLlib's defaults of 2021.

    Only `minibatch` and `rate` are those of Nara's publication. A value may move by `value_clip`, and `value_weight` is
    what errors in values count in the loss.
    """

    minibatch: Count = 256
    epochs: Count = 30
    rate: Positive = 5e-3
    clip: Positive = 0.3
    kl_weight: FromZero = 0.2
    kl_target: Positive = 0.01
    value_clip, value_weight = 10.0, 1.0  # no settings, unless a trainer makes them some

    def begin_ppo(self) -> None:
        """Import torch, and begin with the given weight of the KL penalty, which `improve` then adapts."""
        self._torch, self._library = extra("torch"), extra("agents.learned.common.ppo")
        self._kl_weight: float = self.kl_weight

    def improve(
        self,
        evaluate: Callable[[Any], Any],
        optimiser: Any,
        parameters: Iterable[Any],
        batch: Any,
        rng: np.random.Generator,
    ) -> dict[str, float]:
        """Learn from a batch, as `ppo.update` does, and adapt the weight of the KL penalty; returns metrics."""
        found = self._library.update(evaluate, optimiser, batch, self._kl_weight, self, rng)
        metrics = {**found, "kl_weight": self._kl_weight}
        if not finite(parameters):
            metrics["policy_loss"] = float("nan")
        self._kl_weight = self._library.next_kl_weight(self._kl_weight, found["kl"], self.kl_target)
        return metrics
