"""Places with the weights that sched-rl learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from binwright.agents.learned.common.tensors import find, fitting, read
from binwright.agents.learned.common.training_conditions import Learned, noted
from binwright.agents.learned.numa.mlp import depth_and_width, size_of
from binwright.agents.learned.numa.settings import check_size
from binwright.agents.learned.sched_rl.rule import HIDDEN, WIDTH, sched_rl, trunk
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.errors import UserError
from binwright.simcore.types import Compiled, Ints, Placement, Request, View


class SchedRL(Learned, ScanAgent):
    """The place with the largest advantage, by one network that sees the whole cluster.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote. For the number of servers of the
    training only.
    """

    reference = "Sheng et al. 2022, Learning to schedule multi-NUMA virtual machines, Pattern Recognition 121, 108254"
    scan = staticmethod(sched_rl)
    any_size = False

    def __init__(self, weights: str = "huawei-10", path: str | None = None) -> None:
        self._file = find("sched-rl", weights, path)
        self.numbers = np.zeros(0), np.array([HIDDEN, WIDTH], np.float64)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights, and compile the kernel or load it."""
        check_servers(view)
        _, notes = read(self._file)
        self._trained = len(view.capacity)
        if notes.get("agent") == "sched-rl":
            check_size("sched-rl", notes.get("servers"), self._trained, self._file)
        depth, width = depth_and_width(notes.get("layers"), (HIDDEN + 1, WIDTH))
        layers = sizes(view.capacity, width, depth - 1)
        tensors = fitting(self._file, {"weights": (size_of(layers),)}, described(view, layers))
        self.numbers = tensors["weights"].astype(np.float64), np.array([depth - 1, width], np.float64)
        self.regime = noted(notes)
        self.get_ready(view)

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request where the kernel says, on a cluster of as many servers as in training."""
        check_size("sched-rl", self._trained, len(view.free), self._file)
        return super().decide(view, request)

    @property
    def compiled(self) -> Compiled:
        """The kernel and its numbers."""
        return Compiled(self.scan, self.numbers)


def sizes(capacity: Ints, width: int = WIDTH, hidden: int = HIDDEN) -> tuple[int, ...]:
    """Return the sizes of the layers that a decision needs."""
    return (*trunk(capacity, width, hidden), capacity.shape[0] * capacity.shape[1])


def described(view: View, layers: tuple[int, ...]) -> dict[str, Any]:
    """Return what the notes beside the weights say they were trained for."""
    servers, nodes, _ = view.capacity.shape
    return {
        "agent": "sched-rl",
        "resources": list(view.resources),
        "servers": servers,
        "nodes": nodes,
        "layers": list(layers),
    }


def check_servers(view: View) -> None:
    """Raise a `UserError` for servers that are not all alike."""
    if (view.capacity == 0).any() or (view.capacity != view.capacity[0, 0]).any():
        raise UserError(
            "sched-rl is for servers that are all alike, as are their nodes",
            key="agents",
            value="sched-rl",
            remedy="Take another agent, such as internal.",
        )
