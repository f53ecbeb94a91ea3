"""Places with the weights that cvd-rl learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.learned.common.tensors import find, fitting
from agents.learned.cvd_rl.rule import cvd_rl, sizes
from agents.learned.numa.mlp import size_of, untrained
from agents.learned.numa.servers import check_servers
from agents.rules.candidates import Filter, counts
from agents.rules.ruled import Ruled
from simcore.rng import stream
from simcore.vocabulary import View


class CvdRL(Ruled):
    """Of `k` candidates, two fifths by Best-Fit and the rest by `internal`, the one that leaves the cluster most worth.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote; `untrained` are those with which
    training begins with that `seed`. `filter` says who names the candidates. `lookahead` and `decomposition` are as the
    weights were trained. Any number of servers, each of two NUMA nodes.
    """

    reference = "Sheng et al. 2025, Scalable Reinforcement Learning for Virtual Machine Scheduling, arXiv:2503.00537"
    rule = staticmethod(cvd_rl)

    def __init__(
        self,
        weights: str = "huawei-10",
        path: str | None = None,
        seed: int = 0,
        filter: Filter = "both",
        k: int = 5,
        lookahead: bool = True,
        decomposition: bool = True,
    ) -> None:
        known = weights == "untrained" and path is None
        self._file = None if known else find("cvd-rl", weights, path, ["untrained"])
        self._seed, self._lookahead, self._decomposition = seed, lookahead, decomposition
        how = np.array([*counts(filter, k), lookahead, decomposition], np.float64)
        self.numbers = np.zeros(size_of(sizes(lookahead))), how

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights, and compile the kernel or load it."""
        check_servers(view, "cvd-rl")
        weights = self.numbers[0]
        if self._file is None:
            weights[:] = untrained(sizes(self._lookahead), stream(self._seed, "train", "weights"))
        else:
            wanted = described(view, self._lookahead, self._decomposition)
            weights[:] = fitting(self._file, {"weights": weights.shape}, wanted)["weights"]
        self.get_ready(view)


def described(view: View, lookahead: bool, decomposition: bool) -> dict[str, Any]:
    """Return what the notes beside the weights say they were trained for."""
    return {
        "agent": "cvd-rl",
        "resources": list(view.resources),
        "lookahead": lookahead,
        "decomposition": decomposition,
        "layers": list(sizes(lookahead)),
    }
