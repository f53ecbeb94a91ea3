"""Computes CVD-RL's network in torch: the value of the cluster after each of some choices."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn

from agents.learned.cvd_rl.rule import sizes


class Values(nn.Module):
    """Values every server by one network. With `decomposition` a choice is worth the sum over all servers."""

    def __init__(self, lookahead: bool, decomposition: bool) -> None:
        super().__init__()
        widths = sizes(lookahead)
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        self._decomposition = decomposition

    def forward(self, seen: torch.Tensor, servers: torch.Tensor) -> torch.Tensor:
        """Return values of choices, float32 [batch, choices]; `servers` int64 of the same shape are theirs.

        `seen` float32 [batch, any, inputs] is what `rule.look_all` saw.
        """
        value: torch.Tensor = seen
        for layer in self.layers[:-1]:
            value = torch.relu(layer(value))
        value = self.layers[-1](value).squeeze(-1)
        if not self._decomposition:
            return value
        before, there = value[:, : -servers.shape[1]], value[:, -servers.shape[1] :]
        total: torch.Tensor = before.sum(1, keepdim=True) + there - before.gather(1, servers)
        return total
