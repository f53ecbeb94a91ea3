"""Places with the weights that sched-rl learned."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np

from agents.learned.common.tensors import find, fitting, read
from agents.learned.numa.mlp import size_of
from agents.learned.sched_rl.rule import sched_rl, trunk
from agents.rules.ruled import Ruled
from simcore.errors import UserError
from simcore.vocabulary import Ints, Placement, Request, View


class SchedRL(Ruled):
    """The place with the largest advantage, by one network that sees the whole cluster.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote. For the number of servers of the
    training only.
    """

    reference = "Sheng et al. 2022, Learning to schedule multi-NUMA virtual machines, Pattern Recognition 121, 108254"
    rule = staticmethod(sched_rl)
    any_size: ClassVar[bool] = False

    def __init__(self, weights: str = "huawei-10", path: str | None = None) -> None:
        self._file = find("sched-rl", weights, path)
        self.numbers = (np.zeros(0),)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights, and compile the kernel or load it."""
        check_servers(view)
        _, notes = read(self._file)
        there = len(view.capacity)
        if notes.get("agent") == "sched-rl" and notes.get("servers") != there:
            self._refuse(notes.get("servers"), there)
        tensors = fitting(self._file, {"weights": (size_of(sizes(view.capacity)),)}, described(view))
        self.numbers = (tensors["weights"].astype(np.float64),)
        self._trained = there
        self.get_ready(view)

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request where the kernel says, on a cluster of as many servers as in training."""
        if len(view.free) != self._trained:
            self._refuse(self._trained, len(view.free))
        return super().decide(view, request)

    def _refuse(self, trained: object, there: int) -> NoReturn:
        raise UserError(
            f"sched-rl sees the whole cluster: these weights are for {trained} servers, and there are {there}",
            file=self._file,
            remedy=f"Give the cluster {trained} servers, train on {there} (`binwright train`), or take cvd-rl.",
        )


def sizes(capacity: Ints) -> tuple[int, ...]:
    """Return the sizes of the layers that a decision needs."""
    return (*trunk(capacity), capacity.shape[0] * capacity.shape[1])


def described(view: View) -> dict[str, Any]:
    """Return what the notes beside the weights say they were trained for."""
    servers, nodes, _ = view.capacity.shape
    return {
        "agent": "sched-rl",
        "resources": list(view.resources),
        "servers": servers,
        "nodes": nodes,
        "layers": list(sizes(view.capacity)),
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
