"""How strongly Nara's weights prefer the racks of servers already chosen: python -m benchmarks.nara_flag [--seeds N].

Of every choice but the first of a request: the logit of the server with most free in one of these racks, less that of
the server with most free elsewhere. The rack of a chosen server learns of it through a mean over its messages, which
are 13 on alpha and 45 on gamma; the last column is the acceptance on gamma with the flag multiplied, to make up for it.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.learned.nara.agent import Nara
from benchmarks.cells import cell
from benchmarks.fabric_rl import simulation_of
from fabric.network import NetworkView
from simcore.play import play
from simcore.record import PLACED
from simcore.rng import stream
from simcore.vocabulary import Floats, Request

WEIGHTS = ("alpha-uniform", "alpha-uniform-2", "alpha-uniform-3")
TIMES = 45 / 13


class Watched(Nara):
    """Nara with the flag of chosen servers multiplied by `times`; `preferences` are those of its choices."""

    def __init__(self, weights: str, times: float) -> None:
        super().__init__(weights)
        self.times, self.preferences = times, list[float]()

    def scores(self, view: NetworkView, request: Request) -> npt.NDArray[Any]:
        """Multiply the flag, and ask the network for its logits."""
        super().scores(view, request)
        flags = self._written[0][:, -1]
        chosen = flags > 0
        if self.times != 1:
            flags *= self.times
            self._infer(*self._inputs)
        if chosen.any():
            racks = view.topology.rack_of
            near = np.isin(racks, racks[chosen])
            free = view.free.sum(axis=(1, 2)).astype(np.float64)
            free[chosen] = -1
            if (free[near] >= 0).any() and not near.all():
                best = [np.where(there, free, -2).argmax() for there in (near, ~near)]
                self.preferences.append(float(self._logits[best[0]] - self._logits[best[1]]))
        return self._logits


def played(weights: str, topology: str, times: float, seeds: int) -> Floats:
    """Of every seed the mean preference, the share of choices where its sign is right, the acceptance: [3, seeds]."""
    found = np.empty((3, seeds))
    for seed in range(seeds):
        simulation, agent = simulation_of(topology, seed), Watched(weights, times)
        agent.start(simulation.view, stream(seed, "agent"))
        play(simulation, agent)
        preferences = np.array(agent.preferences)
        found[:, seed] = preferences.mean(), (preferences > 0).mean(), (simulation.record.outcome == PLACED).mean()
    return found


def main() -> None:
    """Print a row for each of the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    print(f"| | alpha | gamma | sign right on gamma | acceptance on gamma | with the flag x {TIMES:.2f} |")
    print(f"|{' --- |' * 6}")
    for weights in WEIGHTS:
        small, large = (played(weights, topology, 1, options.seeds) for topology in ("alpha", "gamma"))
        times = played(weights, "gamma", TIMES, options.seeds)
        cells = [cell(small[0], signed=True), cell(large[0], signed=True), *map(cell, (large[1], large[2], times[2]))]
        print(f"| {' | '.join([weights, *cells])} |", flush=True)


if __name__ == "__main__":
    main()
