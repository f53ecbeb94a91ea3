"""value-es in use: what every server is worth, by trained weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from agents.learned.common.tensors import find, fitting
from agents.learned.numa.value import HIDDEN, KNOWN, SIZE, value_es
from agents.rules.ruled import Ruled
from simcore.errors import UserError
from simcore.vocabulary import View

NODES = 2


class ValueAgent(Ruled):
    """The place that costs its server least of its worth, by the weights in a file; without one by the terms alone."""

    name: ClassVar[str]
    rule = staticmethod(value_es)

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.numbers = (np.zeros(SIZE),)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights."""
        check_servers(view, self.name)
        [weights] = self.numbers
        if self._file is None:
            weights[: len(KNOWN)] = KNOWN
        else:
            weights[:] = fitting(self._file, {"weights": (SIZE,)}, described(view, self.name))["weights"]
        self.get_ready(view)


class ValueES(ValueAgent):
    """The place that costs its server least of its worth, a small function whose weights evolution found.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote; `terms` are the six terms alone, with
    the weights known before. Any number of servers, each of two NUMA nodes.
    """

    name = "value-es"
    reference = "ours: docs/numa-learning.md has the method and the measurements"

    def __init__(self, weights: str = "huawei-10", path: str | None = None) -> None:
        super().__init__(None if weights == "terms" and path is None else find(self.name, weights, path, ["terms"]))


def described(view: View, agent: str) -> dict[str, Any]:
    """What the notes of weights say."""
    return {"agent": agent, "resources": list(view.resources), "nodes": NODES, "hidden": HIDDEN}


def check_servers(view: View, agent: str) -> None:
    """Refuse servers that an agent for two NUMA nodes and two resources is not for."""
    _, nodes, resources = view.capacity.shape
    if nodes != NODES or resources != 2 or (view.capacity == 0).any():
        raise UserError(
            f"{agent} is for servers of two NUMA nodes with some of two resources, not of {nodes} with {resources}",
            key="agents",
            value=agent,
            remedy="Take another agent, such as internal.",
        )
