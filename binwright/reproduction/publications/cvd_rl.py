"""CVD-RL (Sheng and others 2025): how many requests servers take before the first that fits nowhere; VMAgent's rule."""

import json

import numpy as np

from binwright.agents.learned.weights import SHIPPED
from binwright.agents.rules.cheapest_place import cheapest
from binwright.agents.rules.scan import ScanAgent
from binwright.reproduction.claims import Value, keys_of
from binwright.reproduction.measures import Measure, Runs
from binwright.simcore.types import Floats, Ints

STARTS = 1000
"""Starts in the program's list. It plays 1000 / P batches of P: starts 0 to P - 1, then 1 to P, and so on."""
BATCHES = {"fading": {5: 5, 20: 5, 50: 50}, "recovering": {5: 5, 20: 50, 50: 50}}
"""How many episodes the program played at once on so many servers; with these, its spreads come out."""


def batches(count: int, size: int) -> Ints:
    """List the runs of every batch, int64 [batches, runs], of so many runs: each begins one start after the last."""
    size = min(size, count)
    number = min(max(1, STARTS // size), count - size + 1)
    return np.arange(number)[:, None] + np.arange(size)


def of_batches(lengths: Floats, size: int, rates: Floats | None = None, servers: int = 1) -> float:
    """Average the lengths of batches of `size` episodes, or the rates at the end of each one's longest, in percent.

    What is free is divided by what as many servers have as there are episodes in a batch.
    """
    members = batches(len(lengths), size)
    if rates is None:
        return float(lengths[members].mean(axis=1).mean())
    longest = members[np.arange(len(members)), lengths[members].argmax(axis=1)]
    return float((100 * (1 - (1 - rates[longest]) * servers / size)).mean())


def by_batches(column: str = "") -> Measure:
    """Measure the length of batches, or the rate of a column; with no interval: the starts are the program's own."""

    def measure(runs: Runs, agent: str) -> Value:
        keys, lengths = keys_of(runs.condition), runs.values(agent, "scheduled")
        servers = int(keys["servers"])
        rates = runs.values(agent, column) if column else None
        return Value(of_batches(lengths, BATCHES[keys["scenario"]][servers], rates, servers), None, None, len(lengths))

    return measure


def with_epochs(text: str) -> str:
    """Fill in how little the shipped weights were trained that have the published settings."""
    notes = json.loads((SHIPPED / "cvd-rl-published.json").read_text("utf-8"))
    had, done = notes["trained"]["step"], notes.get("iterations", 0)
    epochs = f"{had} of 3,000 epochs" + (f" (trained {done}, best at {had})" if done > had else "")
    trained = f"cvd-rl, with the published settings, has had {epochs}, and is nearly untrained"
    return text.format(epochs=epochs, trained=trained)


@cheapest
def best_fit_of_vmagent(free: Ints, capacity: Ints, taken: Ints, node: int) -> int:
    """Prefer the node that keeps most, in billionths of its scarcer resource; of a spread request, the first node."""
    least, n = 1_000_000_000, max(node, 0)
    for r in range(taken.shape[1]):
        if capacity[n, r] > 0:
            least = min(least, int(1e9 * (free[n, r] - taken[n, r]) / capacity[n, r] + 0.5))
    return -least


class BestFitOfVMAgent(ScanAgent):
    """The node that keeps the largest share of its scarcer resource: the opposite of Best-Fit."""

    reference = "Sheng and others 2021, VMAgent: best_fit_action in schedgym/sched_env.py"
    scan = staticmethod(best_fit_of_vmagent)
