"""Computes CVD-RL's network in torch: the value of the cluster after each of some choices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn


class Values(nn.Module):
    """Values what it sees. With `decomposition` that are servers, and a choice is worth the sum over all of them."""

    def __init__(self, sizes: Sequence[int], decomposition: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(sizes))
        self._decomposition = decomposition

    def forward(self, seen: torch.Tensor, places: torch.Tensor, servers: torch.Tensor) -> torch.Tensor:
        """Return values of choices, float32 [batch, choices]; `servers` int64 of the same shape are theirs.

        `seen` float32 [any, inputs] and `places` int64 [batch, any] are what `rule.look_all` wrote.
        """
        value: torch.Tensor = seen
        for layer in self.layers[:-1]:
            value = torch.relu(layer(value))
        value = self.layers[-1](value).squeeze(-1)[places]
        if not self._decomposition:
            return value
        before, there = value[:, : -servers.shape[1]], value[:, -servers.shape[1] :]
        total: torch.Tensor = before.sum(1, keepdim=True) + there - before.gather(1, servers)
        return total
