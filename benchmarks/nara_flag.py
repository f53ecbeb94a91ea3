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
from analysis.stats import mean_interval
from fabric.network import NetworkView
from scenarios.build import build_ledger, build_pacing, build_workload
from scenarios.load import load_scenario
from simcore.engine import Simulation, play
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
        """The network's logits for the flag multiplied."""
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


def play_one(topology: str, agent: Watched, seed: int) -> float:
    """The acceptance of a run."""
    holding, requests = {"alpha": (31, 128), "gamma": (620, 896)}[topology]
    overrides = [f"cluster.network.topology={topology}", f"workload.requests={requests}", f"workload.holding={holding}"]
    scenario = load_scenario("nara/table1", overrides)
    simulation = Simulation(build_workload(scenario, seed), build_ledger(scenario), pacing=build_pacing(scenario))
    agent.start(simulation.view, stream(seed, "agent"))
    play(simulation, agent)
    return float((simulation.record.outcome == PLACED).mean())


def cell(values: Floats, signed: bool = False) -> str:
    """Mean and 95 % interval."""
    return f"{values.mean():{'+' if signed else ''}.2f} ± {mean_interval(values)[1]:.2f}"


def main() -> None:
    """A row for each of the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    print(f"| | alpha | gamma | sign right on gamma | acceptance on gamma | with the flag x {TIMES:.2f} |")
    print(f"|{' --- |' * 6}")
    for weights in WEIGHTS:
        means: dict[str, Floats] = {}
        accepted: dict[str, Floats] = {}
        right = 0.0
        for name, topology, times in (("alpha", "alpha", 1), ("gamma", "gamma", 1), ("times", "gamma", TIMES)):
            seeds, preferences = [], []
            for seed in range(options.seeds):
                agent = Watched(weights, times)
                seeds.append(play_one(topology, agent, seed))
                preferences.append(np.mean(agent.preferences))
                right += np.mean(np.array(agent.preferences) > 0) * (name == "gamma") / options.seeds
            means[name], accepted[name] = np.array(preferences), np.array(seeds)
        cells = [cell(means["alpha"], True), cell(means["gamma"], True), f"{100 * right:.0f} %"]
        print(f"| {' | '.join([weights, *cells, cell(accepted['gamma']), cell(accepted['times'])])} |", flush=True)


if __name__ == "__main__":
    main()
