"""What padrl's LSTM forecasts on the test rows: python -m benchmarks.forecast [--seeds N]. Needs the trace.

Mean squared errors of what it says about the next requests, in units of the variance on the training rows, beside
always saying what is usual there, and beside saying that the next requests will be like the last ones. In brackets
what is more or less than what is usual has, with 95 % intervals over seeds.
"""

from __future__ import annotations

import argparse

import numpy as np

from agents.learned.common.tensors import find, read
from agents.learned.padrl.agent import joined
from agents.learned.padrl.forecast import AHEAD, sequence
from agents.learned.padrl.network import CELLS, MEMORY, remember
from analysis.compare.statistics import mean_interval
from scenarios.build.world import build_world
from scenarios.learn.training import course_of
from scenarios.schema.load import load_scenario
from simcore.vocabulary import Floats

WEIGHTS = ("huawei-10", "huawei-10-2", "huawei-10-3")
USUAL, LAST = "what is usual", f"the last {AHEAD}"
BEGIN, END = 2 * AHEAD, 4000
"""The requests of a run about which forecasts count."""
DRAWN = 32
"""Training episodes that say what is usual."""


def errors(said: Floats, wanted: Floats) -> float:
    """Mean square of the difference, over requests and forecasts."""
    return float(((said - wanted) ** 2).mean())


def told(seen: Floats, weights: Floats) -> Floats:
    """Run an LSTM, and collect what it says after every request."""
    memory, said = np.zeros(MEMORY), []
    for one in seen:
        remember(one, weights, memory)
        said.append(memory[2 * CELLS :].copy())
    return np.array(said)


def beside(values: Floats, base: Floats) -> str:
    """Write the mean, and by how much it is above that of `base`, seeds paired; [seeds] each."""
    less, half = mean_interval(values - base)
    return f"{values.mean():.2f}" if not half else f"{values.mean():.2f} ({less:+.2f} ± {half:.2f})"


def main() -> None:
    """Print a row for each way to forecast, a column for each number of servers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    world = course_of(load_scenario("cvd/train-padrl")).training
    cluster = world.ledger(0).cluster
    usual = np.concatenate([sequence(world.draw(2**40 + number), cluster)[1] for number in range(DRAWN)])
    mean, deviation = usual.mean(axis=0), usual.std(axis=0)
    weights = {name: joined(read(find("padrl", name, None))[0]) for name in WEIGHTS}
    columns: dict[str, dict[str, str]] = {}
    for scenario in map(load_scenario, ("cvd/protocol-10", "cvd/protocol-20", "cvd/table-2")):
        cluster = build_world(scenario).ledger(0).cluster
        found: dict[str, list[float]] = {name: [] for name in (*WEIGHTS, USUAL, LAST)}
        for seed in range(options.seeds):
            seen, wanted = (part[:END] for part in sequence(build_world(scenario).draw(seed), cluster))
            wanted = (wanted - mean) / deviation
            for name, numbers in weights.items():
                found[name].append(errors(told(seen, numbers)[BEGIN:], wanted[BEGIN:]))
            found[USUAL].append(errors(np.zeros(1), wanted[BEGIN:]))
            # What is wanted AHEAD requests earlier is about those up to this one, and known by now.
            found[LAST].append(errors(wanted[BEGIN - AHEAD : -AHEAD], wanted[BEGIN:]))
        columns[f"{len(cluster.capacity)} servers"] = {
            name: beside(np.array(each), np.array(found[USUAL])) for name, each in found.items()
        }
    print(f"| {' | '.join(['', *columns])} |\n|{' --- |' * (1 + len(columns))}")
    for name in (*WEIGHTS, USUAL, LAST):
        print(f"| {' | '.join([name, *(column[name] for column in columns.values())])} |")


if __name__ == "__main__":
    main()
