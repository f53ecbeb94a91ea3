"""Improves a policy by proximal policy optimisation, as RLlib had it in 2021 (Schulman et al. 2017, arXiv:1707.06347).

Both the clipped ratio and a KL penalty whose coefficient adapts to a target; the value's change is clipped, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.agents.learned.loop import Count, FromZero, Positive
from binwright.agents.learned.weights import extra
from binwright.simcore.types import Floats

if TYPE_CHECKING:  # torch is imported when a training begins
    from torch import Tensor

FORBIDDEN = -1e9
"""The logit of what the mask forbids: its probability is exactly 0."""
VALUE_CLIP = 10.0
"""A value may move by so much, as in RLlib."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Holds n decisions: what was `seen`, `old_logits` [n, actions] masked, `values` then, `returns` as they came."""

    seen: Sequence[Tensor]
    actions: Tensor
    mask: Tensor
    old_logits: Tensor
    values: Tensor
    returns: Tensor
    advantages: Tensor


@dataclass
class Proximal:
    """Improves a policy, with RLlib's defaults of 2021; only `minibatch` and `rate` are those of Nara's publication."""

    minibatch: Count = 256
    epochs: Count = 30
    rate: Positive = 5e-3
    clip: Positive = 0.3
    kl_weight: FromZero = 0.2
    kl_target: Positive = 0.01

    def improve(
        self, evaluate: Callable[..., tuple[Tensor, Tensor]], optimiser: Any, batch: Batch, rng: np.random.Generator
    ) -> dict[str, float]:
        """Train for some epochs on a batch; `evaluate(*seen)` returns the logits and values of some rows now.

        Returns the means over the last epoch, and adapts `kl_weight`.
        """
        torch = extra("torch")
        for _ in range(self.epochs):
            parts = []
            order = torch.from_numpy(rng.permutation(len(batch.actions)))
            for rows in order.split(self.minibatch):
                loss, part = loss_of(*evaluate(*(part[rows] for part in batch.seen)), batch, rows, self)
                descend(optimiser, loss)
                parts.append(part)
        means = torch.stack(parts).mean(0).tolist()
        metrics = dict(zip(("policy_loss", "value_loss", "kl", "entropy"), means, strict=True))
        metrics["kl_weight"] = self.kl_weight
        self.kl_weight = next_kl_weight(self.kl_weight, metrics["kl"], self.kl_target)
        return metrics


def descend(optimiser: Any, loss: Tensor) -> None:
    """Take a step down the loss."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()


def returns_of(rewards: Floats, discount: float) -> Floats:
    """Return for every decision, float64 [n, ...], the discounted sum of its reward and those after it."""
    returns = rewards.copy()
    for t in range(len(rewards) - 2, -1, -1):
        returns[t] += discount * returns[t + 1]
    return returns


def masked(logits: Tensor, mask: Tensor) -> Tensor:
    """Mask `logits` [n, actions] where the mask [n, actions] forbids."""
    return logits.masked_fill(~mask, FORBIDDEN)


def loss_of(logits: Tensor, values: Tensor, batch: Batch, rows: Tensor, settings: Proximal) -> tuple[Tensor, Tensor]:
    """Return the loss of some rows of a batch, and its parts: [policy, value, kl, entropy], detached."""
    actions, advantages, returns = batch.actions[rows, None], batch.advantages[rows], batch.returns[rows]
    log = masked(logits, batch.mask[rows]).log_softmax(1)
    old, before = batch.old_logits[rows].log_softmax(1), batch.values[rows]
    ratio = (log.gather(1, actions) - old.gather(1, actions)).squeeze(1).exp()
    clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
    policy = -(ratio * advantages).minimum(clipped * advantages).mean()
    kl = (old.exp() * (old - log)).sum(1).mean()
    near = before + (values - before).clamp(-VALUE_CLIP, VALUE_CLIP)
    value = ((values - returns) ** 2).maximum((near - returns) ** 2).mean()
    entropy = -(log.exp() * log).sum(1).mean()
    total = policy + settings.kl_weight * kl + value
    return total, extra("torch").stack([policy, value, kl, entropy]).detach()


def next_kl_weight(weight: float, kl: float, target: float) -> float:
    """Return the next KL weight: half as much again when the policy moved over twice too far, half when under half."""
    return weight * (1.5 if kl > 2 * target else 0.5 if kl < 0.5 * target else 1.0)
