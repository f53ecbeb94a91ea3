"""Improves a policy by proximal policy optimisation, as RLlib had it in 2021 (Schulman et al. 2017, arXiv:1707.06347).

Both the clipped ratio and a KL penalty whose coefficient adapts to a target; the value's change is clipped, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from binwright.agents.learned.common.proximal import Proximal
from binwright.simcore.types import Floats

FORBIDDEN = -1e9
"""The logit of what the mask forbids: its probability is exactly 0."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Holds n decisions: `old_logits` [n, actions] masked, `values` as they were then, `returns` as they came."""

    actions: Tensor
    mask: Tensor
    old_logits: Tensor
    values: Tensor
    returns: Tensor
    advantages: Tensor


def returns_of(rewards: Floats, discount: float) -> Floats:
    """Return for every decision of an episode, float64 [n], the discounted sum of its reward and those after it."""
    found = np.zeros(len(rewards))
    following = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        following = rewards[t] + discount * following
        found[t] = following
    return found


def standardised(advantages: Tensor) -> Tensor:
    """Shift and scales advantages to mean 0 and deviation 1 over the batch."""
    return (advantages - advantages.mean()) / advantages.std(correction=0).clamp(min=1e-4)


def masked(logits: Tensor, mask: Tensor) -> Tensor:
    """Mask `logits` [n, actions] where the mask [n, actions] forbids."""
    return torch.where(mask, logits, FORBIDDEN)


def loss_of(
    logits: Tensor, values: Tensor, batch: Batch, rows: Tensor, kl_weight: float, settings: Proximal
) -> tuple[Tensor, Tensor]:
    """Return the loss of some rows of a batch, and its parts: [policy, value, kl, entropy], detached."""
    actions, mask = batch.actions[rows, None], batch.mask[rows]
    log = torch.log_softmax(masked(logits, mask), 1)
    old = torch.log_softmax(batch.old_logits[rows], 1)
    advantages, returns, before = batch.advantages[rows], batch.returns[rows], batch.values[rows]
    ratio = torch.exp((log.gather(1, actions) - old.gather(1, actions)).squeeze(1))
    clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
    policy = -torch.minimum(ratio * advantages, clipped * advantages).mean()
    kl = (old.exp() * (old - log)).sum(1).mean()
    near = before + (values - before).clamp(-settings.value_clip, settings.value_clip)
    value = torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    entropy = -(log.exp() * log).sum(1).mean()
    total = policy + kl_weight * kl + settings.value_weight * value
    return total, torch.stack([policy, value, kl, entropy]).detach()


def next_kl_weight(weight: float, kl: float, target: float) -> float:
    """Return the next KL weight: half as much again when the policy moved over twice too far, half when under half."""
    return weight * (1.5 if kl > 2 * target else 0.5 if kl < 0.5 * target else 1.0)


def update(
    evaluate: Callable[[Tensor], tuple[Tensor, Tensor]],
    optimiser: torch.optim.Optimizer,
    batch: Batch,
    kl_weight: float,
    settings: Proximal,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Train for some epochs on a batch; `evaluate(rows)` returns the logits and values of these rows now.

    Returns the means over the last epoch. Stops at a loss that is not a number: the caller sees it in what is returned.
    """
    count = len(batch.actions)
    parts = torch.zeros(4)
    for _ in range(settings.epochs):
        found = []
        order = torch.from_numpy(rng.permutation(count)).to(batch.actions.device)
        for rows in order.split(settings.minibatch):
            logits, values = evaluate(rows)
            loss, said = loss_of(logits, values, batch, rows, kl_weight, settings)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            found.append(said)
        parts = torch.stack(found).mean(0)
        if not torch.isfinite(parts).all():
            break
    return dict(zip(("policy_loss", "value_loss", "kl", "entropy"), parts.tolist(), strict=True))
