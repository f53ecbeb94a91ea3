"""Improves RLScheduler's policy and its value by the clipped objective, all jobs of a batch in one list."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from binwright.simcore.types import Floats


def network(sizes: tuple[int, ...]) -> nn.Sequential:
    """Make layers of these sizes with relu between them."""
    layers: list[nn.Module] = []
    for pair in pairwise(sizes):
        layers += [nn.Linear(*pair), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def advantages_of(costs: Floats, values: Floats, smoothing: float) -> tuple[Floats, Floats]:
    """Estimate for every decision of an episode, float64 [n], its advantage, and return less the costs from it on.

    Generalised advantage estimation (Schulman and others 2016) with `smoothing` lambda and no discount.
    """
    errors = -costs + np.append(values[1:], 0.0) - values
    found, following = np.zeros(len(costs)), 0.0
    for t in range(len(costs) - 1, -1, -1):
        following = errors[t] + smoothing * following
        found[t] = following
    return found, -np.cumsum(costs[::-1])[::-1]


def log_chances(policy: nn.Module, jobs: Tensor, counts: Tensor, actions: Tensor) -> Tensor:
    """Return the logarithm of the probability of each decision [n], which saw `counts` of the jobs float32 [any, 8]."""
    scores = policy(jobs).squeeze(1)
    decision = torch.repeat_interleave(torch.arange(len(counts)), counts)
    top = torch.full((len(counts),), -torch.inf).scatter_reduce(0, decision, scores.detach(), "amax")
    sums = torch.zeros(len(counts)).index_add(0, decision, torch.exp(scores - top[decision]))
    chosen: Tensor = scores[counts.cumsum(0) - counts + actions] - top - torch.log(sums)
    return chosen


def improve(
    policy: nn.Module,
    optimiser: torch.optim.Optimizer,
    batches: list[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]],
    steps: int,
    clip: float,
    most: float,
) -> tuple[int, float]:
    """Take so many steps over batches by turns, until the policy has moved by a divergence of `most`.

    A batch has jobs, counts, actions, logarithms of the probabilities as they were, and advantages. Returns how many
    steps were taken, and the last divergence.
    """
    divergence = 0.0
    for step in range(steps):
        jobs, counts, actions, before, advantages = batches[step % len(batches)]
        now = log_chances(policy, jobs, counts, actions)
        divergence = float((before - now).detach().mean())
        if divergence > most:
            return step, divergence
        ratio = torch.exp(now - before)
        loss = -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
    return steps, divergence


def fit(value: nn.Module, optimiser: torch.optim.Optimizer, batches: list[tuple[Tensor, Tensor]], steps: int) -> float:
    """Fit the value of states float32 [n, any] to returns [n], in so many steps; returns the last squared error."""
    loss = torch.zeros(())
    for step in range(steps):
        states, returns = batches[step % len(batches)]
        loss = ((value(states).squeeze(1) - returns) ** 2).mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
    return float(loss.detach())
