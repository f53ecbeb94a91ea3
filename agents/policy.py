"""Agents that decide by what the environment `binwright/Numa-v0` shows, whoever trained them.

Nothing here needs Gymnasium.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.agents.rules.scan import places_with_room
from binwright.fabric.compiled.numa_decisions import placement_of
from binwright.simcore.types import Agent, Placement, Request, View


class Policy(Agent):
    """Answers with an action of the environment: a subclass says `act`, and is asked only where something fits."""

    @abstractmethod
    def act(self, seen: dict[str, npt.NDArray[Any]]) -> int:
        """Choose server * nodes + node by what is seen, as the environment shows it."""

    def decide(self, view: View, request: Request) -> Placement | None:
        seen = observed(view, request)
        if not seen["mask"].any():
            return None
        action = int(self.act(seen))
        if not (0 <= action < seen["mask"].size and seen["mask"][action]):
            return None  # what the mask forbids refuses, as in the environment
        return placement_of(action, request, view.free.shape[1])


def observed(view: View, request: Request) -> dict[str, npt.NDArray[Any]]:
    """Make what `binwright/Numa-v0` shows of a request: `free`, `request` and `mask`."""
    largest = np.maximum(view.capacity.max(axis=(0, 1)), 1)
    mask = np.zeros(view.capacity[:, :, 0].size, np.int8)
    mask[places_with_room(view.free, request.demand, request.spread)] = 1
    return {
        "free": (view.free / np.maximum(view.capacity, 1)).astype(np.float32),
        "request": np.append(request.demand / largest, request.spread).astype(np.float32),
        "mask": mask,
    }
