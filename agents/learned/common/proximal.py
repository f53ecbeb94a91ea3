"""Holds the settings of proximal policy optimisation, improves policies with them, and saves what Adam remembers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from binwright.agents.learned.common.tensors import Tensors, extra
from binwright.agents.learned.common.trainer import Count, FromZero, Positive


def averages(optimiser: Any, prefix: str = "adam") -> Tensors:
    """Return copies of a torch optimiser's averages, named `prefix`.number of the parameter.name."""
    states = optimiser.state_dict()["state"]
    return {
        f"{prefix}.{number}.{name}": value.cpu().numpy().copy()
        for number, state in states.items()
        for name, value in state.items()
    }


def put_averages(optimiser: Any, tensors: Mapping[str, Any], prefix: str = "adam") -> None:
    """Put the averages of `tensors` that have this prefix into the optimiser, which changes."""
    torch = extra("torch")
    states: dict[int, dict[str, Any]] = {}
    for key, array in tensors.items():
        if key.startswith(f"{prefix}."):
            number, name = key.removeprefix(f"{prefix}.").split(".")
            states.setdefault(int(number), {})[name] = torch.from_numpy(array.copy())
    optimiser.load_state_dict({**optimiser.state_dict(), "state": states})


def finite(parameters: Iterable[Any]) -> bool:
    """Tell whether all numbers of the parameters are finite."""
    return all(bool(part.isfinite().all()) for part in parameters)


@dataclass
class Proximal:
    """Improves a policy by `binwright.agents.learned.common.ppo`, with RLlib's defaults of 2021.

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
        self._torch, self._library = extra("torch"), extra("binwright.agents.learned.common.ppo")
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
