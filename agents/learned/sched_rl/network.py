"""Computes SchedRL's network in torch: dueling streams (Wang et al. 2016, arXiv:1511.06581) over the whole cluster."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn


class Dueling(nn.Module):
    """Values all places: the state's value and the places' advantages, less their mean."""

    def __init__(self, trunk: Sequence[int], places: int) -> None:
        super().__init__()
        self.trunk = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(trunk))
        self.advantage = nn.Linear(trunk[-1], places)
        self.value = nn.Linear(trunk[-1], 1)

    def forward(self, seen: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
        """Return the values of choices `codes` int64 [batch, any], shaped alike; `seen` is float32 [batch, inputs]."""
        state = seen
        for layer in self.trunk:
            state = torch.relu(layer(state))
        advantages = self.advantage(state)
        values: torch.Tensor = self.value(state) + advantages - advantages.mean(1, keepdim=True)
        return values.gather(1, codes)
