"""Places with the weights that padrl learned, by the networks of `network`."""

from __future__ import annotations

from typing import Any

import numpy as np

from binwright.agents.learned.common.tensors import Tensors, find, fitting, read
from binwright.agents.learned.common.training_conditions import Learned, noted
from binwright.agents.learned.numa.settings import NODES, check_servers
from binwright.agents.learned.padrl.network import CELLS, FORECAST, HIDDEN, MEMORY, SHAPES, SIZE, padrl
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.types import Floats, View


class PADRL(Learned, ScanAgent):
    """A policy that scores every place, told what an LSTM expects of the next requests from those seen so far.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote. Any number of servers, each of two
    NUMA nodes.
    """

    scan = staticmethod(padrl)
    reference = (
        "a rival in Sheng et al. 2025, arXiv:2503.00537; from its description: page 'Learned placement on NUMA servers'"
    )

    def __init__(self, weights: str = "huawei-10", path: str | None = None) -> None:
        self._file = find("padrl", weights, path)
        self.numbers = np.zeros(SIZE), np.zeros(MEMORY)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights, and forget all requests."""
        check_servers(view, "padrl")
        weights, memory = self.numbers
        weights[:] = joined(fitting(self._file, SHAPES, described(view)))
        self.regime = noted(read(self._file)[1])
        self.get_ready(view)
        memory[:] = 0.0


def described(view: View) -> dict[str, Any]:
    """Return what the notes beside the weights say they were trained for."""
    sizes = [CELLS, FORECAST, HIDDEN]
    return {"agent": "padrl", "resources": list(view.resources), "nodes": NODES, "sizes": sizes}


def joined(tensors: Tensors) -> Floats:
    """Join all weights into one array, float64 [SIZE]."""
    return np.concatenate([tensors[name].astype(np.float64).ravel() for name in SHAPES])
