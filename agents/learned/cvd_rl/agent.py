"""Places with the weights that cvd-rl learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from binwright.agents.heuristics.servers.candidates import Filter, counts
from binwright.agents.learned.common.tensors import find, fitting, read
from binwright.agents.learned.common.training_conditions import Learned, noted
from binwright.agents.learned.cvd_rl.rule import DEPTH, LAYERS, RESOURCES, WIDTH, cvd_rl, sizes
from binwright.agents.learned.numa.mlp import depth_and_width, size_of, untrained
from binwright.agents.learned.numa.settings import check_servers, check_size
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.rng import stream
from binwright.simcore.types import Compiled, Floats, Placement, Request, View


class CvdRL(Learned, ScanAgent):
    """Of `k` candidates, two fifths by Best-Fit and the rest by `internal`, the one that leaves the cluster most worth.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote; `untrained` are those with which
    training begins with that `seed`. `filter` says who names the candidates, and as `{best-fit: 4, internal: 3}` how
    many each; `k` is 5 where it does not. `lookahead` and `decomposition` are as the weights were trained; whether it
    sees absolute sizes, the weights say. Any number of servers, each of two NUMA nodes; without decomposition the
    number of the training.
    """

    reference = "Sheng et al. 2025, Scalable Reinforcement Learning for Virtual Machine Scheduling, arXiv:2503.00537"
    scan = staticmethod(cvd_rl)

    def __init__(
        self,
        weights: str = "huawei-10",
        path: str | None = None,
        seed: int = 0,
        filter: Filter = "both",
        k: int | None = None,
        lookahead: bool = True,
        decomposition: bool = True,
    ) -> None:
        known = weights == "untrained" and path is None
        self._file = None if known else find("cvd-rl", weights, path, ["untrained"])
        self._seed, self._lookahead, self._decomposition = seed, lookahead, decomposition
        self.any_size = decomposition
        how = np.array([*counts(filter, k), lookahead, decomposition, LAYERS, WIDTH], np.float64)
        self.numbers = np.zeros(0), how

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights, and compile the kernel or load it."""
        check_servers(view, "cvd-rl")
        how = self.numbers[1]
        self._trained = None if self._decomposition else len(view.capacity)
        if self._file is None:
            layers = sizes(self._lookahead, self._trained)
            weights = untrained(layers, stream(self._seed, "train", "weights"))
        else:
            notes = read(self._file)[1]
            if self._trained and notes.get("agent") == "cvd-rl" and not notes.get("decomposition"):
                check_size("cvd-rl", notes.get("servers"), self._trained, self._file)
            depth, width = depth_and_width(notes.get("layers"), (LAYERS, WIDTH))
            units = units_in(notes)
            layers = sizes(self._lookahead, self._trained, width, depth, len(units) > 0)
            wanted = described(view, self._lookahead, self._decomposition, layers, units)
            weights = fitting(self._file, {"weights": (size_of(layers),)}, wanted)["weights"].astype(np.float64)
            how = np.concatenate([how[:DEPTH], [depth, width], units])
            self.regime = noted(notes)
        self.numbers = weights, how
        self.get_ready(view)

    def decide(self, view: View, request: Request) -> Placement | None:
        """Place the request where the kernel says; without decomposition on as many servers as in training."""
        if self._trained:
            check_size("cvd-rl", self._trained, len(view.free), self._file)
        return super().decide(view, request)

    @property
    def compiled(self) -> Compiled:
        """The kernel and its numbers."""
        return Compiled(self.scan, self.numbers)


def units_in(notes: dict[str, Any]) -> Floats:
    """Read in the notes beside weights by which quanta of each resource their network measures, [0] if by none."""
    said = notes.get("units")
    if isinstance(said, list) and len(said) == RESOURCES and all(isinstance(one, int) and one > 0 for one in said):
        return np.array(said, np.float64)
    return np.zeros(0)


def described(
    view: View, lookahead: bool, decomposition: bool, layers: tuple[int, ...], units: Floats
) -> dict[str, Any]:
    """Return what the notes beside the weights say they were trained for."""
    return {
        "agent": "cvd-rl",
        "resources": list(view.resources),
        "lookahead": lookahead,
        "decomposition": decomposition,
        "layers": list(layers),
        **({} if decomposition else {"servers": len(view.capacity)}),
        **({"units": [int(unit) for unit in units]} if len(units) else {}),
    }
